import type { Exchange } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestHost } from "../../message/request-host.ts";

/**
 * The text that a group of an expression found in the path, percent-encoded: of `rewrite.regex` where that fits, else of the route's `regex`,
 * which is compared when a value is first asked for.
 */
export function capturedGroup(ex: Exchange, group: number): string {
  keepGroups(ex);
  return ex.captures?.[group] ?? "";
}

/** Finds the groups of the route's `regex` now: for a step that changes the path they are found in. */
export function keepGroups(ex: Exchange): void {
  ex.captures ??= ex.route?.init.match?.groupsOf(ex.request) ?? null;
}

/** The part of the host that the star of the route's most specific pattern stands for; "" if the route has its name without a star. */
export function hostWildcard(request: RequestHead, hosts: readonly string[]): string {
  const host = requestHost(request);
  let suffix = "";
  for (const one of hosts) {
    const isPattern = one.startsWith("*.");
    // A client may send the pattern itself as its Host: the star then stands for a star.
    if (one === host && !isPattern) return "";
    if (isPattern && host.endsWith(one.slice(1)) && one.length > suffix.length) suffix = one;
  }
  return suffix === "" ? "" : host.slice(0, host.length - suffix.length + 1);
}
