import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../../src/core/bytes.ts";
import { COOKIE_BYTES, findGroups, PAIR_BYTES, URL_BYTES } from "../../../../src/features/waf/match/escaped-scan.ts";
import { KeywordAutomaton } from "../../../../src/features/waf/match/keyword-automaton.ts";
import { WordSet } from "../../../../src/features/waf/match/word-set.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";

function find(keywords: readonly string[], text: string): number {
  const automaton = KeywordAutomaton.of(keywords.map((keyword, i) => ({ bit: 1 << i, keywords: [keyword] })));
  const bytes = latin1(`xx${text}yy`);
  return automaton.find(bytes, 2, bytes.length - 2);
}

describe("keywords", () => {
  test("are found wherever they stand, also one inside of another", () => {
    expect(find(["she", "he", "hers"], "ushers")).toBe(0b111);
    expect(find(["abcd", "bc"], "abce")).toBe(0b10);
    expect(find(["aab", "ab"], "aaab")).toBe(0b11);
    expect(find(["abc"], "ab")).toBe(0);
  });

  test.each([
    ["select", "SeLeCt", true],
    ["a b", "a\tb", true],
    ["a b", "a\nb", true],
    ["a\nb", "a b", false],
    ["'a", '"a', true],
    ["u+0", "u+7", true],
    ["^get", "get", true],
    ["^get", "forget", false],
    ["^", "a^b", true],
    ["é", "é", true],
  ])("%j in %j: %p", (keyword, text, isFound) => {
    expect(find([keyword], text) !== 0).toBe(isFound);
  });

  test("agree with a search for each of them, on random texts", () => {
    const random = new SeededRandom(7);
    const word = (letters: number): string =>
      Array.from({ length: random.integer(1, letters) }, () => random.pick(["a", "b", "c", "-"])).join("");
    for (let i = 0; i < 300; i++) {
      const keywords = Array.from({ length: 8 }, () => word(5));
      const text = word(30);
      const expected = keywords.reduce((bits, keyword, k) => bits | (text.includes(keyword) ? 1 << k : 0), 0);
      expect(find(keywords, text)).toBe(expected);
    }
  });
});

describe("the scan over escaped values", () => {
  const automaton = KeywordAutomaton.of([
    { bit: 1, keywords: ["^get"] },
    { bit: 2, keywords: ["a b"] },
    { bit: 4, keywords: ["=c"] },
    { bit: 8, keywords: ["%"] },
  ]);

  test.each([
    ["x=get", PAIR_BYTES, 1],
    ["get=x", PAIR_BYTES, 1],
    ["x=y&get", PAIR_BYTES, 1],
    ["x=%67%45t", PAIR_BYTES, 1],
    ["x=forget", PAIR_BYTES, 0],
    ["x=a+b", PAIR_BYTES, 2],
    ["x=a%20b", PAIR_BYTES, 2],
    ["x=a%2bb", PAIR_BYTES, 0],
    ["x=c", PAIR_BYTES, 0],
    ["x==c", PAIR_BYTES, 4],
    ["x=%4", PAIR_BYTES, 8],
    ["x=%zz", PAIR_BYTES, 8],
    ["x=%41", PAIR_BYTES, 0],
    ["/p?x=get", URL_BYTES, 1],
    ["x=y;get=z", COOKIE_BYTES, 1],
    ["x=a+b", COOKIE_BYTES, 0],
  ])("%j", (text, kinds, expected) => {
    const bytes = latin1(`%${text}0d`);
    expect(findGroups(automaton, kinds, bytes, 1, 1 + text.length)).toBe(expected);
  });
});

test("a set of words knows its words and their numbers, and nothing else", () => {
  const words = new WordSet([
    [1, "cat ls id"],
    [2, `dog ${"x".repeat(40)}`],
  ]);
  const numberOf = (text: string): number => words.valueOf(latin1(`-${text}-`), 1, 1 + text.length);
  expect(["cat", "ls", "id", "dog", "x".repeat(40)].map(numberOf)).toEqual([1, 1, 1, 2, 2]);
  expect(["", "c", "ca", "cats", "tac", "x", "x".repeat(41), "CAT"].map(numberOf)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});
