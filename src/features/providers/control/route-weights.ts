import { isAlias, isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import { strictYaml } from "../../../config/yaml-document.ts";

/** A route as JSON would have it; null for a text that is no map. */
export function routeAsJson(text: string): Readonly<Record<string, unknown>> | null {
  const document = strictYaml(text);
  const value: unknown = document.errors.length > 0 ? null : document.toJS();
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return typeof one === "object" && one !== null && !Array.isArray(one) ? { ...one } : null;
}

/**
 * A route with other weights of its targets; comments stay.
 * @returns the text, or why there is none
 */
export function withWeights(
  text: string,
  weights: Readonly<Record<string, unknown>>,
): { readonly text: string } | string {
  const document = strictYaml(text);
  const top = document.contents;
  const route = isSeq(top) ? top.items[0] : top;
  const targets = isMap(route) ? route.get("targets", true) : null;
  if (!isSeq(targets)) return "this route has no list of targets";
  const entries = targets.items.map((item, i) => {
    const plain = isAlias(item) ? document.createNode(item.toJS(document)) : item;
    const map = isScalar(plain) ? document.createNode({ url: plain.value }) : plain;
    targets.items[i] = map;
    return map as YAMLMap;
  });
  for (const [url, weight] of Object.entries(weights)) {
    const found = entries.filter((entry) => isMap(entry) && plainUrl(entry.get("url")) === plainUrl(url));
    if (found.length === 0) return `${url} is no target of this route`;
    if (typeof weight !== "number" || !Number.isInteger(weight) || weight < 0)
      return `${url}: expected a whole number of at least 0 as its weight`;
    for (const entry of found) entry.set("weight", weight);
  }
  if (entries.every((entry) => isMap(entry) && entry.get("weight") === 0))
    return "every weight would be 0: no target would be left";
  return { text: document.toString({ lineWidth: 0 }) };
}

/** A slash at the end of an address says nothing. */
function plainUrl(url: unknown): string {
  return String(url).replace(/\/$/, "");
}
