import type { Keys } from "../keys.ts";
import { durationSetting, type Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTime } from "./nginx-values.ts";

/** Makes streams of the servers in `stream` blocks. docs/migrate-nginx.md#streams */
export function convertStreams(plan: Plan, main: Scope): void {
  for (const block of main.here("stream")) {
    const scope = main.inner(block);
    for (const server of scope.here("server")) convertServer(plan, scope, scope.inner(server));
  }
}

function convertServer(plan: Plan, stream: Scope, server: Scope): void {
  const { ledger } = plan;
  const origin = server.statement!;
  const listens = server.here("listen");
  const pass = server.here("proxy_pass").at(-1);
  if (pass === undefined || listens.length === 0) return;
  if (
    listens.some(({ args }) => args.includes("ssl")) ||
    server.inherited("proxy_ssl").some(({ args }) => args[0] === "on")
  ) {
    ledger.noteWhole(
      origin,
      "streams speak no TLS themselves",
      "end TLS at the target, or pass it through: docs/streams.md",
    );
    return;
  }
  const rules = accessOf(server);
  if (rules === null) {
    ledger.noteWhole(
      origin,
      "allow and deny in this order have no counterpart: without them every client could come in",
      "write the stream with ip_rules: docs/streams.md#limits",
    );
    return;
  }
  const isDatagram = listens.some(({ args }) => args.includes("udp"));
  const keys = { ...timesOf(server, isDatagram), ...rules };
  const variable = /^\$(\w+)$/.exec(pass.args[0] ?? "")?.[1];
  const isNamed = variable !== undefined && server.isOn("ssl_preread");
  const streams = isNamed
    ? passedNames(plan, stream, pass, variable)
    : [{ type: isDatagram ? "udp" : "tcp", listen: listens.map(({ args }) => addressOf(args[0] ?? "")) }];
  for (const place of streams) {
    const target = "target" in place ? String(place.target) : (pass.args[0] ?? "");
    if (target.includes("$")) return;
    const { target: _, ...where } = place as Keys;
    const balanced = targetsOf(stream, target);
    plan.streams.push({ origin, keys: { ...where, ...balanced, ...acceptOf(listens, isNamed), ...keys } });
  }
  if (streams.length > 0) ledger.carry(origin, pass, ...listens);
}

/** The names of a `map` of $ssl_preread_server_name, each with the group that it leads to. */
function passedNames(plan: Plan, stream: Scope, pass: Statement, variable: string): Keys[] {
  const { ledger } = plan;
  const map = stream
    .here("map")
    .find(({ args }) => args[0] === "$ssl_preread_server_name" && args[1] === `$${variable}`);
  if (map === undefined) return [];
  const byTarget = new Map<string, string[]>();
  for (const row of map.block ?? []) {
    const target = row.args[0] ?? "";
    if (row.name === "hostnames") ledger.carry(row);
    else if (row.name === "default")
      ledger.note(row, "TLS for all other names ends at the gateway", "name them in hosts of a pass-through");
    else if (/^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(row.name) && target !== "") {
      byTarget.set(target, [...(byTarget.get(target) ?? []), row.name]);
      ledger.carry(row);
    } else ledger.note(row, "a pass-through goes by names and *. patterns alone", "write the names in hosts");
  }
  ledger.carry(map);
  ledger.note(
    pass,
    "pass-through is on the port of server.tls, which must be on",
    "see server.tls: the port, and a certificate for the names that end here",
  );
  return [...byTarget].map(([target, hosts]) => ({ type: "tls_passthrough", hosts, target }));
}

function acceptOf(listens: readonly Statement[], isNamed: boolean): Keys {
  return !isNamed && listens.some(({ args }) => args.includes("proxy_protocol")) ? { accept_proxy: true } : {};
}

