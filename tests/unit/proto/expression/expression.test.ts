import { describe, expect, test } from "bun:test";
import {
  compileExpression,
  type Expression,
  isExpressionFault,
  MAX_EXPRESSION_INPUT_BYTES,
  MAX_EXPRESSION_PROGRAM,
  MAX_EXPRESSION_STATES_BYTES,
} from "../../../../src/proto/expression/expression.ts";

function made(source: string): Expression {
  const result = compileExpression(source);
  if (isExpressionFault(result)) throw new Error(result.fault);
  return result;
}

function faultOf(source: string): string {
  const result = compileExpression(source);
  return isExpressionFault(result) ? result.fault : "";
}

describe("expressions", () => {
  test("find their groups, wherever in the text", () => {
    expect(made("^/old/(.*)$").match("/old/a/b")).toEqual(["/old/a/b", "a/b"]);
    expect(made("/(\\d+)(/x)?").match("/a/17/y")).toEqual(["/17", "17", ""]);
    expect(made("^/old/(.*)$").match("/older")).toBeNull();
    expect(made("(?i)mobile").test("A Mobile thing")).toBe(true);
  });

  test("let no line break past a dot", () => {
    expect(made("^/old/(.*)$").match("/old/a\nb")).toEqual(["/old/a\nb", "a\nb"]);
    expect(made("^a$").test("a\n")).toBe(false);
    expect(made("^a$").test("b\na")).toBe(false);
  });

  test("read bytes beyond ASCII as UTF-8, and give the bytes back that a group took", () => {
    const bytes = (text: string) => Buffer.from(text, "utf8").latin1Slice();
    expect(made("^/m.nchen/(.*)$").match(bytes("/münchen/é"))).toEqual([bytes("/münchen/é"), bytes("é")]);
    expect(made("^/(.)/(.*)$").match("/a/\xff\xfe")).toEqual(["/a/\xff\xfe", "a", "\xff\xfe"]);
  });

  test("what takes more than linear time is refused, with the cure", () => {
    for (const source of ["a(?=b)", "(?!a)b", "(?<=a)b", "(?<!a)b"]) expect(faultOf(source)).toContain("looks around");
    for (const source of ["(a)\\1", "(?P<n>a)(?P=n)", "(?<n>a)\\k<n>"])
      expect(faultOf(source)).toContain("refers back");
    for (const source of ["(?>a)", "a*+", "a{2}+"]) expect(faultOf(source)).toContain("the plain form");
    expect(faultOf("[*+]+\\\\1")).toBe("");
  });

  test("huge repetitions are refused", () => {
    for (const source of ["a{1001}", "(a{100}){100}", "(?:a{1,1000}){1,1000}", `a{${MAX_EXPRESSION_PROGRAM}}`]) {
      expect(faultOf(source)).toContain("too large");
    }
    expect(faultOf("a{1,64}")).toBe("");
  });

  test("what is no expression says why", () => {
    expect(faultOf("(a")).toBe("missing closing ): `(a`");
    expect(faultOf("[b-a]")).toContain("invalid character class range");
  });
});

/** Patterns that take engines with backtracking beyond the age of the universe. */
const CATASTROPHIC = [
  "(a+)+$",
  "(a|a)*b",
  "(a|aa)+$",
  "((a*)*)*b",
  "(a?){48}a{48}$",
  "(.*)(.*)(.*)(.*)(.*)[0-9]$",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "(?i)(x+x+)+y",
  "(a|b)*a(a|b){12}c",
];

describe("patterns that stop engines with backtracking", () => {
  test("end at the bound, with and without captures", () => {
    for (const source of CATASTROPHIC) {
      const expression = made(source);
      for (const end of ["", "!", "\xff"]) {
        for (const unit of ["a", "ab", "xX"]) {
          const text = unit.repeat(MAX_EXPRESSION_INPUT_BYTES).slice(end.length, MAX_EXPRESSION_INPUT_BYTES) + end;
          expect(expression.match(text) !== null).toBe(expression.test(text));
        }
      }
    }
  });

  test("a text beyond the bound fits nothing, and is not looked at", () => {
    for (const source of [...CATASTROPHIC, "a"]) {
      const text = "a".repeat(MAX_EXPRESSION_INPUT_BYTES + 1);
      expect(made(source).test(text)).toBe(false);
      expect(made(source).match(text)).toBeNull();
    }
  });

  test("the library itself takes 64 KiB of it", () => {
    const { RE2JS } = require("re2js") as typeof import("re2js");
    for (const source of CATASTROPHIC) {
      const program = RE2JS.compile(source);
      expect(program.programSize()).toBeLessThanOrEqual(MAX_EXPRESSION_PROGRAM);
      program.test(`${"a".repeat(65_535)}!`);
      program.matcher(`${"a".repeat(65_535)}!`).find();
    }
  });

  test("what it remembers of texts is bounded", () => {
    const expression = made("(a|b)*a(a|b){12}$");
    let seed = 1;
    for (let round = 0; round < 20; round++) {
      let text = "";
      while (text.length < MAX_EXPRESSION_INPUT_BYTES) {
        seed = Math.imul(seed, 1_103_515_245) + 12_345;
        text += (seed >>> 16) & 1 ? "a" : "b";
      }
      expression.test(text);
    }
    const { program } = expression as unknown as { program: import("re2js").RE2JS };
    const { dfa } = program.re2();
    expect(dfa.maxMem).toBe(MAX_EXPRESSION_STATES_BYTES);
    expect([...dfa.cachedStates()].length * 100).toBeLessThan(MAX_EXPRESSION_STATES_BYTES);
  });
});
