import { pairs, type Spot, written } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { fileName, text, textOrNumber } from "../../config/scalars.ts";
import { template } from "../../config/template-kind.ts";
import { templateOf } from "../../proto/template/template.ts";

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
  default: { type: text("a value"), absent: "", example: "none", doc: "for every other key" },
} as const satisfies Rows;

/** An entry of `maps` in routes.yaml. docs/routing.md#maps */
const entry = block(rows, {
  manual: "edge help routes",
  check({ file, values }: Values<typeof rows>, spot: Spot) {
    if (file === "" && values.length === 0 && !isFaultyAt(spot, "file") && !isFaultyAt(spot, "values"))
      spot.log.fault(spot.path, "needs values or file, such as values: {a.example.com: alpha}", true);
  },
  finish: (_, { file }, { files, path }) => ({ file: files.file([...path, "file"], file), fileName: file }),
  list: ({ file }, { of, ...lines }) => ({
    of,
    ...(file === "" ? {} : { file }),
    ...lines,
    ...("values" in lines && Object.keys(lines.values as object).length === 0 ? { values: undefined } : {}),
  }),
});

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
  const uses = new Map(maps.map(({ name, of }) => [name, mapsIn(log.isFaulty([...path, name, "of"]) ? "" : of)]));
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

function mapsIn(of: string): readonly string[] {
  return templateOf(of).uses.flatMap(({ name }) => (name.startsWith("map.") ? [name.slice(4)] : []));
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
