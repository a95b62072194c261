import * as v from "valibot";
import type { Form, FormRow } from "./form.ts";
import {
  type Entries,
  isMissing,
  type Kind,
  must,
  or,
  orElse,
  type Piece,
  piece,
  type Spot,
  section,
  switchOr,
  type Wrong,
} from "./piece.ts";

/**
 * One key of a configuration file. Everything else follows from its row: what is accepted and what a fault says, the
 * field of the resolved configuration and its type, `edge help config`, and what `edge check --print` shows.
 * docs/internals/configuration.md#configuration
 */
export interface Row extends FormRow {
  /** What may be written there, with its unit: `duration(1)`, `size(1024)`, `list(cidr(), "networks")`, a block. */
  readonly type: Kind<unknown, unknown, string>;
}

export type Rows = Readonly<Record<string, Row>>;

/** How the block is read as a whole, and what its rows cannot say one by one. */
interface BlockOptions<R extends Rows, X extends object> {
  /** The value of an absent section: `{ enabled: false }` for a section whose presence switches it on. */
  readonly absent?: object;
  /** Whether `true` and `false` may be written in place of the section, as its `enabled`. */
  readonly isSwitch?: boolean;
  /** Cures for keys that belong somewhere else, or come from another program. */
  readonly misplaced?: ReadonlyMap<string, string>;
  /** The key whose value people write in place of the section. */
  readonly shorthand?: string;
  /** Cures for words that people write in place of the section. */
  readonly meant?: Readonly<Record<string, string>>;
  /** The command that shows the keys of this block; `edge help config` unless it is named. */
  readonly manual?: string;
  /** Further lines of the settings reference, below the keys. */
  readonly notes?: readonly string[];
  /** What contradicts itself: notes faults and warnings. */
  check?(values: Values<R>, spot: Spot): void;
  /** Fields that come of several keys, or of more than their own. `plain` has the fields of the rows. */
  finish?(plain: Fields<R>, values: Values<R>, spot: Spot): X;
  /** The section as a file would say it, if the rows alone do not: `lines` is their result. */
  list?(config: Resolved<R, X>, lines: Readonly<Record<string, unknown>>): object;
}

/** A section of a configuration file: as a schema it gives the values as written, `resolve` makes its configuration. */
export interface Block<R extends Rows, X extends object = object> extends Kind<Values<R>, Resolved<R, X>> {
  readonly rows: R;
  readonly notes: readonly string[];
  resolve(values: Values<R>, spot: Spot): Resolved<R, X>;
  write(config: Resolved<R, X>): object;
  /** Its keys as the internal endpoints show them: numbers with their unit in the name (`idle_ms`), else as written. */
  show(config: Resolved<R, X>): object;
}

/** Makes a block of its rows. */
export function block<const R extends Rows, X extends object = object>(
  rows: R,
  options: BlockOptions<R, X> = {},
): Block<R, X> {
  const entries: Record<string, Piece<unknown>> = {};
  for (const [key, row] of Object.entries(rows)) entries[key] = entryOf(row);
  const map = section(entries as Entries, options.absent, options.misplaced, options);
  const schema = options.isSwitch ? switchOr(map, options.absent) : map;
  const fields = Object.entries(rows).flatMap(([key, row]) => {
    const field = fieldOf(key, row);
    return field === "" ? [] : [{ key, field, row }];
  });
  return {
    ...(schema as unknown as Kind<Values<R>>),
    unit: "",
    form: { is: "section", rows, isSwitch: options.isSwitch === true },
    rows,
    notes: options.notes ?? [],
    resolve(values, spot) {
      options.check?.(values, spot);
      const config: Record<string, unknown> = {};
      for (const { key, field, row } of fields) config[field] = resolveRow(row, key, values, spot);
      const more = options.finish?.(config as Fields<R>, values, spot);
      return Object.assign(config, more) as unknown as Resolved<R, X>;
    },
    write(config) {
      const lines: Record<string, unknown> = {};
      for (const { key, field, row } of fields) {
        const value = (config as Record<string, unknown>)[field];
        if (!("absent" in row) || value !== row.absent) lines[key] = row.type.write(value);
      }
      return options.list === undefined ? lines : inOrder(options.list(config, lines), Object.keys(rows));
    },
    show(config) {
      const shown = fields.map(({ key, field, row }) => {
        const value = (config as Record<string, unknown>)[field];
        const isPlain = typeof value === "number" || typeof value === "boolean";
        const name = row.type.unit === "" ? key : `${key}_${row.type.unit.toLowerCase()}`;
        return [name, isPlain ? value : row.type.write(value)];
      });
      return Object.fromEntries(shown);
    },
  };
}

/**
 * The same block, which may also be written in another way: `spelledOut` turns that into a section, or names the fault in it.
 * @param form the other way
 * @param whenAbsent the value of an absent section, if its row does not say one
 */
export function orWritten<B extends { readonly form: Form }>(
  section: B,
  form: Form,
  spelledOut: (value: unknown) => unknown | Wrong,
  whenAbsent?: object,
): B {
  const either = v.pipe(v.unknown(), piece(spelledOut), section as unknown as Piece<unknown>);
  // An empty section is there: `tls:` with nothing below it.
  const schema = whenAbsent === undefined ? either : v.optional(either, whenAbsent as never);
  return { ...section, ...(schema as object), form: { is: "either", forms: [section.form, form] } };
}

