import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { readYaml } from "../../../src/config/yaml-source.ts";

const TEXT = `# a comment
server:
  port: 80
  list:
    - one
    - {two: 2}
empty:
`;

describe("places", () => {
  const source = readYaml("a.yaml", TEXT, {});

  test.each([
    [[], false, 2, 1],
    [["server"], true, 2, 1],
    [["server"], false, 3, 3],
    [["server", "port"], true, 3, 3],
    [["server", "port"], false, 3, 9],
    [["server", "list", 0], false, 5, 7],
    [["server", "list", 1, "two"], false, 6, 13],
    [["server", "missing", "deeper"], true, 3, 3],
    [["empty"], true, 7, 1],
  ] as [(string | number)[], boolean, number, number][])("of %p (key: %p) is %p:%p", (path, onKey, line, col) => {
    expect(source.position(path, onKey)).toEqual({ file: "a.yaml", line, col });
  });

  test("CRLF and a byte order mark move nothing", () => {
    const windows = readYaml("a.yaml", `\ufeff${TEXT.replaceAll("\n", "\r\n")}`, {});
    expect(windows.faults).toEqual([]);
    expect(windows.value).toEqual(source.value);
    expect(windows.position(["server", "port"], false)).toMatchObject({ line: 3 });
  });
});

describe("values", () => {
  test("a number is a number where it is spelled as numbers are, else the text that may be meant", () => {
    for (const text of ["0", "80", "1.5", "-3", "100000"])
      expect(readYaml("a.yaml", `a: ${text}`, {}).value).toEqual({ a: Number(text) });
    for (const text of [
      "127.",
      "127.0",
      "80.",
      "1.10",
      "1e3",
      "0x50",
      "0o17",
      "+5",
      ".5",
      "007",
      "-0",
      ".inf",
      "12345678901234567890",
    ])
      expect(readYaml("a.yaml", `a: [${text}]`, {}).value).toEqual({ a: [text] });
  });

  test("any plain data reads back as it was written", () => {
    const key = fc.stringMatching(/^[a-z_]{1,8}$/);
    const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.stringMatching(/^[ -#%-~]{0,12}$/));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        fc.pre(!JSON.stringify(value).includes('"constructor"'));
        const source = readYaml("a.yaml", stringify(value), {});
        expect(source.faults).toEqual([]);
        expect(source.value).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("no text throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-:{}[\],&*<!|>'"%@`# \n\ta-c0]{0,40}$/)), (text) => {
        const source = readYaml("a.yaml", text, {});
        for (const fault of source.faults) expect(fault.line).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  test("deep nesting is a fault, not a crash", () => {
    for (const text of ["[".repeat(20_000), "{a: ".repeat(20_000), "- ".repeat(20_000)]) {
      expect(readYaml("a.yaml", text, {}).faults.length).toBeGreaterThan(0);
    }
  });
});
