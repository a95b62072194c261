import type { SentPlace } from "../features/cache/key-rules.ts";
import { KeyedPath } from "../features/rewrite/path-rewrite.ts";
import { type Template, templateOf } from "../proto/template/template.ts";
import type { RouteConfig } from "./route-config.ts";

/** Placeholders whose values follow from the authority and the target of a request, which are in each key. */
const IN_EACH_KEY = /^(?:host(?:\.1)?|path|query(?:\..*)?|uri|prefix|rest|tail|route|match\.\d+)$/;

/** Where a route sends requests, for the keys of their responses; null if that follows from authority and target. docs/cache.md#the-key */
export function sentPlace(route: RouteConfig): SentPlace | null {
  const map = "targetMap" in route ? (route.targetMap?.name ?? "") : "";
  const rewrite = "rewrite" in route ? route.rewrite : null;
  const path =
    rewrite !== null && goesByMore(templateOf(rewrite.path === "" ? rewrite.to : rewrite.path))
      ? new KeyedPath(rewrite)
      : null;
  if (map === "" && path === null) return null;
  return {
    partsOf(ex) {
      const parts: string[] = [];
      if (map !== "") parts.push(`target ${ex.facts.maps?.valueOf(map, ex) ?? ""}`);
      if (path !== null) parts.push(`path ${path.of(ex)}`);
      return parts;
    },
  };
}

function goesByMore({ uses }: Template): boolean {
  return uses.some(({ name }) => !IN_EACH_KEY.test(name));
}
