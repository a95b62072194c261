import { bytes, counted, numberText, percentText } from "../../../core/number-text.ts";
import type { LiveState } from "../live-state.ts";
import { byId, h, say, set } from "./dom.ts";
import { type Model, total } from "./model.ts";

/** What the cache did, as a bar with its parts in words. */
export class CacheView {
  private readonly bar = h("div", { class: "mix tall", role: "img" });
  private readonly facts = h("dl", { class: "facts" });

  show({ cache }: LiveState, model: Model): void {
    const place = byId("cache");
    if (cache === null) {
      if (place.firstElementChild?.className !== "empty")
        place.replaceChildren(h("p", { class: "empty" }, "The cache is off."));
      return;
    }
    if (!this.bar.isConnected) place.replaceChildren(this.bar, this.facts);
    const parts = CACHE_PARTS.map(
      ([name, style, results]) => [name, style, total(results.map((one) => cache.results[one] ?? 0))] as const,
    );
    mix(
      this.bar,
      parts.map(([, style, value]) => [style, value]),
      `Lookups since the start: ${parts.map(([name, , value]) => `${name} ${numberText(value)}`).join(", ")}`,
    );
    const used = cache.maxBytes === 0 ? 0 : cache.bytes / cache.maxBytes;
    const rows: [string, string][] = [
      ["Hit ratio, last seconds", percentText(hitRatio(model))],
      ...parts.map(([name, , value]): [string, string] => [name, numberText(value)]),
      [
        "Stored",
        `${counted(cache.entries, "response")}, ${bytes(cache.bytes)} of ${bytes(cache.maxBytes)} (${percentText(used)})`,
      ],
      ["Evicted", numberText(cache.evictions)],
    ];
    if (this.facts.childElementCount !== rows.length * 2) {
      this.facts.replaceChildren(...rows.flatMap(([name]) => [h("dt", {}, name), h("dd")]));
    }
    rows.forEach(([, value], i) => void say(this.facts.children[i * 2 + 1]!, value));
  }
}

/** The share of lookups in the last seconds that were answered from the cache; NaN without lookups. */
export function hitRatio(model: Model): number {
  const rate = (names: readonly string[]) =>
    model.rateOf(({ cache }) => total(names.map((name) => cache?.results[name] ?? 0)));
  const [hits, misses] = [
    rate(["hit", "stale", "revalidated", "collapsed"]),
    rate(["miss", "expired", "bypass", "refresh"]),
  ];
  return hits / (hits + misses);
}

const CACHE_PARTS = [
  ["Hits", "c2", ["hit"]],
  ["Stale, revalidated or collapsed", "c3", ["stale", "revalidated", "collapsed"]],
  ["Misses", "c4", ["miss", "expired", "refresh"]],
  ["Not looked up", "c0", ["bypass", "method"]],
] as const;

/** A bar whose parts are as long as their shares. */
export function mix(
  bar: HTMLElement,
  parts: readonly (readonly [style: string, value: number])[],
  words: string,
): void {
  const all = total(parts.map(([, value]) => value));
  if (bar.childElementCount !== parts.length) bar.replaceChildren(...parts.map(([style]) => h("i", { class: style })));
  parts.forEach(([, value], i) => {
    (bar.children[i] as HTMLElement).style.flexGrow = String(all === 0 ? 0 : value / all);
  });
  set(bar, "aria-label", words);
  bar.title = words;
}
