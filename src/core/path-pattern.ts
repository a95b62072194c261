/** Tells whether a canonical path is one of these, or fits a pattern with `*` at its end. */
export function pathTest(paths: readonly string[]): (path: string) => boolean {
  const exact = new Set(paths.filter((path) => !path.endsWith("*")));
  const starts = paths.filter((path) => path.endsWith("*")).map((path) => path.slice(0, -1));
  return (path) => exact.has(path) || starts.some((start) => path.startsWith(start));
}

/** What one segment of a path pattern takes. */
export const enum SegmentKind {
  /** This text, percent-decoded. */
  Literal = 0,
  /** Any one segment that is not empty. */
  One,
  /** All that follows, also nothing; the last segment only. */
  Rest,
}

/** One part of a pattern between slashes. */
export interface PatternSegment {
  readonly kind: SegmentKind;
  /** The decoded text of a literal, one character a byte; "" otherwise. */
  readonly text: string;
}

/** A named part of the path: the segments `[from, to)`; `to` is -1 if it goes on to the end. */
export interface PatternVariable {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The shape of a path such as `/v1/users/:id`, or `/v1/{name=shelves/*}:publish`. */
export interface PathPattern {
  readonly segments: readonly PatternSegment[];
  /** The text after the last colon of the last segment; "" without a colon. */
  readonly verb: string;
  readonly variables: readonly PatternVariable[];
}

/** Whether a pattern has no variable part, so that it is one path. */
export function isFixedPattern(pattern: PathPattern): boolean {
  return pattern.segments.every((segment) => segment.kind === SegmentKind.Literal);
}

/** The shape of a pattern with the names left out: two patterns with one shape take the same paths. */
export function patternShape({ segments, verb }: PathPattern): string {
  const parts = segments.map(({ kind, text }) =>
    kind === SegmentKind.Literal ? text : kind === SegmentKind.One ? "*" : "**",
  );
  return `/${parts.join("/")}${verb === "" ? "" : `:${verb}`}`;
}
