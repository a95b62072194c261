import { readList } from "../../memory/list-file.ts";
import { TextTable } from "../../memory/text-table.ts";
import { readMapList } from "./map-list.ts";
import type { MapConfig } from "./settings.ts";

/** All keys of a map with their values, those of its file as they are now. */
export function mapEntries(map: MapConfig): readonly (readonly [string, string])[] {
  const { networks, expressions } = map;
  return [
    ...keyEntries(map),
    ...networks.map(([{ text }, value]) => [text, value] as const),
    ...expressions.map(({ regex, value }) => [regex, value] as const),
  ];
}

function keyEntries({ values, file }: MapConfig): readonly (readonly [string, string])[] {
  if (file === "") return values;
  try {
    const table = new TextTable(readList("map", file, readMapList).table);
    const lines = Array.from({ length: table.size }, (_, i) => [table.keyOf(i), table.valueOf(i)] as const);
    return [...values, ...lines];
  } catch {
    // A fault of the map itself.
    return values;
  }
}
