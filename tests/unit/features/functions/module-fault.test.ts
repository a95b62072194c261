import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { exportFault } from "../../../../src/features/functions/module-exports.ts";
import { moduleFaults } from "../../../../src/features/functions/module-fault.ts";
import { moduleFiles } from "../../../../src/features/functions/module-files.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-module-"));
const at = (name: string) => join(folder, name);

const FILES: Readonly<Record<string, string>> = {
  "dep.ts": "export const there: string = 'x';\n",
  "syntax.ts": 'export default {\n  fetch() {\n    return new Response("a" "b");\n  },\n};\n',
  "one-fault.ts": "const a = ;\n",
  "nested.ts": 'import "./syntax.ts";\n',
  "file.ts": '// a comment\nimport { x } from "./not-there.ts";\nexport default x;\n',
  "package.ts": 'import {\n  x,\n} from "@scope/not-there/part";\nexport default x;\n',
  "name.ts": 'import "./dep.ts";\nimport { missing } from "./dep.ts";\nexport default missing;\n',
  "throws.ts":
    'interface A {\n  b: string;\n}\n\nfunction boom(): never {\n  throw new RangeError("no room");\n}\nboom();\n',
  "text.ts": 'throw "words";\n',
  "tree/a.ts": 'import "./b.ts";\nimport "../dep.ts";\nimport "node:fs";\nimport "left-out";\n',
  "tree/b.ts": 'import data from "./data.json";\nimport "./a.ts";\nexport { data };\n',
  "tree/data.json": "{}",
};

beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function faultsOf(name: string) {
  try {
    await import(at(name));
  } catch (error) {
    return moduleFaults(error, at(name));
  }
  throw new Error("it has been loaded");
}

describe("what is wrong with a module is told with its place", () => {
  test.each<[string, string, number, number, string]>([
    ["syntax.ts", "syntax.ts", 3, 29, 'Expected ")" but found'],
    ["one-fault.ts", "one-fault.ts", 1, 11, "Unexpected ;"],
    ["nested.ts", "syntax.ts", 3, 29, 'Expected ")"'],
    ["file.ts", "file.ts", 2, 19, 'imports "./not-there.ts", which is not there'],
    ["package.ts", "package.ts", 3, 8, "bun add @scope/not-there"],
    ["name.ts", "name.ts", 2, 1, "imports missing from"],
    ["throws.ts", "throws.ts", 6, 13, "RangeError: no room"],
    ["text.ts", "text.ts", 0, 0, "throws words"],
  ])("%s", async (name, file, line, column, message) => {
    const [fault] = await faultsOf(name);
    expect(fault!.message).toContain(message);
    expect(fault!.file).toBe(at(file));
    expect([fault!.line, line === 0 || fault!.column > 0]).toEqual([line, true]);
    if (name !== "name.ts" && name !== "throws.ts") expect(fault!.column).toBe(column);
    expect(fault!.source).toBe(line === 0 ? "" : FILES[file]!.split("\n")[line - 1]!);
  });
});

test("the files of a module: what it imports, and not packages", () => {
  const names = moduleFiles(at("tree/a.ts")).map((file) => file.slice(folder.length + 1));
  expect(names.toSorted()).toEqual(["dep.ts", "tree/a.ts", "tree/b.ts", "tree/data.json"]);
  expect(moduleFiles(at("syntax.ts"))).toEqual([at("syntax.ts")]);
  expect(moduleFiles(at("gone.ts"))).toEqual([at("gone.ts")]);
});

describe("exports", () => {
  const fetch = () => new Response();
  const everything = new Proxy({}, { get: () => fetch });

  test.each([
    [{ default: { fetch } }, "function"],
    [{ default: { fetch, port: 3000 } }, "function"],
    [{ default: everything }, "function"],
    [{ default: Object.assign(() => {}, { fetch }) }, "function"],
    [{ fetch }, "function"],
    [{ default: fetch }, "function"],
    [{ default: { onRequest: fetch } }, "hooks"],
    [{ default: { onResponse: fetch } }, "hooks"],
    [{ default: { scheduled: fetch } }, "scheduled"],
  ] as const)("%p serves as %s", (module, use) => {
    expect(exportFault(module, use)).toBe("");
  });

  test.each([
    [{}, "function", "has no default export"],
    [{ feetch: fetch }, "function", "has no default export"],
    [{ default: { fetch: "x" } }, "function", "fetch of its default export is a string"],
    [{ default: { fecth: fetch } }, "function", "has no fetch, but fecth"],
    [{ default: fetch }, "hooks", "its default export is a function without onRequest or onResponse"],
    [{ default: null }, "function", "is null"],
    [{ default: 7 }, "hooks", "is a number"],
    [{ default: { fetch } }, "hooks", "has no onRequest or onResponse, but fetch"],
    [{ default: { onRequest: fetch, onResponse: 1 } }, "hooks", "onResponse of its default export is a number"],
    [{ default: {} }, "scheduled", "has no scheduled, but nothing"],
  ] as const)("%p does not serve as %s", (module, use, message) => {
    expect(exportFault(module, use)).toContain(message);
  });
});
