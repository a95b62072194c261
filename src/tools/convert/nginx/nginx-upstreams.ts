import { EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import type { Keys } from "../keys.ts";
import { durationSetting } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTime } from "./nginx-values.ts";

/** What a route says of its targets, and the path that is put in the place of the location; null if none is said. */
interface Targets {
  readonly keys: Keys;
  readonly path: string | null;
}

/** Reads `proxy_pass`, `grpc_pass`, `fastcgi_pass`, `uwsgi_pass` or `scgi_pass`; null if its address is not known before a request comes. */
export function nginxTargets(http: Scope, scope: Scope, pass: Statement): Targets | null {
  const url = withoutVariables(scope, pass.args[0] ?? "");
  const whole = /^\w+:\/\//.test(url) ? url : (DEFAULT_SCHEMES[pass.name] ?? "") + url;
  const [start = "", scheme] = /^(https?|grpcs?|fastcgi|uwsgi|scgi):\/\//.exec(whole) ?? [];
  const parts = partsOf(whole.slice(start.length));
  if (scheme === undefined || parts === null || /[$?#]/.test(url)) return null;
  const { authority, path } = parts;
  const kinds = pass.name === "proxy_pass" && isHttp2(scope) ? HTTP2_KINDS : KINDS;
  const kind = kinds[scheme]!;
  if (authority.startsWith("unix:")) return { keys: { target: socketOf(authority, kind) }, path };
  const group = http.block("upstream", authority);
  return { keys: group === undefined ? { target: `${kind}://${authority}` } : groupOf(http, group, kind), path };
}

/** Schemes of targets by those of nginx. */
const KINDS: Readonly<Record<string, string>> = {
  http: "http",
  https: "https",
  grpc: "h2c",
  grpcs: "h2",
  fastcgi: "fastcgi",
  uwsgi: "uwsgi",
  scgi: "scgi",
};
const HTTP2_KINDS: typeof KINDS = { ...KINDS, http: "h2c", https: "h2" };

/** Whether `proxy_pass` speaks HTTP/2. */
function isHttp2(scope: Scope): boolean {
  const version = scope.one("proxy_http_version");
  if (version?.args[0] !== "2") return false;
  scope.ledger.carry(version);
  return true;
}

/** An address and the path behind it; null if it is none. The path of a socket ends with a colon. */
function partsOf(text: string): { readonly authority: string; readonly path: string | null } | null {
  const isSocket = text.startsWith("unix:");
  const mark = text.indexOf(isSocket ? ":" : "/", isSocket ? "unix:".length : 0);
  const end = mark < 0 ? text.length : isSocket ? mark + 1 : mark;
  const authority = text.slice(0, end);
  const path = text.slice(end);
  if (/^(?:unix::?)?$/.test(authority) || (path !== "" && !path.startsWith("/"))) return null;
  return { authority, path: path === "" ? null : path };
}

/** Puts in what `set` says, if that is a plain text. */
function withoutVariables(scope: Scope, url: string): string {
  return url.replace(/\$\{?(\w+)\}?/g, (whole, name: string) => {
    const found = scope.assignment(`$${name}`);
    const value = found?.args[1] ?? "$";
    if (value.includes("$")) return whole;
    scope.ledger.carry(found);
    return value;
  });
}

/** What addresses without a scheme are, by directive. */
const DEFAULT_SCHEMES: Readonly<Record<string, string>> = {
  grpc_pass: "grpc://",
  fastcgi_pass: "fastcgi://",
  uwsgi_pass: "uwsgi://",
  scgi_pass: "scgi://",
};

function socketOf(authority: string, kind: string): string {
  const socket = authority.replace(/:$/, "");
  return /^(fastcgi|uwsgi|scgi)$/.test(kind) ? `${kind}://${socket}` : socket;
}

/** An `upstream` block. */
function groupOf(http: Scope, group: Statement, kind: string): Keys {
  const { ledger } = http;
  ledger.carry(group);
  const keys: Keys = {};
  const failures: number[] = [];
  const pauses: number[] = [];
  const targets = group.all("server").flatMap((one) => {
    const [address = ""] = one.args;
    const option = (name: string): string | null =>
      one.args.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
    ledger.carry(one);
    EFFORT.take(STEPS_A_DIRECTIVE + one.args.length);
    if (one.args.includes("down")) return [];
    failures.push(Number(option("max_fails") ?? 1));
    pauses.push(nginxTime(option("fail_timeout") ?? "10s") ?? 10_000);
    for (const word of one.args.slice(1))
      if (!/^(weight|max_fails|fail_timeout|slow_start)=|^backup$/.test(word))
        ledger.note(one, `${word} has no counterpart`, "see targets: docs/upstreams.md");
    const weight = Number(option("weight") ?? 1);
    const slow = nginxTime(option("slow_start") ?? "");
    if (slow !== null && slow > 0)
      keys.circuit_breaker = { ...(keys.circuit_breaker as Keys), slow_start: durationSetting(slow) };
    const url = address.startsWith("unix:")
      ? socketOf(address, kind)
      : `${kind}://${/:\d+$/.test(address) ? address : `${address}:80`}`;
    return [{ url, ...(weight === 1 ? {} : { weight }), ...(one.args.includes("backup") ? { backup: true } : {}) }];
  });
  if (targets.length === 0) return { target: "http://127.0.0.1:1" };
  const isOne = targets.length === 1 && Object.keys(targets[0]!).length === 1;
  Object.assign(keys, isOne ? { target: targets[0]!.url } : { targets });
  balancing(group, keys, http);
  const threshold = Math.max(...failures);
  if (threshold === 0) keys.circuit_breaker = { enabled: false };
  else if (!isOne)
    keys.circuit_breaker = {
      failure_threshold: threshold,
      open_duration: durationSetting(Math.max(1000, ...pauses)),
      ...(keys.circuit_breaker as Keys),
    };
  return keys;
}

function balancing(group: Statement, keys: Keys, { ledger }: Scope): void {
  for (const one of group.block ?? []) {
    const [first = "", second = ""] = one.args;
    const policy =
      one.name === "least_conn" || one.name === "ip_hash"
        ? { policy: one.name }
        : one.name === "random"
          ? { policy: first === "two" ? "p2c" : "random" }
          : one.name === "hash"
            ? hashPolicy(first)
            : one.name === "sticky" && first === "cookie"
              ? { policy: "sticky", cookie: { name: second || "edge_node" } }
              : null;
    if (policy === null) continue;
    if (keys.targets !== undefined) keys.load_balancing = policy;
    ledger.carry(one);
  }
}

function hashPolicy(key: string): Keys | null {
  if (/^\$(request_uri|uri)$/.test(key)) return { policy: "uri_hash" };
  if (/^\$(binary_)?remote_addr$/.test(key)) return { policy: "ip_hash" };
  const [, kind, name = ""] = /^\$(http|cookie)_(\w+)$/.exec(key) ?? [];
  if (kind === "http") return { policy: "header", header: name.replaceAll("_", "-") };
  return kind === undefined ? null : { policy: "cookie", cookie: name };
}