function timesOf(server: Scope, isDatagram: boolean): Keys {
  const keys: Keys = {};
  const time = (name: string): string | null => {
    const ms = nginxTime(server.value(name) ?? "");
    return ms === null || ms === 0 ? null : durationSetting(ms);
  };
  const connect = time("proxy_connect_timeout");
  if (connect !== null && !isDatagram) keys.connect_timeout = connect;
  const idle = time("proxy_timeout");
  if (idle !== null) keys.idle_timeout = idle;
  const responses = server.value("proxy_responses");
  if (responses !== null && isDatagram && /^\d+$/.test(responses)) keys.responses = Number(responses);
  if (server.isOn("proxy_protocol")) keys.send_proxy = isDatagram ? "v2" : "v1";
  if (server.value("proxy_next_upstream") === "off" && !isDatagram) keys.retries = { attempts: 0 };
  return keys;
}

/** `ip_rules` of allow and deny where the first that fits counts; null if no rules say the same. */
function accessOf(server: Scope): Keys | null {
  const rules = server.inherited("allow", "deny");
  if (rules.length === 0) return {};
  const last = rules.at(-1)!;
  const [some, rest] = [rules.slice(0, -1), `${last.name} ${last.args[0]}`];
  const networks = (name: string) =>
    rules.filter((one) => one.name === name && one.args[0] !== "all").map(({ args }) => args[0]);
  const isPlain = rules.every(({ args }) => /^[\da-fA-F:.]+(\/\d+)?$/.test(args[0] ?? "") || args[0] === "all");
  const ordered = some.every(({ args }) => args[0] !== "all");
  if (!isPlain || !ordered) return null;
  // All that is denied comes first, or there is nothing that is.
  const firstAllow = rules.findIndex(({ name }) => name === "allow");
  const lastDeny = some.findLastIndex(({ name }) => name === "deny");
  if (firstAllow >= 0 && lastDeny > firstAllow) return null;
  const deny = networks("deny");
  const allow = networks("allow");
  server.ledger.carry(...rules);
  if (rest === "deny all") return { ip_rules: { allow, ...(deny.length > 0 ? { deny } : {}) } };
  return deny.length > 0 ? { ip_rules: { deny } } : {};
}

/** `target`, or `targets` of an `upstream` block. */
function targetsOf(stream: Scope, target: string): Keys {
  const { ledger } = stream;
  const group = stream.here("upstream").find(({ args }) => args[0] === target);
  if (group === undefined) return { target: target.replace(/^unix:(.*?):?$/, "unix:$1") };
  ledger.carry(group);
  const keys: Keys = {};
  const failures: number[] = [];
  keys.targets = group.all("server").flatMap((one) => {
    const option = (name: string) => one.args.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
    ledger.carry(one);
    if (one.args.includes("down")) return [];
    failures.push(Number(option("max_fails") ?? 1));
    const weight = Number(option("weight") ?? 1);
    return [
      {
        url: one.args[0],
        ...(weight === 1 ? {} : { weight }),
        ...(one.args.includes("backup") ? { backup: true } : {}),
      },
    ];
  });
  const known = failures.filter((count) => count > 0);
  if (known.length > 0) keys.circuit_breaker = { failure_threshold: Math.min(...known) };
  else keys.circuit_breaker = { enabled: false };
  for (const one of group.block ?? []) {
    const policy = POLICIES.get(one.name === "hash" ? `hash ${one.args[0]}` : one.name);
    if (policy === undefined) continue;
    keys.load_balancing = { policy };
    ledger.carry(one);
  }
  return keys;
}

const POLICIES: ReadonlyMap<string, string> = new Map([
  ["least_conn", "least_conn"],
  ["random", "random"],
  ["hash $remote_addr", "ip_hash"],
  ["hash $binary_remote_addr", "ip_hash"],
]);

/** `5432`, `*:5432` and `127.0.0.1:5432` as `listen` has them. */
function addressOf(text: string): string {
  if (/^\d+$/.test(text)) return `0.0.0.0:${text}`;
  return text.replace(/^\*:/, "0.0.0.0:");
}
