import type { Statement } from "./statement.ts";

/** Why a directive is not carried over, and what to do instead. */
export interface Advice {
  readonly why: string;
  readonly cure: string;
}

/** Names of directives, why they are not carried over, and what to do instead. */
export type AdviceRow = readonly [names: RegExp, why: string, cure: string];

const UNKNOWN: Advice = {
  why: "the gateway has no such directive",
  cure: "look for it in edge help config and edge help routes",
};

/** What the first row for a directive says. @param other for those without a row */
export function adviceIn(rows: readonly AdviceRow[], { name }: Statement, other: Advice = UNKNOWN): Advice {
  for (const [names, why, cure] of rows) if (names.test(name)) return { why, cure };
  return other;
}
