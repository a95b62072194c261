// Turns of phrase that make a reader translate, counted. docs/internals/style.md has the words to write in their place.
import { describe, expect, test } from "bun:test";
import { PROJECT_FILES, projectText } from "./project-files.ts";

/** How often a turn of phrase may stand in pages, and in sources with their comments and texts. */
interface Turn {
  readonly name: string;
  readonly pattern: RegExp;
  readonly pages: number;
  readonly sources: number;
}

/** A count this far below its bound takes the bound with it. */
const SLACK = 25;
const STYLE = "docs/internals/style.md";
const PAGES = /^(docs\/.*|README|ARCHITECTURE|CONTRIBUTING|SECURITY|CHANGELOG)\.md$|^(config|routes)\.yaml$/;
const SOURCES = /^(bin|scripts|src)\/.*(\.ts|\.html|\/[a-z-]+)$/;

const TURNS: readonly Turn[] = [
  {
    name: "where, for if",
    pattern: /\bwhere (?:an?|the|its?|one|there|they|that|this|no|none|not|both|each|all)\b/gi,
    pages: 33,
    sources: 620,
  },
  {
    name: "what is …, for a noun",
    pattern: /\bwhat (?:is|are|was|were|has|have|had|comes?|came|goes|went|it|they|the|an?)\b/gi,
    pages: 98,
    sources: 1928,
  },
  {
    name: "those that, one that",
    pattern: /\b(?:those|ones?) (?:that|who|which)\b/gi,
    pages: 50,
    sources: 428,
  },
  {
    name: "is told, without an agent",
    pattern: /\b(?:is|are|was|were|been|be) (?:told|taken|asked|said|looked|held|let)\b/gi,
    pages: 18,
    sources: 640,
  },
];

function count(pattern: RegExp, files: RegExp): number {
  const texts = PROJECT_FILES.filter((path) => files.test(path) && path !== STYLE).map(
    (path) => projectText(path) ?? "",
  );
  return texts.reduce((sum, text) => sum + (text.match(pattern)?.length ?? 0), 0);
}

describe("plain English", () => {
  test.each(TURNS.map((turn) => [turn.name, turn] as const))("%s: no more than before", (_name, turn) => {
    const found = { pages: count(turn.pattern, PAGES), sources: count(turn.pattern, SOURCES) };
    expect(found.pages).toBeLessThanOrEqual(turn.pages);
    expect(found.sources).toBeLessThanOrEqual(turn.sources);
  });

  test.each(TURNS.map((turn) => [turn.name, turn] as const))("%s: the bound follows the count", (_name, turn) => {
    expect(turn.pages - count(turn.pattern, PAGES)).toBeLessThan(SLACK);
    expect(turn.sources - count(turn.pattern, SOURCES)).toBeLessThan(SLACK);
  });
});
