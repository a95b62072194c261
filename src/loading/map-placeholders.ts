import { didYouMean } from "../config/nearest-name.ts";
import { hasOpenValues, type MapConfig } from "../features/maps/settings.ts";
import type { WrittenPlace } from "./empty-placeholders.ts";

/**
 * Notes placeholders of maps that routes.yaml does not have, and those in the server's name of a redirect whose values a request could
 * choose. docs/routing.md#maps
 */
export function noteUnknownMaps(maps: readonly MapConfig[], places: readonly (WrittenPlace | null)[]): void {
  const names = maps.map(({ name }) => name);
  const open = new Set(maps.filter((map) => hasOpenValues(map)).map(({ name }) => name));
  for (const place of places) if (place !== null) look(place, names, open);
}

function look({ value, path, log }: WrittenPlace, names: readonly string[], open: ReadonlySet<string>): void {
  if (typeof value === "string") {
    const server = path.at(-1) === "to" ? (/^\w+:\/\/[^/?#]*/.exec(value)?.[0] ?? "") : "";
    for (const [, name = ""] of server.matchAll(USES))
      if (open.has(name))
        log.fault(path, `values of {map.${name}} have placeholders: a request could say where clients go`);
    for (const [, name] of value.matchAll(USES)) {
      if (name === undefined || names.includes(name)) continue;
      log.fault(
        path,
        `unknown placeholder {map.${name}}: maps of routes.yaml has no ${name}${didYouMean(name, names)}`,
      );
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value))
      look({ value: inner, path: [...path, Array.isArray(value) ? Number(key) : key], log }, names, open);
  }
}

/** Two braces are a brace. */
const USES = /\{\{|\{map\.([A-Za-z0-9_-]+)\}/g;
