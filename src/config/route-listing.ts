import { isSecretName, MASK } from "../core/secret-name.ts";
import { formatDuration } from "./duration.ts";
import { ipRules, rateLimit } from "./policy-settings.ts";
import type { HeaderEdits, RouteBase } from "./route-config.ts";
import type { RouteSyntaxes } from "./route-syntax.ts";
import { formatSize } from "./size.ts";

/** One route as routes.yaml would state it, every inherited value written out. */
export function listRoute(route: RouteBase, types: RouteSyntaxes): object {
  return {
    type: route.type,
    ...(route.path === "" ? { prefix: route.prefix } : { path: route.path }),
    host: route.hosts,
    ...types[route.type]!.list(route),
    inbound_chunked_mode: route.inboundChunkedMode,
    max_body_bytes: formatSize(route.maxBodyBytes),
    cache: { enabled: route.cache.enabled, default_ttl: formatDuration(route.cache.defaultTtlMs) },
    // The server's own limit is stated once, there: here it would become a second one.
    ...(route.rateLimit.scope === "route" ? { rate_limit: rateLimit.write(route.rateLimit) } : {}),
    ip_rules: ipRules.write(route.ipRules),
    headers: { request: listEdits(route.headers.request), response: listEdits(route.headers.response) },
  };
}

function listEdits(edits: HeaderEdits): object {
  return { set: listValues(edits.set), add: listValues(edits.add), remove: edits.remove };
}

function listValues(values: HeaderEdits["set"]): object {
  const byName = Map.groupBy(values, ({ name }) => name);
  const shown = [...byName].map(([name, all]) => [name, all.map(({ value }) => (isSecretName(name) ? MASK : value))]);
  return Object.fromEntries(shown);
}
