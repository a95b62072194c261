import type { KeyPath } from "./config-fault.ts";
import { quote } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { isToken } from "./http-syntax.ts";
import type { HeaderEdits, HeaderOperations, HeaderValue } from "./route-config.ts";

/** `set`, `add` and `remove` of one direction, as the schema gives them. */
interface EditValues {
  readonly set: readonly (readonly [string, readonly string[]])[];
  readonly add: readonly (readonly [string, readonly string[]])[];
  readonly remove: readonly string[];
}

/** A route's `headers:`: checks the names and brings the values into one list each. docs/upstreams.md#header-edits */
export function resolveHeaders(
  values: { readonly request: EditValues; readonly response: EditValues },
  path: KeyPath,
  log: FaultLog,
): HeaderOperations {
  return {
    request: resolveEdits(values.request, [...path, "request"], true, log),
    response: resolveEdits(values.response, [...path, "response"], false, log),
  };
}

function resolveEdits(values: EditValues, path: KeyPath, isRequest: boolean, log: FaultLog): HeaderEdits {
  for (const [i, name] of values.remove.entries()) checkName(name, [...path, "remove", i], isRequest, false, log);
  return {
    set: resolvePairs(values.set, [...path, "set"], isRequest, log),
    add: resolvePairs(values.add, [...path, "add"], isRequest, log),
    remove: values.remove.map((name) => name.toLowerCase()),
  };
}

function resolvePairs(values: EditValues["set"], path: KeyPath, isRequest: boolean, log: FaultLog): HeaderValue[] {
  return values.flatMap(([name, list]) => {
    checkName(name, [...path, name], isRequest, true, log);
    for (const value of list) {
      if (VARIABLE.test(value)) log.warn([...path, name], "is sent as it stands: there are no variables in values");
    }
    return list.map((value) => ({ name, value }));
  });
}

function checkName(name: string, path: KeyPath, isRequest: boolean, onKey: boolean, log: FaultLog): void {
  const lower = name.toLowerCase();
  if (!isToken(name)) log.fault(path, `expected a header name such as X-Team, found ${quote(name)}`, onKey);
  else if (HOP_BY_HOP.has(lower))
    log.fault(path, "belongs to one connection: the gateway sets it itself; remove it", onKey);
  else if (lower === "content-length")
    log.fault(path, "follows from the body: the gateway sets it itself; remove it", onKey);
  // The response echoes it, and may leave it out. docs/upstreams.md#fields-that-are-sent
  else if (lower === "x-request-id" && !isRequest && onKey)
    log.fault(path, "echoes the id that the access log has: remove it here, or list it under response.remove", onKey);
  else if (lower === "host" && isRequest)
    log.fault(path, "follows preserve_host: set that to false to send the target's own name", onKey);
}

/** `$remote_addr` of nginx, `{http.request.host}` of Caddy, `%[src]` of HAProxy. */
const VARIABLE = /(?<!\w)\$[a-z]\w+|\{[a-z_]+(\.[\w-]+)*\}|%\[/i;

/** RFC 9110 §7.6.1, docs/upstreams.md#fields-that-are-sent */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "trailers",
  "transfer-encoding",
  "upgrade",
]);
