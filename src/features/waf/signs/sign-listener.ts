import type { Sign } from "../rules/sign.ts";

/** Hears what an analyser finds in a value. */
export interface SignListener {
  /** @param at offset of the find in the value's reading */
  found(sign: Sign, at: number): void;
}
