import { quote } from "../../config/config-fault.ts";
import { originOf, originUrl, parseOrigin, type TargetConfig } from "../../config/origin.ts";
import type { Spot } from "../../config/piece.ts";
import type { TargetMap } from "../../features/balance/mapped-target.ts";
import { mapEntries } from "../../features/maps/map-entries.ts";
import { routeSpot } from "../route-spot.ts";

/** The targets that the values of a map name; null if `target` names no map. docs/routing.md#maps */
export function targetMapOf(
  written: string,
  isListed: boolean,
  spot: Spot,
): { readonly map: TargetMap; readonly targets: readonly TargetConfig[] } | null {
  const name = /^\{map\.([\w-]+)\}$/.exec(written.trim())?.[1];
  if (name === undefined) return null;
  const { maps, log, path } = routeSpot(spot);
  const at = [...path, "target"];
  if (isListed) log.fault(at, "a route has either target (one server) or targets (a list): remove one", true);
  const map = maps.find((one) => one.name === name);
  const targets: TargetConfig[] = [];
  const places = new Map<string, number>();
  const urls = new Map<string, number>();
  const placeOf = (value: string, what: string): number => {
    const origin = parseOrigin(value, (socket) => spot.files.absolute(socket), true);
    if (typeof origin === "string") {
      log.fault(at, `{map.${name}} has ${what} that is no target: ${origin}`);
      return 0;
    }
    const url = originUrl(origin);
    const place = urls.get(url) ?? targets.push({ ...origin, url, weight: 1, backup: false, name: "" }) - 1;
    urls.set(url, place);
    return place;
  };
  if (map === undefined) {
    log.fault(at, `unknown placeholder {map.${name}}: maps of routes.yaml has no ${name}`);
    return {
      map: { name, places: [], whenNone: 0 },
      targets: [{ ...originOf("http", "", 0, ""), url: "", weight: 1, backup: false, name: "" }],
    };
  }
  if (map.default === "") log.fault(at, `{map.${name}} needs a default, the target of every other key`);
  const whenNone = map.default === "" ? 0 : placeOf(map.default, "a default");
  for (const [key, value] of mapEntries(map)) {
    if (!places.has(value)) places.set(value, placeOf(value, `a value (of ${quote(key)})`));
  }
  if (targets.length === 0)
    targets.push({ ...originOf("http", "", 0, ""), url: "", weight: 1, backup: false, name: "" });
  return { map: { name, places: [...places], whenNone }, targets };
}
