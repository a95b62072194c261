import { type Cidr, parseCidr } from "../../config/cidr.ts";
import type { KeyPath } from "../../config/config-fault.ts";
import { expression } from "../../config/expression-kind.ts";
import { list, pairs, type Spot, written } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { fileName, flag, text, textOrNumber } from "../../config/scalars.ts";
import { template, templateFault } from "../../config/template-kind.ts";
import { templateOf } from "../../proto/template/template.ts";

/** Expressions of one map, which a key that has no value of its own is compared with in turn. */
const MAX_MAP_EXPRESSIONS = 100;

/** An entry of `expressions`. */
const pattern = block({
  regex: {
    type: expression(),
    required: "an expression such as ^/old/",
    example: "^www\\.",
    doc: "compared with the key",
  },
  value: { type: textOrNumber("a value"), required: "a value", example: "site", doc: "if it fits" },
} as const satisfies Rows);

const rows = {
  of: {
    type: template("a text with placeholders, such as {host}"),
    required: "a text with placeholders whose value is the key, such as {host}",
    example: "{host}",
    doc: "its value is the key",
  },
  file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./tenants.csv",
    doc: "lines of key,value; taken up when the file is replaced",
  },
  values: {
    type: written(pairs(textOrNumber("a value"), "key: value"), (all) => all),
    example: { "a.example.com": "alpha" },
    doc: "or here; these come before lines of the file",
  },
  any_case: { type: flag(), absent: false, doc: "letter case of keys does not count; lines of file are in lower case" },
  networks: {
    type: written(pairs(textOrNumber("a value"), "network: value"), (all) => all),
    example: { "10.0.0.0/8": "office" },
    doc: "for keys that are addresses, after values and file; the narrowest one counts",
  },
  expressions: {
    type: list(pattern, "expressions"),
    example: [{ regex: "^www\\.", value: "site" }],
    doc: "after these; the first that fits",
  },
  default: { type: text("a value"), absent: "", example: "none", doc: "for every other key" },
} as const satisfies Rows;

/** An entry of `maps` in routes.yaml. docs/routing.md#maps */
const entry = block(rows, {
  manual: "edge help routes",
  check(entries: Values<typeof rows>, spot: Spot) {
    const { file, values, networks, expressions } = entries;
    const { log, path } = spot;
    for (const [at, value] of writtenValues(entries)) {
      const fault = templateFault(value);
      if (fault !== "") log.fault([...path, ...at], fault);
    }
    const isEmpty = file === "" && [values, networks, expressions].every(({ length }) => length === 0);
    if (isEmpty && !["file", "values", "networks", "expressions"].some((key) => isFaultyAt(spot, key)))
      log.fault(path, "needs values or file, such as values: {a.example.com: alpha}", true);
    for (const [network] of networks) {
      const found = parseCidr(network);
      if (typeof found === "string") log.fault([...path, "networks", network], found, true);
    }
    if (expressions.length > MAX_MAP_EXPRESSIONS)
      log.fault([...path, "expressions"], `has more than ${MAX_MAP_EXPRESSIONS}: use values, or a file`);
  },
  finish: (_, { file, networks }, { files, path }) => ({
    file: files.file([...path, "file"], file),
    fileName: file,
    networks: networks.flatMap(([text, value]): [Cidr, string][] => {
      const network = parseCidr(text);
      return typeof network === "string" ? [] : [[network, value]];
    }),
  }),
  list: ({ file, networks }, { of, ...lines }) => ({
    of,
    ...(file === "" ? {} : { file }),
    ...lines,
    ...("values" in lines && Object.keys(lines.values as object).length === 0 ? { values: undefined } : {}),
    ...(networks.length === 0
      ? { networks: undefined }
      : { networks: Object.fromEntries(networks.map(([network, value]) => [network.text, value])) }),
  }),
});

/** All values, which are texts with placeholders, with their places. */
function writtenValues({
  values,
  networks,
  expressions,
  default: whenNone,
}: Values<typeof rows>): readonly (readonly [KeyPath, string])[] {
  return [
    ...values.map(([key, value]) => [["values", key], value] as const),
    ...networks.map(([network, value]) => [["networks", network], value] as const),
    ...expressions.map(({ value }, i) => [["expressions", i, "value"], value] as const),
    [["default"], whenNone],
  ];
}

/** The key `maps` of routes.yaml. */
export const routeMaps = pairs(entry, "name: section");

/** A map with its name. */
export interface MapConfig {
  readonly name: string;
  /** A template, whose value is the key. */
  readonly of: string;
  /** Absolute path; "" without a file. */
  readonly file: string;
  readonly fileName: string;
  readonly values: [string, string][];
  /** Whether the letter case of keys does not count. */
  readonly anyCase: boolean;
  readonly networks: [Cidr, string][];
  readonly expressions: readonly { readonly regex: string; readonly value: string }[];
  readonly default: string;
}

/** Resolves the maps of routes.yaml, and notes names that no placeholder can have and maps that lead round. @param around at the key */
export function resolveMaps(
  all: readonly (readonly [string, Values<typeof rows>])[],
  around: Spot,
): readonly MapConfig[] {
  const { log, path } = around;
  const maps = all.map(([name, values]): MapConfig => {
    const at = [...path, name];
    if (!MAP_NAME.test(name)) log.fault(at, "expected a name of letters, digits, - and _, such as tenant", true);
    return { ...entry.resolve(values, { ...around, path: at }), name };
  });
  const uses = new Map(
    maps.map((map) => [map.name, log.isFaulty([...path, map.name]) ? [] : [map.of, ...valuesOf(map)].flatMap(mapsIn)]),
  );
  for (const { name } of maps) {
    const way = wayRound(name, uses);
    if (way !== null) log.fault([...path, name, "of"], `leads round: ${way.join(" → ")}`);
  }
  return maps;
}

/** A map as a file says it. */
export function writeMap(map: MapConfig): object {
  return entry.write(map);
}

/** All values of a map, but for the lines of its file. */
function valuesOf({ values, networks, expressions, default: whenNone }: MapConfig): readonly string[] {
  const all = [...values, ...networks].map(([, value]) => value);
  return [...all, ...expressions.map(({ value }) => value), whenNone];
}

/** Whether a request says a part of a value. */
export function hasOpenValues(map: MapConfig): boolean {
  return valuesOf(map).some((value) => !templateOf(value).isLiteral);
}

function mapsIn(text: string): readonly string[] {
  return templateOf(text).uses.flatMap(({ name }) => (name.startsWith("map.") ? [name.slice(4)] : []));
}

/** The way from a map back to itself; null if there is none. */
function wayRound(start: string, uses: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const seen = new Set<string>();
  const from = (name: string, way: readonly string[]): readonly string[] | null => {
    for (const next of uses.get(name) ?? []) {
      if (next === start) return [...way, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = from(next, [...way, next]);
      if (found !== null) return found;
    }
    return null;
  };
  return from(start, [start]);
}

const MAP_NAME = /^[A-Za-z0-9_-]{1,64}$/;
