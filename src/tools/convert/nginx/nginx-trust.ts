import { refuseRule } from "../access.ts";
import { networkFrom } from "../networks.ts";
import { hasType, type Plan, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Listening } from "./nginx-listeners.ts";
import type { Scope } from "./nginx-scope.ts";

/** Where the client's address is from. */
interface Trust {
  /** The connection, X-Forwarded-For, a PROXY header, or something that the gateway does not read. */
  readonly kind: "peer" | "forwarded" | "proxy" | "unknown";
  readonly networks: readonly string[];
}

/** What all servers that are served say about the client's address; null if they differ, or say what the gateway does not read. */
export type CommonTrust = Trust | null;

/** Puts what all servers say about the client's address into config.yaml. */
export function convertTrust(plan: Plan, served: readonly Listening[]): CommonTrust {
  const { server } = plan.config;
  const { ledger } = plan;
  const all = served.map(({ scope, listens }) => trustOf(scope, listens.every(isByProxy)));
  const [first] = all;
  const isCommon = first !== undefined && all.every((one) => keyOf(one) === keyOf(first)) && first.kind !== "unknown";
  const statements = new Set(served.flatMap(({ scope }) => statementsOf(scope)));
  for (const one of statements)
    if (isCommon) ledger.carry(one);
    else
      ledger.note(
        one,
        "the client's address is read from X-Forwarded-For of the same proxies for all servers, or from PROXY headers: rules about addresses are closed if it would be another one",
        "set server.trusted_proxies, and let the proxy in front send X-Forwarded-For",
      );
  const senders = isCommon && first.kind === "proxy" ? [] : sendersOf(served);
  if (senders.length > 0) {
    // Requests come behind PROXY headers. Rules about addresses that nginx takes from the connection close their routes.
    server.proxy_protocol = { enabled: true, trusted: senders };
    return { kind: "proxy", networks: senders };
  }
  if (!isCommon) return null;
  if (first.kind === "forwarded") server.trusted_proxies = [...first.networks];
  if (first.kind === "proxy") server.proxy_protocol = { enabled: true, trusted: [...first.networks] };
  if (first.kind === "forwarded" && served.some(({ scope }) => scope.one("real_ip_recursive")?.args[0] !== "on"))
    for (const one of statements)
      if (one.name === "real_ip_header")
        ledger.note(
          one,
          "the last address of X-Forwarded-For that is none of the proxies counts, as with real_ip_recursive",
          "nothing, if you name the proxies alone and not with their clients",
        );
  return first;
}

/** Who sends PROXY headers, if all connections begin with one: what any block says of proxies; empty if none does. */
function sendersOf(served: readonly Listening[]): string[] {
  if (served.length === 0 || !served.every(({ listens }) => listens.length > 0 && listens.every(isByProxy))) return [];
  const words = served.flatMap(({ scope }) =>
    [scope, ...insideOf(scope)].flatMap((one) => one.inherited("set_real_ip_from").map(({ args }) => args[0] ?? "")),
  );
  const networks = [...new Set(words.map(networkFrom))].sort();
  return networks.every((one) => one === "unix:" || /^[\d.:a-f]+(\/\d+)?$/i.test(one)) ? networks : [];
}

/** Closes what goes by the client's address where the server has another one than the gateway. */
export function closeByTrust(
  { ledger }: Plan,
  { scope, listens }: Listening,
  rules: readonly Rule[],
  common: CommonTrust,
): void {
  const wanted = common ?? { kind: "peer", networks: [] };
  const own = [scope, ...insideOf(scope)].map((one) => trustOf(one, listens.every(isByProxy)));
  if (own.every((one) => keyOf(one) === keyOf(wanted as Trust))) return;
  for (const one of insideOf(scope).flatMap((inner) => inner.here("set_real_ip_from", "real_ip_header")))
    ledger.note(
      one,
      "the client's address is the same for all paths: rules about addresses are closed",
      "set it at the server",
    );
  // Who fits is not known: neither the routes of these clients nor those of the others may be open.
  const isByMatch = rules.some(({ match }) => match.client_ip !== undefined);
  for (const rule of rules) {
    if (hasType(rule.keys, "respond") && Number(rule.keys.status) >= 400) continue;
    if (isByMatch || rule.keys.ip_rules !== undefined) refuseRule(rule);
  }
}

/** Locations that say something of their own about the client's address. */
function insideOf(scope: Scope): Scope[] {
  return scope.here("location").flatMap((one) => {
    const inner = scope.inner(one);
    const isOwn = inner.here("set_real_ip_from", "real_ip_header").length > 0;
    return [...(isOwn ? [inner] : []), ...insideOf(inner)];
  });
}

/** @param isAllByProxy whether all connections begin with a PROXY header */
function trustOf(scope: Scope, isAllByProxy: boolean): Trust {
  const words = scope.inherited("set_real_ip_from").map(({ args }) => args[0] ?? "");
  if (words.length === 0) return { kind: "peer", networks: [] };
  // nginx reads another field than most people think if none is named.
  const field = (scope.one("real_ip_header")?.args[0] ?? "X-Real-IP").toLowerCase();
  const networks = [...new Set(words.filter((word) => word !== "unix:").map(networkFrom))].sort();
  const isPlain = networks.every((one) => /^[\d.:a-f]+(\/\d+)?$/i.test(one));
  if (isPlain && field === "x-forwarded-for") return { kind: "forwarded", networks };
  return { kind: isPlain && field === "proxy_protocol" && isAllByProxy ? "proxy" : "unknown", networks };
}

function isByProxy({ statement }: Listening["listens"][number]): boolean {
  return statement?.args.includes("proxy_protocol") === true;
}

function statementsOf(scope: Scope): Statement[] {
  return ["set_real_ip_from", "real_ip_header", "real_ip_recursive"].flatMap((name) => [...scope.inherited(name)]);
}

function keyOf({ kind, networks }: Trust): string {
  return JSON.stringify([kind, networks]);
}
