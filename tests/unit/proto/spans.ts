/** An offset and the one behind it. */
export type Span = readonly [from: number, to: number];

/** Names of the members of Framing, in their order. */
export const FRAMINGS = ["none", "length", "chunked", "until_close"] as const;

export type FramingName = (typeof FRAMINGS)[number];
