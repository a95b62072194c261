import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LiteralFilter } from "../../src/features/waf/seclang/literal-filter.ts";
import {
  compileRuleExpression,
  isExpressionFault,
  judgeRuleExpression,
} from "../../src/proto/expression/expression.ts";

/** Few letters, so that expressions often fit. */
const letter = fc.constantFrom("a", "B", "b", "c", "é", "É", "'", "1");
const atom = fc.oneof(
  { weight: 6, arbitrary: fc.array(letter, { minLength: 1, maxLength: 4 }).map((letters) => letters.join("")) },
  fc.constantFrom(".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "[a-cé]", "^", "$", "\\b", "\\x61", "\\Qa'b\\E", "\\'"),
);
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    atom,
    fc.tuple(tie("expression"), tie("expression")).map(([left, right]) => left + right),
    fc.tuple(tie("expression"), tie("expression")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("expression"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "*?"))
      .map(([one, sign]) => `(${one})${sign}`),
    tie("expression").map((one) => `(?i:${one})`),
  ),
}));
const text = fc.array(fc.oneof(letter, fc.constantFrom("A", " ", "\n")), { maxLength: 12 }).map((all) => all.join(""));

function bytes(of: string): string {
  return Buffer.from(of, "latin1").toString("latin1");
}

describe("literals of expressions", () => {
  test("one of them is in every text that fits", () => {
    let fitting = 0;
    fc.assert(
      fc.property(expression, fc.boolean(), fc.array(text, { minLength: 20, maxLength: 20 }), (one, folds, texts) => {
        const source = folds ? `(?i)${one}` : one;
        const made = compileRuleExpression(source, { program: 8192, statesBytes: 65_536 });
        if (isExpressionFault(made)) return;
        const { literals } = judgeRuleExpression(source);
        if (literals === null) return;
        const filter = new LiteralFilter([literals]);
        for (const value of texts.map(bytes)) {
          if (!made.test(value)) continue;
          fitting++;
          const found = new Int32Array(1);
          filter.find(value, found);
          expect(found[0]).toBe(1);
        }
      }),
      { numRuns: 3000 },
    );
    expect(fitting).toBeGreaterThan(500);
  }, 60_000);

  test.each([
    ["(?i)\\bunion\\s+(?:all\\s+)?select\\b", ["select"]],
    ["(?:etc/passwd|win\\.ini)", ["etc/pa", "win.in"]],
    ["\\d+\\s*=\\s*sleep", ["slee"]],
    ["^[a-z]{4}-\\d+$", null],
    ["['\"]\\s*or", ["or"]],
    ["['\"]\\s*\\d", ['"', "'"]],
    ["a*", null],
    ["", null],
  ])("of %p are %p", (source, wanted) => {
    expect(judgeRuleExpression(source as string).literals?.toSorted() ?? null).toEqual(wanted as string[] | null);
  });
});

describe("the filter", () => {
  test("finds what a search for each literal finds", () => {
    const literal = fc
      .array(fc.constantFrom("a", "b", "c", "é"), { minLength: 1, maxLength: 4 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(
        fc.array(fc.array(literal, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 70 }),
        text,
        (sets, value) => {
          const filter = new LiteralFilter(sets.map((one) => one.map(bytes)));
          const found = new Int32Array(filter.words);
          filter.find(bytes(value), found);
          const lower = bytes(value).toLowerCase();
          for (const [i, literals] of sets.entries())
            expect((found[i >> 5]! >>> (i & 31)) & 1).toBe(literals.some((one) => lower.includes(bytes(one))) ? 1 : 0);
        },
      ),
    );
  });

  test("finds the same after four milliards of texts", () => {
    const filter = new LiteralFilter([["ab"], ["cd"]], 2 ** 32 - 3);
    for (let i = 0; i < 8; i++) {
      const found = new Int32Array(1);
      filter.find(i < 2 ? "abab" : "cdcd", found);
      expect(found[0]).toBe(i < 2 ? 1 : 2);
    }
  });

  test("knows nothing of what is no byte", () => {
    const found = new Int32Array(1);
    new LiteralFilter([["x"]]).find("a\u0178", found);
    expect(found[0]).toBe(-1);
  });
});
