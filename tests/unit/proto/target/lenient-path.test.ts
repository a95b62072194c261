import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../../src/core/bytes.ts";
import { LenientPath, Mark } from "../../../../src/proto/target/lenient-path.ts";
import vectors from "../../../vectors/target/foldings.json";

function fold(raw: string): LenientPath {
  const path = new LenientPath();
  path.load(latin1(`?${raw}?`), 1, raw.length + 1);
  return path;
}

function textOf(path: LenientPath): string {
  return Buffer.from(path.bytes.subarray(0, path.length)).latin1Slice();
}

describe("folded path", () => {
  for (const { raw, folded } of vectors) {
    test(raw, () => {
      expect(textOf(fold(raw))).toBe(folded);
    });
  }

  test("remembers how each byte was written", () => {
    const path = fold("/.%2e%252e%c0%ae%25c0%25ae%00/");
    expect(textOf(path)).toBe("/...../");
    expect([...path.marks.subarray(0, path.length)]).toEqual([0, 0, 1, 2, 1 | Mark.Lookalike, 2 | Mark.Lookalike, 1]);
    expect([...path.origins.subarray(0, path.length)]).toEqual([0, 1, 2, 5, 10, 16, 29]);
  });

  test("keeps the mark of control bytes dropped at the end", () => {
    const path = fold("/..%2500");
    expect([textOf(path), path.endMark]).toEqual(["/..", 3]);
  });

  test("gives up after eight rounds, and says so", () => {
    expect(fold(`/%${"25".repeat(7)}41`).tooDeep).toBe(false);
    expect(textOf(fold(`/%${"25".repeat(7)}41`))).toBe("/A");
    expect(fold(`/%${"25".repeat(8)}41`).tooDeep).toBe(true);
  });

  test("is used again for longer and shorter paths", () => {
    const path = new LenientPath();
    for (const length of [10, 5000, 3, 20_000]) {
      path.load(latin1("/".repeat(length)), 0, length);
      expect(path.length).toBe(length);
    }
  });

  test.each([
    ["/....//", "/../"],
    ["/..././", "/../"],
    ["/....\\/", "/../"],
    ["/../a", "/a"],
    ["/a..", "/a.."],
  ])("a filter of parent sequences makes of %s", (raw, left) => {
    const path = fold(raw);
    path.stripParents();
    expect(textOf(path)).toBe(left);
  });
});
