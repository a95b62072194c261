import { sectionAt } from "../keys.ts";
import { durationSetting, hasType, type Plan } from "../plan.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxSize, nginxTime } from "./nginx-values.ts";

/** What counts for the whole gateway here: from `http` and the first server that says it. */
export function convertServerWide(plan: Plan, main: Scope, http: Scope): void {
  const scopes = [http, ...http.here("server").map((one) => http.inner(one))];
  const { server, proxy } = plan.config;
  for (const [name, key] of TIMES) {
    const text = firstValue(plan, scopes, name);
    const ms = nginxTime(text ?? "");
    if (ms !== null && ms > 0) server[key] = durationSetting(ms);
  }
  const workers = main.value("worker_processes");
  if (workers !== null && /^\d+$/.test(workers)) server.workers = Number(workers);
  buffers(plan, scopes);
  const streams = Number(firstValue(plan, scopes, "http2_max_concurrent_streams") ?? Number.NaN);
  if (Number.isInteger(streams)) server.http2 = { max_concurrent_streams: streams };
  accessLog(plan, scopes);
  connections(plan, scopes);
  const level = plan.rules.find(({ keys }) => keys.cache !== undefined);
  if (level !== undefined) {
    server.cache = { enabled: true, cookies: "bypass" };
    for (const rule of plan.rules)
      if (hasType(rule.keys, "upstream") || hasType(rule.keys, "static")) rule.keys.cache ??= false;
  }
  // nginx waits a minute, and takes bodies of a mebibyte.
  if (plan.rules.some(({ keys }) => hasType(keys, "upstream")))
    sectionAt(proxy, "transport").response_header_timeout = "60s";
  server.max_body_bytes = nginxSize(http.value("client_max_body_size") ?? "1m") || "unlimited";
  const resolvers = http
    .inherited("resolver")
    .flatMap(({ args }) => args.filter((word) => /^[\d.]+(:\d+)?$/.test(word)));
  if (resolvers.length > 0) {
    sectionAt(proxy, "transport").nameservers = resolvers;
    plan.ledger.carry(...http.inherited("resolver"));
  }
}

const TIMES: readonly (readonly [string, string])[] = [
  ["client_header_timeout", "header_timeout"],
  ["client_body_timeout", "read_timeout"],
  ["send_timeout", "write_timeout"],
  ["keepalive_timeout", "idle_timeout"],
];

/** The value of the first block that says it; others that say something else are noted. */
function firstValue({ ledger }: Plan, scopes: readonly Scope[], name: string): string | null {
  const found = scopes.flatMap((scope) => scope.here(name));
  const [first, ...others] = found;
  if (first === undefined) return null;
  ledger.carry(first);
  for (const one of others) {
    if (one.args[0] === first.args[0]) ledger.carry(one);
    else
      ledger.note(
        one,
        `one value counts for the whole gateway, here that of line ${first.line}`,
        "choose one in config.yaml",
      );
  }
  return first.args[0] ?? null;
}

function buffers(plan: Plan, scopes: readonly Scope[]): void {
  for (const scope of scopes) {
    for (const one of scope.here("large_client_header_buffers")) {
      const bytes = Number(one.args[0]) * (nginxSize(one.args[1] ?? "") ?? 0);
      if (bytes >= 8192) plan.config.server.max_header_bytes ??= bytes;
      plan.ledger.carry(one);
    }
  }
}

function accessLog(plan: Plan, scopes: readonly Scope[]): void {
  const { server } = plan.config;
  const files = new Set<string>();
  let isOn = true;
  for (const scope of scopes) {
    for (const one of scope.here("access_log")) {
      const [path = "", format = "combined"] = one.args;
      if (path === "off") {
        if (scope === scopes[0]) isOn = false;
        else {
          plan.ledger.note(
            one,
            "one log counts for all routes",
            "filter it in its reader, or set server.access_log.sample",
          );
          continue;
        }
      } else if (/^syslog:server=/.test(path) || path.includes("$") || /^if=/.test(format)) {
        plan.ledger.note(one, "this output is set otherwise", "see server.access_log.outputs: docs/operations.md");
        continue;
      } else {
        files.add(path);
        if (!/^(combined|main)$/.test(format)) {
          plan.ledger.note(one, `lines are in the format combined, not ${format}`, "set server.access_log.format");
          continue;
        }
      }
      plan.ledger.carry(one);
    }
  }
  if (!isOn) server.access_log = { enabled: false };
  else if (files.size > 0) server.access_log = { format: "combined", outputs: [...files].map((file) => ({ file })) };
  for (const scope of scopes) accessLogInside(plan, scope);
}

function accessLogInside(plan: Plan, scope: Scope): void {
  for (const location of scope.here("location")) {
    for (const one of location.all("access_log"))
      plan.ledger.note(one, "one log counts for all routes", "filter it in its reader");
    accessLogInside(plan, scope.inner(location));
  }
}

function connections(plan: Plan, scopes: readonly Scope[]): void {
  for (const scope of scopes) {
    for (const one of scope.here("limit_conn")) {
      const zone = scopes[0]!.here("limit_conn_zone").find(({ args }) => args[1]?.startsWith(`zone=${one.args[0]}:`));
      if (zone === undefined || !/^\$(binary_)?remote_addr$/.test(zone.args[0] ?? "")) continue;
      plan.config.server.max_connections_per_ip ??= Number(one.args[1]) || 100;
      plan.ledger.carry(one, zone);
    }
  }
}
