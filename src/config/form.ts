/**
 * The values that a key takes, as data: `edge schema` is made from it. Bounds are inclusive, and in the unit of the value
 * (milliseconds, bytes). A rule that no form can say stays with the kind alone.
 */
export type Form =
  | { readonly is: "integer" | "number" | "duration" | "size"; readonly min: number; readonly max: number }
  | { readonly is: "flag" | "percent" }
  | { readonly is: "anything" }
  | { readonly is: "word"; readonly words: readonly string[] }
  /** `names`: that it is the name of a file, a folder or a module, or a secret. */
  | { readonly is: "text"; readonly pattern?: RegExp; readonly names?: "file" | "secret" }
  /** `orOne`: a single entry may be written without its list. */
  | { readonly is: "list"; readonly item: Form; readonly orOne: boolean }
  /** A section with names of its own. */
  | { readonly is: "map"; readonly value: Form }
  /** `isSwitch`: `true` and `false` may be written in place of the section. */
  | { readonly is: "section"; readonly rows: FormRows; readonly isSwitch: boolean }
  | { readonly is: "either"; readonly forms: readonly Form[] };

/** A key of a section, as data: a row without what reads and writes its values. */
export interface FormRow {
  /** What may be written there. */
  readonly type: { readonly unit: string; readonly form: Form };
  /** The value of an absent or empty key, as a file would say it: `"10s"`, `"64KiB"`. */
  readonly default?: unknown;
  /** In its place, a value that no file could say: `null`, or `""` if an empty text is a fault. */
  readonly absent?: unknown;
  /** In its place, for a key that must be there: what belongs there. */
  readonly required?: string;
  /** Its line in the settings reference. */
  readonly doc?: string;
  /** Shown in the settings reference in place of a default; of a block, its keys alone are shown. */
  readonly example?: unknown;
  /** Name of the resolved field if it is not the key's own with the unit after it; "" where `finish` makes the field. */
  readonly field?: string;
  /** That a reload does not change it: everywhere, or for HTTP/3 alone. docs/operations.md#reload */
  readonly restart?: "everywhere" | "HTTP/3";
  /**
   * That it guards the gateway or its clients, so that a reload which takes it away says so: a section or a switch by being
   * on, a text or a list by being there, one of several words by the values named here, the weakest first. docs/operations.md#reload
   */
  readonly guard?: true | readonly string[];
}

export type FormRows = Readonly<Record<string, FormRow>>;

/** Any text on one line. */
export const TEXT: Form = { is: "text" };
/** Any number, for a text that looks like one. */
export const ANY_NUMBER: Form = { is: "number", min: -Number.MAX_VALUE, max: Number.MAX_VALUE };

/** What looks like this, beside `form`. */
export function orWord(form: Form, ...words: readonly string[]): Form {
  return { is: "either", forms: [form, { is: "word", words }] };
}

/** All forms in which a value may be written. */
export function formsIn(form: Form): readonly Form[] {
  return form.is === "either" ? form.forms.flatMap(formsIn) : [form];
}
