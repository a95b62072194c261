import { goDuration } from "../caddy/caddy-values.ts";
import { EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { durationSetting } from "../plan.ts";
import type { Statement } from "../statement.ts";

/** What services are read with. */
export interface TraefikServices {
  readonly ledger: Ledger;
  readonly named: ReadonlyMap<string, Statement>;
  readonly transports: ReadonlyMap<string, Statement>;
}

interface Target {
  url: string;
  weight?: number;
  backup?: true;
}

/** A key of a section; null if it is not there. */
export function child(statement: Statement | null | undefined, name: string): Statement | null {
  return (statement?.block ?? []).find((one) => one.name === name) ?? null;
}

/** Reads a service into the keys of a route; null if it has no servers that can be named. @param depth of services within services */
export function serviceKeys(name: string, services: TraefikServices, depth = 0): Keys | null {
  const statement = services.named.get(name.replace(/@\w+$/, ""));
  if (statement === undefined || depth > 8) return null;
  const { ledger } = services;
  ledger.carry(statement);
  EFFORT.take(STEPS_A_DIRECTIVE);
  const balancer = child(statement, "loadBalancer");
  if (balancer !== null) return balancerKeys(balancer, services);
  const weighted = child(statement, "weighted");
  if (weighted !== null) return weightedKeys(weighted, services, depth);
  const mirroring = child(statement, "mirroring");
  if (mirroring !== null) return mirroringKeys(mirroring, services, depth);
  const failover = child(statement, "failover");
  if (failover !== null) return failoverKeys(failover, services, depth);
  return null;
}

function balancerKeys(balancer: Statement, { ledger, transports }: TraefikServices): Keys | null {
  const keys: Keys = { type: "upstream" };
  const servers = child(balancer, "servers");
  ledger.carry(balancer, servers);
  const targets = (servers?.block ?? []).flatMap((one): Target[] => {
    const url = child(one, "url") ?? child(one, "address");
    if (url === null) return [];
    ledger.carry(one, url);
    const weight = child(one, "weight");
    ledger.carry(weight);
    EFFORT.take(STEPS_A_DIRECTIVE);
    const text = url.args[0] ?? "";
    return [{ url: text.replace(/(\w)\/$/, "$1"), ...(weight === null ? {} : { weight: Number(weight.args[0]) }) }];
  });
  if (targets.length === 0) return null;
  const [only] = targets;
  if (targets.length === 1 && only!.weight === undefined) keys.target = only!.url;
  else keys.targets = targets;
  const passes = child(balancer, "passHostHeader");
  if (passes?.args[0] === "false") keys.preserve_host = false;
  ledger.carry(passes);
  health(child(balancer, "healthCheck"), keys, ledger);
  const sticky = child(child(balancer, "sticky"), "cookie");
  if (sticky !== null) {
    const name = child(sticky, "name");
    if (keys.targets !== undefined)
      keys.load_balancing = { policy: "sticky", cookie: { name: name?.args[0] ?? "edge_node" } };
    ledger.carry(child(balancer, "sticky"), sticky, name);
  }
  transport(child(balancer, "serversTransport"), keys, { ledger, transports });
  return keys;
}

function health(check: Statement | null, keys: Keys, ledger: Ledger): void {
  if (check === null) return;
  const to: Keys = {};
  for (const one of check.block ?? []) {
    const [first = ""] = one.args;
    const ms = goDuration(/^\d+$/.test(first) ? `${first}s` : first);
    if (one.name === "path") to.path = first.split("?", 1)[0];
    else if (one.name === "interval" && ms !== null) to.interval = durationSetting(ms);
    else if (one.name === "timeout" && ms !== null) to.timeout = durationSetting(ms);
    else if (one.name === "status") to.expect_status = Number(first);
    else continue;
    ledger.carry(one);
  }
  if (to.path !== undefined) keys.health_check = to;
  ledger.carry(check);
}

function transport(named: Statement | null, keys: Keys, { ledger, transports }: Omit<TraefikServices, "named">): void {
  if (named === null) return;
  ledger.carry(named);
  const statement = transports.get((named.args[0] ?? "").replace(/@\w+$/, ""));
  if (statement === undefined) return;
  ledger.carry(statement);
  for (const one of statement.block ?? []) {
    const [first = ""] = one.args;
    if (one.name === "insecureSkipVerify") {
      if (first === "true") sectionAt(keys, "tls").insecure_skip_verify = true;
    } else if (one.name === "serverName") sectionAt(keys, "tls").server_name = first;
    else if (one.name === "rootCAs" && one.args.length === 1) sectionAt(keys, "tls").ca_file = first;
    else if (one.name === "forwardingTimeouts") {
      for (const time of one.block ?? []) {
        const ms = goDuration(/^\d+$/.test(time.args[0] ?? "") ? `${time.args[0]}s` : (time.args[0] ?? ""));
        const key = { dialTimeout: "connect", responseHeaderTimeout: "response_header" }[time.name];
        if (key === undefined || ms === null) continue;
        if (ms > 0) sectionAt(keys, "timeouts")[key] = durationSetting(ms);
        ledger.carry(time);
      }
    } else continue;
    ledger.carry(one);
  }
}

/** The targets of the keys of a service. */
function targetsOf(keys: Keys): Target[] {
  return keys.targets === undefined
    ? [{ url: String(keys.target) }]
    : (keys.targets as Target[]).map((one) => ({ ...one }));
}

function weightedKeys(weighted: Statement, services: TraefikServices, depth: number): Keys | null {
  const { ledger } = services;
  const list = child(weighted, "services");
  ledger.carry(weighted, list);
  const targets: Target[] = [];
  let first: Keys | null = null;
  for (const one of list?.block ?? []) {
    const name = child(one, "name");
    const weight = child(one, "weight");
    const keys = name === null ? null : serviceKeys(name.args[0] ?? "", services, depth + 1);
    if (keys === null) {
      ledger.note(one, "the service is not there, or has no servers", "write its targets");
      continue;
    }
    ledger.carry(one, name, weight);
    first ??= keys;
    const own = targetsOf(keys);
    const share = Number(weight?.args[0] ?? 1);
    // The weight is the service's: its servers divide it.
    if (share > 0)
      for (const target of own)
        targets.push({ ...target, weight: Math.max(1, Math.round((share * 100) / own.length)) });
  }
  if (first === null || targets.length === 0) return null;
  const { target: _one, ...rest } = first;
  const smallest = targets.reduce((a, { weight }) => gcd(a, weight!), 0) || 1;
  return { ...rest, targets: targets.map((one) => ({ ...one, weight: one.weight! / smallest })) };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

function mirroringKeys(mirroring: Statement, services: TraefikServices, depth: number): Keys | null {
  const { ledger } = services;
  const main = child(mirroring, "service");
  const keys = serviceKeys(main?.args[0] ?? "", services, depth + 1);
  const mirrors = child(mirroring, "mirrors");
  ledger.carry(mirroring, main, mirrors);
  if (keys === null) return null;
  const made: Keys[] = [];
  for (const one of mirrors?.block ?? []) {
    const name = child(one, "name");
    const percent = child(one, "percent");
    const copy = serviceKeys(name?.args[0] ?? "", services, depth + 1);
    if (copy === null) ledger.noteWhole(one, "its service is not converted", "write mirror at the route");
    else {
      made.push({ target: targetsOf(copy)[0]!.url, share: `${percent?.args[0] ?? 0}%` });
      ledger.carry(one, name, percent);
    }
  }
  if (made.length > 0) Object.assign(keys, made.length === 1 ? { mirror: made[0] } : { mirrors: made });
  return keys;
}

function failoverKeys(failover: Statement, services: TraefikServices, depth: number): Keys | null {
  const main = child(failover, "service");
  const fallback = child(failover, "fallback");
  services.ledger.carry(failover, main, fallback);
  const keys = serviceKeys(main?.args[0] ?? "", services, depth + 1);
  const second = serviceKeys(fallback?.args[0] ?? "", services, depth + 1);
  if (keys === null || second === null) return keys ?? second;
  const { target: _one, ...rest } = keys;
  return {
    ...rest,
    targets: [...targetsOf(keys), ...targetsOf(second).map((one) => ({ ...one, backup: true as const }))],
  };
}