/** A section that may also be written as `off`, or as a mere `true` or `false`. */
export function orOff<B extends { readonly form: Form }>(section: B): B {
  return orWritten(section, { is: "either", forms: [{ is: "flag" }, { is: "word", words: ["off"] }] }, (value) => {
    if (value === "off") return { enabled: false };
    return typeof value === "boolean" ? { enabled: value } : value;
  });
}

/** Rows of a section of the server as a route writes them over it: a key that is left out is null, and the server's counts. */
type LayerRows<R extends Rows> = {
  readonly [K in keyof R]: K extends "enabled" ? R[K] : Omit<R[K], "default" | "absent"> & { readonly absent: null };
};

/** The same rows for a route; `enabled` is true in a section that is there. */
export function layerRows<const R extends Rows>(rows: R): LayerRows<R> {
  const layers = Object.entries(rows).map(([key, row]) => {
    const { default: usual, absent: _, ...others } = row;
    return [key, key === "enabled" ? row : { example: usual, ...others, absent: null }];
  });
  return Object.fromEntries(layers) as LayerRows<R>;
}

/** The settings of a route: its own keys, and the server's for each that they leave out. @param own null for none */
export function layered<C extends object>(own: { readonly [K in keyof C]?: C[K] | null } | null, server: C): C {
  if (own === null) return server;
  return { ...server, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null)) };
}

/** A spot one key further down. */
export function below(spot: Spot, key: string | number): Spot {
  return { ...spot, path: [...spot.path, key] };
}

/** True when a fault was noted at a key of the section. */
export function isFaultyAt({ path, log }: Spot, key: string): boolean {
  return log.isFaulty([...path, key]);
}

/** One key of a file, at whatever depth. */
export interface KeyPlace {
  /** Its path with dots: `server.tls.client_auth`. */
  readonly path: string;
  readonly row: Row;
  /** The resolved value in the configuration of the whole; null if a section around it is off. */
  valueIn(config: object): unknown;
}

/** All keys below these rows in the order of the rows, sections before their content; entries of lists have none. */
export function keyPlaces(rows: Rows): readonly KeyPlace[] {
  return placesBelow(rows, "", (config) => config);
}

function placesBelow(rows: Rows, prefix: string, sectionIn: (config: object) => object | null): KeyPlace[] {
  return Object.entries(rows).flatMap(([key, row]) => {
    const path = prefix + key;
    const field = fieldOf(key, row);
    const valueIn = (config: object): unknown => {
      const section = sectionIn(config) as Readonly<Record<string, unknown>> | null;
      if (section === null || (key !== "enabled" && section.enabled === false)) return null;
      // A field that the block itself makes is not one row's.
      return section[field] ?? null;
    };
    const inner = "rows" in row.type ? (row.type as Block<Rows>).rows : {};
    return [{ path, row, valueIn }, ...placesBelow(inner, `${path}.`, (config) => valueIn(config) as object | null)];
  });
}

function fieldOf(key: string, row: Row): string {
  return row.field ?? camelCase(key) + row.type.unit;
}

function entryOf(row: Row): Piece<unknown> {
  if (row.required !== undefined) return must(row.type, row.required);
  if ("absent" in row) return orElse(row.type, row.absent);
  return "default" in row ? or(row.type, row.default) : row.type;
}

function resolveRow(row: Row, key: string, values: Readonly<Record<string, unknown>>, spot: Spot): unknown {
  const value = values[key];
  const isAbsent = ("absent" in row && value === row.absent) || isMissing(value);
  return row.type.resolve === undefined || isAbsent ? value : row.type.resolve(value, below(spot, key));
}

function inOrder(lines: object, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(lines).sort(([a], [b]) => keys.indexOf(a) - keys.indexOf(b)));
}

/** The name of the field that a key resolves to, but for its unit. */
export function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** The values of a section as they were read, by key. */
export type Values<R extends Rows> = { readonly [K in keyof R]: ValueAt<R[K]> };

type ValueAt<Q extends Row> =
  | (Q["type"] extends Kind<infer T, infer _R, infer _U> ? T : never)
  | (Q extends { readonly absent: infer A } ? A : never);

/** The fields that the rows of a section give, each with its unit in its name. */
export type Fields<R extends Rows> = {
  readonly [K in keyof R & string as FieldName<K, R[K]>]:
    | (R[K]["type"] extends Kind<infer _T, infer A, infer _U> ? A : never)
    | (R[K] extends { readonly absent: infer A } ? A : never);
};

type FieldName<K extends string, Q extends Row> = Q extends { readonly field: infer F extends string }
  ? F extends ""
    ? never
    : F
  : `${CamelCase<K>}${Q["type"]["unit"]}`;

/** The configuration that a block with these rows resolves to. */
type Resolved<R extends Rows, X extends object> = Omit<Fields<R>, keyof X> & Readonly<X> extends infer C
  ? { [K in keyof C]: C[K] }
  : never;

/** The configuration that a block resolves to, for naming it: `interface CacheConfig extends ConfigOf<typeof cache> {}`. */
export type ConfigOf<B> = B extends Block<infer R, infer X> ? Resolved<R, X> : never;

/** Default of a section that its presence enables. */
export const OFF = { enabled: false };
