import * as v from "valibot";
import { series } from "../core/number-text.ts";
import { withoutCredentials } from "../core/secret-name.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import type { Form } from "./form.ts";
import { didYouMean, nearestName } from "./nearest-name.ts";
import { UNREADABLE } from "./plain-yaml.ts";

/** A schema that takes any parsed YAML value and gives a `T`. */
export type Piece<T> = v.GenericSchema<unknown, T>;

/**
 * What may be written at a key. As a schema it gives `T`, the value as it is written in the file; `resolve` turns that
 * into `R`, the value that the gateway reads; `write` gives the file's form of an `R`.
 */
export interface Kind<T, R = T, Unit extends string = ""> extends Piece<T> {
  /** The end of the resolved field's name, such as `Ms`; "" for kinds without a unit. */
  readonly unit: Unit;
  /** What may be written there, as data. */
  readonly form: Form;
  /** Left out if the parsed value is the resolved one. */
  resolve?(value: T, spot: Spot): R;
  write(resolved: R): unknown;
}

/** Context of a resolution, beside the value itself. */
export interface Spot {
  /** The place of the value, for faults. */
  readonly path: KeyPath;
  readonly log: FaultLog;
  /** Finds files from the folder of the configuration file. */
  readonly files: ConfiguredFiles;
}

/** A reading function's result for a wrong value: the text of the fault. */
export class Wrong {
  constructor(readonly text: string) {}
}

/**
 * Makes a schema out of a reading function, which gives the value or a `Wrong`. A value that could not be
 * read is passed over without a second fault (an issue with an empty message).
 * @param form what `read` takes, as data
 */
export function piece<T>(read: (value: unknown) => T | Wrong, form: Form = ANYTHING): Kind<T> {
  const reading = v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
    const result = dataset.value === UNREADABLE ? new Wrong("") : read(dataset.value);
    if (!(result instanceof Wrong)) return result;
    addIssue({ message: result.text });
    return NEVER;
  });
  return asKind(v.pipe(v.unknown(), reading), form);
}

/** A kind whose value needs no conversion in either direction. */
function asKind<T>(schema: Piece<T>, form: Form): Kind<T> {
  return Object.assign(schema, { unit: "" as const, form, write: (value: T) => value });
}

/** The same kind, but written in another way than as it is. */
export function written<T, R, U extends string>(kind: Kind<T, R, U>, write: (resolved: R) => unknown): Kind<T, R, U> {
  return { ...kind, write };
}

/** The same kind with another unit. */
export function measured<T, R, const U extends string>(kind: Kind<T, R, string>, unit: U): Kind<T, R, U> {
  return { ...kind, unit };
}

