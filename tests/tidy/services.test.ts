import { describe, expect, test } from "bun:test";
import { PROJECT_FILES, projectText } from "./project-files.ts";

/** Files of the two threads' own folders: what belongs to a feature stands there. */
const MAX_THREAD_FILES = 60;

/** The classes that say that they are services of the control thread, or parts of a worker's. */
function serviceClasses(text: string): string[] {
  return [...text.matchAll(/^export class (\w+)[^{]*\bimplements [^{]*\bControlService</gm)].map(([, name]) => name!);
}

/** The services that are listed, by their classes. */
function listedClasses(text: string): string[] {
  const body = /^export interface Services \{\n([\s\S]*?)^\}/m.exec(text)?.[1] ?? "";
  return [...body.matchAll(/^ {2}readonly \w+: (\w+);$/gm)].map(([, name]) => name!);
}

describe("services of the control thread", () => {
  const files = PROJECT_FILES.filter((path) => /^src\/(?:control|features)\/.*\.ts$/.test(path));
  const listed = listedClasses(projectText("src/control/services.ts")!);

  test("each is listed", () => {
    const found = files.flatMap((path) => serviceClasses(projectText(path)!));
    expect(found.toSorted()).toEqual(listed.toSorted());
  });

  test("one that is left out is found by its name", () => {
    expect(serviceClasses("export class A extends B implements ControlService<C> {\n")).toEqual(["A"]);
    expect(serviceClasses("export class A implements B {\n")).toEqual([]);
    expect(
      listedClasses("export interface Services {\n  /** One. */\n  readonly a: A;\n  readonly b: B;\n}\n"),
    ).toEqual(["A", "B"]);
  });
});

test(`control and worker have at most ${MAX_THREAD_FILES} files together`, () => {
  const files = PROJECT_FILES.filter((path) => /^src\/(?:control|worker)\//.test(path));
  expect(files.length).toBeLessThanOrEqual(MAX_THREAD_FILES);
});
