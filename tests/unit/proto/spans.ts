import type { HeaderBlock } from "../../../src/message/header-block.ts";

/** An offset and the one behind it. */
export type Span = readonly [from: number, to: number];

/** Names of the members of Framing, in their order. */
export const FRAMINGS = ["none", "length", "chunked", "until_close"] as const;

export type FramingName = (typeof FRAMINGS)[number];

/** Where name and value of a field are, counted from `base` on. */
export function placesOf(headers: HeaderBlock, i: number, base: number): number[] {
  return [headers.nameFrom(i), headers.nameTo(i), headers.valueFrom(i), headers.valueTo(i)].map((at) => at - base);
}