/** The same kind with a further step of its resolution. */
export function resolved<T, A, R, U extends string>(
  kind: Kind<T, A, U>,
  step: (value: A, spot: Spot) => R,
): Kind<T, R, U> {
  const first = (value: T, spot: Spot) =>
    kind.resolve === undefined ? (value as unknown as A) : kind.resolve(value, spot);
  const write = kind.write as (resolved: unknown) => unknown;
  return { ...kind, write, resolve: (value, spot) => step(first(value, spot), spot) };
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

/** The keys of a section and the value of each. */
export type Entries = Readonly<Record<string, Piece<unknown>>>;

/** The value of a section with these entries. */
type Section<E extends Entries> = { [K in keyof E]: v.InferOutput<E[K]> };

/** Words around a section: those of `section`. */
interface SectionWords {
  readonly shorthand?: string;
  readonly meant?: Readonly<Record<string, string>>;
  readonly manual?: string;
}

/**
 * A section: a map with exactly these keys. An empty section (`tls:` and nothing below) is there, with every default;
 * an absent one is read as `whenAbsent`, which is how a section can be off when absent and on when present.
 * `misplaced` gives the cure for keys that belong somewhere else. `shorthand` is the key whose value people write in
 * place of the section, `meant` has cures for words there; `manual` is the command that shows the keys of a section with many.
 */
export function section<E extends Entries>(
  entries: E,
  whenAbsent: unknown = {},
  misplaced: ReadonlyMap<string, string> = new Map(),
  { shorthand = "", meant = {}, manual = "edge help config" }: SectionWords = {},
): Piece<Section<E>> {
  const known = Object.keys(entries);
  const isKnown = new Set(known);
  const map = piece((value) => {
    if (value === null || value === undefined) return {};
    if (typeof value === "object" && !Array.isArray(value)) return value;
    const found = shorthand === "" ? describeKind(value) : describe(value);
    const own = typeof value === "string" && Object.hasOwn(meant, value) ? `; ${meant[value]}` : "";
    const cure = own === "" ? sectionCure(value, known, shorthand) : own;
    return new Wrong(`expected a section with indented "key: value" lines below, found ${found}${cure}`);
  });
  // The check is after the entries: valibot runs checks after faults too, but no further schema.
  const strict = v.rawCheck<Record<string, unknown>>(({ dataset, addIssue }) => {
    const input = dataset.value as Record<string, unknown>;
    const unknown = Object.keys(input).filter((key) => !isKnown.has(key));
    for (const key of unknown.slice(0, MAX_UNKNOWN)) {
      const note = (name: string, message: string) =>
        addIssue({ message, path: [{ type: "object", origin: "key", input, key: name, value: input[key] }] });
      note(key, unknownKey(key, known, misplaced, manual));
      // A misspelled key is not missing, so no fault says so.
      const meant = nearestName(key, known);
      if (meant !== "") note(meant, "");
    }
  });
  const whole: Piece<unknown> = v.pipe(map as Piece<object>, v.looseObject(entries), strict as never);
  const optional = v.optional(whole, whenAbsent as never) as unknown as Piece<Section<E>>;
  return readOnce(optional, whenAbsent);
}

/** The same schema, which resolves an absent section once: thousands of routes leave most sections out. */
function readOnce<T>(schema: Piece<T>, whenAbsent: unknown): Piece<T> {
  let absent: { readonly value: T } | null = null;
  return {
    ...schema,
    "~run"(dataset, config) {
      if (dataset.value !== whenAbsent) return schema["~run"](dataset, config);
      if (absent !== null) return { typed: true, value: absent.value };
      const result = schema["~run"](dataset, config);
      if (result.issues === undefined) absent = { value: result.value as T };
      return result;
    },
  };
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
  return `unknown key: ${known.length <= MAX_LISTED ? `expected ${series(known, "or")}` : `"${manual}" shows all`}`;
}

/** The intended meaning of a single value where a section belongs. */
function sectionCure(value: unknown, known: readonly string[], shorthand: string): string {
  if (typeof value === "string" && /^\w+:(?!\/\/)\S/.test(value)) return "; put a space after the colon";
  const isOn = value === true || value === "on" || value === "yes";
  const isSwitch = isOn || value === false || value === "off" || value === "no";
  if (isSwitch && known.includes("enabled")) return `; write {enabled: ${isOn}}`;
  if (shorthand === "") return "";
  if (typeof value === "number") return `; write {${shorthand}: ${value}}`;
  return typeof value === "string" ? `; write {${shorthand}: ${quote(value)}}` : "";
}

/** A list; an absent or empty one is `[]`. With `orOne`, a single value is read as a list of one. */
export function list<T, R>(item: Kind<T, R>, what: string, orOne = false): ListKind<T, R> {
  const array = piece((value) => {
    if (Array.isArray(value)) return value;
    if (orOne && typeof value !== "object") return [value];
    const isOne = typeof value === "string" || typeof value === "number";
    const example = isOne ? `[${withoutCredentials(String(value)).slice(0, MAX_ECHOED)}]` : "[a, b]";
    return new Wrong(`expected a list of ${what}, such as ${example}, found ${describe(value)}`);
  });
  const schema = or(v.pipe(array, v.array(item as Piece<T>)) as unknown as Piece<T[]>, []);
  const { resolve } = item;
  return Object.assign(schema, {
    unit: "" as const,
    form: { is: "list", item: item.form, orOne } as const,
    item,
    resolve(values: T[], spot: Spot): readonly R[] {
      if (resolve === undefined) return values as unknown as R[];
      return values.map((value, i) => resolve(value, { ...spot, path: [...spot.path, i] }));
    },
    write: (all: readonly R[]) => all.map((one) => item.write(one)),
  });
}

/** A list, with what its entries are. */
export interface ListKind<T, R> extends Kind<T[], readonly R[]> {
  readonly item: Kind<T, R>;
}

/** A map from free names to values, as pairs in the order of the file; an absent one is `[]`. */
export function pairs<T>(value: Kind<T, unknown>, what: string): Kind<[string, T][]> {
  const map = piece((found) => {
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return found;
    return new Wrong(`expected "${what}" lines, found ${describeKind(found)}`);
  });
  const entries = v.transform((found: Record<string, T>) => Object.entries(found));
  const schema = or(
    v.pipe(map, v.record(v.string(), value as Piece<T>), entries) as unknown as Piece<[string, T][]>,
    {},
  );
  return { ...asKind(schema, { is: "map", value: value.form }), write: (all) => Object.fromEntries(all) };
}

/** Whether this is in the place of a value that must be there: it is missing, or it cannot be read, which has been noted as a fault. */
export function isMissing(value: unknown): boolean {
  return value === ABSENT;
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

const ANYTHING: Form = { is: "anything" };
const ABSENT = Symbol("absent");
const MAX_LISTED = 12;
/** More of them is another file, and looking for what each was meant to be takes its time. */
const MAX_UNKNOWN = 200;
const MAX_ECHOED = 40;

/**
 * A section that may also be written as a mere `true` or `false`, which is its `enabled`.
 * @param whenAbsent the value of an absent one
 */
export function switchOr<T>(map: Piece<T>, whenAbsent: object = {}): Piece<T> {
  const spelledOut = v.transform((value: unknown) => (typeof value === "boolean" ? { enabled: value } : value));
  return or(v.pipe(v.unknown(), spelledOut, map) as Piece<T>, whenAbsent);
}
