import type { Rows } from "./row.ts";

/**
 * What a file may hold at a key, as data: `edge schema` is written of it. Bounds are inclusive, and in the unit of the value
 * (milliseconds, bytes). A rule that no form can say stays with the kind alone.
 */
export type Form =
  | { readonly is: "integer" | "number" | "duration" | "size"; readonly min: number; readonly max: number }
  | { readonly is: "flag" | "percent" }
  | { readonly is: "anything" }
  | { readonly is: "word"; readonly words: readonly string[] }
  | { readonly is: "text"; readonly pattern?: RegExp }
  /** `orOne`: a single entry may be written without its list. */
  | { readonly is: "list"; readonly item: Form; readonly orOne: boolean }
  /** A section with names of its own. */
  | { readonly is: "map"; readonly value: Form }
  /** `isSwitch`: `true` and `false` may be written in place of the section. */
  | { readonly is: "section"; readonly rows: Rows; readonly isSwitch: boolean }
  | { readonly is: "either"; readonly forms: readonly Form[] };

/** Any text on one line. */
export const TEXT: Form = { is: "text" };
/** Any number, where a text is meant. */
export const ANY_NUMBER: Form = { is: "number", min: -Number.MAX_VALUE, max: Number.MAX_VALUE };

/** What looks like this, beside `form`. */
export function orWord(form: Form, ...words: readonly string[]): Form {
  return { is: "either", forms: [form, { is: "word", words }] };
}
