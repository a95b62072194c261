import * as v from "valibot";
import { withoutCredentials } from "../core/secret-name.ts";
import { quote } from "./config-fault.ts";
import { didYouMean, nearestName } from "./nearest-name.ts";
import { UNREADABLE } from "./yaml-source.ts";

/** A schema that takes any parsed YAML value and gives a `T`. */
export type Piece<T> = v.GenericSchema<unknown, T>;

/** What a reading function gives when the value will not do: the text of the fault. */
export class Wrong {
  constructor(readonly text: string) {}
}

/**
 * Makes a schema out of a reading function, which gives the value or a `Wrong`. A value that could not be
 * read is passed over without a second fault (an issue with an empty message).
 */
export function piece<T>(read: (value: unknown) => T | Wrong): Piece<T> {
  const reading = v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
    const result = dataset.value === UNREADABLE ? new Wrong("") : read(dataset.value);
    if (!(result instanceof Wrong)) return result;
    addIssue({ message: result.text });
    return NEVER;
  });
  return v.pipe(v.unknown(), reading);
}

/** The same piece, with a value for a key that is absent or empty. The default is written as in the file. */
export function or<T>(schema: Piece<T>, whenAbsent: unknown): Piece<T> {
  return v.nullish(schema, whenAbsent as never) as Piece<T>;
}

/** The same piece, with a value for an absent or empty key that no file could hold itself, such as `null` or `""`. */
export function orElse<T, const D>(schema: Piece<T>, whenAbsent: D): Piece<T | D> {
  const filled = v.transform((value: T | null) => value ?? whenAbsent);
  return v.optional(v.pipe(v.nullish(schema) as Piece<T | null>, filled), null as never) as Piece<T | D>;
}

/** The same piece, for a key that must be there; `what` tells a newcomer what belongs there. */
export function must<T>(schema: Piece<T>, what: string): Piece<T> {
  const present = piece((value) => (value === ABSENT ? new Wrong(`missing: expected ${what}`) : value));
  return v.nullish(v.pipe(present, schema), ABSENT as never) as Piece<T>;
}

/** The keys of a section and what stands at each. */
export type Entries = Readonly<Record<string, Piece<unknown>>>;

/** What a section with these entries gives. */
export type Section<E extends Entries> = { [K in keyof E]: v.InferOutput<E[K]> };

/**
 * A section: a map with exactly these keys. An empty section (`tls:` and nothing below) is there, with every default;
 * an absent one is read as `whenAbsent`, which is how a section can be off when absent and on when present.
 * `misplaced` gives the cure for keys that belong somewhere else. `shorthand` is the key whose value people write in
 * place of the section; `manual` is the command that shows the keys of a section with many.
 */
export function section<E extends Entries>(
  entries: E,
  whenAbsent: unknown = {},
  misplaced: ReadonlyMap<string, string> = new Map(),
  { shorthand = "", manual = "edge help config" }: { readonly shorthand?: string; readonly manual?: string } = {},
): Piece<Section<E>> {
  const known = Object.keys(entries);
  const map = piece((value) => {
    if (value === null || value === undefined) return {};
    if (typeof value === "object" && !Array.isArray(value)) return value;
    return new Wrong(
      `expected a section with indented "key: value" lines below, found ${shorthand === "" ? describeKind(value) : describe(value)}${sectionCure(value, known, shorthand)}`,
    );
  });
  // The check stands after the entries: valibot runs checks after faults too, but no further schema.
  const strict = v.rawCheck<Record<string, unknown>>(({ dataset, addIssue }) => {
    const input = dataset.value as Record<string, unknown>;
    const unknown = Object.keys(input).filter((key) => !known.includes(key));
    for (const key of unknown.slice(0, MAX_UNKNOWN)) {
      const note = (name: string, message: string) =>
        addIssue({ message, path: [{ type: "object", origin: "key", input, key: name, value: input[key] }] });
      note(key, unknownKey(key, known, misplaced, manual));
      // What was meant is not missing, so nobody shall complain that it is.
      const meant = nearestName(key, known);
      if (meant !== "") note(meant, "");
    }
  });
  const whole: Piece<unknown> = v.pipe(map as Piece<object>, v.looseObject(entries), strict as never);
  return v.optional(whole, whenAbsent as never) as unknown as Piece<Section<E>>;
}

/** The fault text for a key that a section does not have. */
export function unknownKey(
  name: string,
  known: readonly string[],
  misplaced: ReadonlyMap<string, string> = new Map(),
  manual = "",
): string {
  const cure = misplaced.get(name);
  if (cure !== undefined) return cure;
  const meant = didYouMean(name, known);
  if (meant !== "") return `unknown key${meant}`;
  return `unknown key: ${known.length <= MAX_LISTED ? `expected ${oneOf(known)}` : `"${manual}" shows all`}`;
}

/** What somebody meant who wrote a single value where a section belongs. */
function sectionCure(value: unknown, known: readonly string[], shorthand: string): string {
  if (typeof value === "string" && /^\w+:(?!\/\/)\S/.test(value)) return "; put a space after the colon";
  const isOn = value === true || value === "on" || value === "yes";
  const isSwitch = isOn || value === false || value === "off" || value === "no";
  if (isSwitch && known.includes("enabled")) return `; write {enabled: ${isOn}}`;
  return typeof value === "string" && shorthand !== "" ? `; write {${shorthand}: ${quote(value)}}` : "";
}

/** A list; an absent or empty one is `[]`. With `orOne`, a single value stands for a list of one. */
export function list<T>(item: Piece<T>, what: string, orOne = false): Piece<T[]> {
  const array = piece((value) => {
    if (Array.isArray(value)) return value;
    if (orOne && typeof value !== "object") return [value];
    const isOne = typeof value === "string" || typeof value === "number";
    const example = isOne ? `[${withoutCredentials(String(value)).slice(0, MAX_ECHOED)}]` : "[a, b]";
    return new Wrong(`expected a list of ${what}, such as ${example}, found ${describe(value)}`);
  });
  return or(v.pipe(array, v.array(item)) as unknown as Piece<T[]>, []);
}

/** A map from free names to values, as pairs in the order of the file; an absent one is `[]`. */
export function pairs<T>(value: Piece<T>, what: string): Piece<[string, T][]> {
  const map = piece((found) => {
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return found;
    return new Wrong(`expected "${what}" lines, found ${describeKind(found)}`);
  });
  const entries = v.transform((found: Record<string, T>) => Object.entries(found));
  return or(v.pipe(map, v.record(v.string(), value), entries) as unknown as Piece<[string, T][]>, {});
}

/** A found value in a fault text: never a whole section, never more than a few words. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a section";
  return typeof value === "string" ? quote(value) : String(value);
}

/** The same for what should be a section: a word is shown, any other text may be a field with its secret. */
function describeKind(value: unknown): string {
  return typeof value === "string" && !/^\w{0,12}$/.test(value) ? "a text" : describe(value);
}

/** `a, b or c`. */
export function oneOf(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join("") : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}

const ABSENT = Symbol("absent");
const MAX_LISTED = 12;
/** More of them is another file, and looking for what each was meant to be takes its time. */
const MAX_UNKNOWN = 200;
const MAX_ECHOED = 40;

/** A section that may also be written as a mere `true` or `false`, which is its `enabled`. */
export function switchOr<E extends Entries>(entries: E): Piece<Section<E>> {
  const spelledOut = v.transform((value: unknown) => (typeof value === "boolean" ? { enabled: value } : value));
  return or(v.pipe(v.unknown(), spelledOut, section(entries)) as Piece<Section<E>>, {});
}
