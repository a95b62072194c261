import { describe, expect, test } from "bun:test";
import { LONG_FILES, LONG_FUNCTIONS } from "./exceptions.ts";
import { place, SOURCE_MODULES } from "./source-module.ts";

const MAX_FILE_LINES = 700;
const MAX_FUNCTION_LINES = 60;
const MAX_PARAMETERS = 6;

const longFiles = SOURCE_MODULES.filter((module) => module.lineCount > MAX_FILE_LINES);
const longFunctions = SOURCE_MODULES.flatMap((module) =>
  module.functions
    .filter((each) => each.lines > MAX_FUNCTION_LINES)
    .map((each) => ({ ...each, id: `${module.path}#${each.name}`, place: place(module, each.line) })),
);

describe("sizes", () => {
  test(`no file has more than ${MAX_FILE_LINES} lines`, () => {
    const found = longFiles.filter((module) => !(module.path in LONG_FILES));
    expect(found.map((module) => `${module.path}: ${module.lineCount} lines`)).toEqual([]);
  });

  test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
    const found = longFunctions.filter((each) => !(each.id in LONG_FUNCTIONS));
    expect(found.map((each) => `${each.place}: ${each.name} has ${each.lines} lines`)).toEqual([]);
  });

  test(`no function has more than ${MAX_PARAMETERS} parameters`, () => {
    const found = SOURCE_MODULES.flatMap((module) =>
      module.functions
        .filter((each) => each.parameters > MAX_PARAMETERS)
        .map((each) => `${place(module, each.line)}: ${each.name} has ${each.parameters} parameters`),
    );
    expect(found).toEqual([]);
  });

  test("every exception is still needed", () => {
    const files = Object.keys(LONG_FILES).filter((path) => !longFiles.some((module) => module.path === path));
    const functions = Object.keys(LONG_FUNCTIONS).filter((id) => !longFunctions.some((each) => each.id === id));
    expect([...files, ...functions]).toEqual([]);
  });

  test("the functions of a file are seen with their names", () => {
    const self = SOURCE_MODULES.find((module) => module.path === "tests/tidy/source-module.ts");
    expect(self?.functions.map((each) => each.name)).toContain("readModule");
    expect(self?.functions.find((each) => each.name === "lineAt")).toMatchObject({ lines: 5, parameters: 2 });
  });
});
