import { trimmedEnd } from "../../../core/trimming.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { durationSetting } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { isLostImport } from "./caddy-parser.ts";
import { caddyTemplate, goDuration } from "./caddy-values.ts";

/** Reads `reverse_proxy` into the keys of a route; null if its targets are not known before a request comes. */
export function proxyKeys(statement: Statement, addresses: readonly string[], ledger: Ledger): Keys | null {
  const keys: Keys = { type: "upstream" };
  const block = statement.block ?? [];
  const all = [...addresses, ...block.filter(({ name }) => name === "to").flatMap(({ args }) => args)];
  const transport = block.find(({ name }) => name === "transport");
  const inner = transport?.block ?? [];
  const hasTls = inner.some(({ name }) => name.startsWith("tls"));
  const versions = inner.find(({ name }) => name === "versions")?.args ?? [];
  const urls = all.flatMap((one) => urlsOf(one, hasTls, versions));
  if (urls.length === 0 || urls.includes("")) return null;
  // What else decides which requests and responses pass, and cannot be said.
  if (block.some((one) => isLostImport(one) || !(Object.hasOwn(OPTIONS, one.name) || HARMLESS.test(one.name))))
    return null;
  if (transport !== undefined && transport.args[0] !== "http") return null;
  if (urls.length === 1) keys.target = urls[0];
  else {
    keys.targets = urls.map((url) => ({ url }));
    // What Caddy does without a word.
    keys.load_balancing = { policy: "random" };
  }
  for (const one of block) if (!optionOf(one, keys, ledger)) return null;
  if (transport !== undefined) transportOf(transport, keys, ledger);
  return keys;
}

/** One address, or a range of ports; "" is one that cannot be said. */
function urlsOf(address: string, hasTls: boolean, versions: readonly string[]): string[] {
  if (/[{}]/.test(address)) return [""];
  const socket = /^unix(?:\+h2c)?\/(.+)$/.exec(address)?.[1];
  if (socket !== undefined) return [`unix:${socket.startsWith("/") ? socket : `/${socket}`}`];
  const [, scheme = "", rest = ""] = /^(?:([a-z0-9]+):\/\/)?(.*)$/.exec(address)!;
  const isSecure = scheme === "https" || hasTls;
  const kind =
    scheme === "h2c" || versions.join() === "h2c"
      ? "h2c"
      : versions.join() === "2" && isSecure
        ? "h2"
        : isSecure
          ? "https"
          : "http";
  const host = trimmedEnd(rest, "/").replace(/^:/, "localhost:");
  const range = /^(.*):(\d+)-(\d+)$/.exec(host);
  if (range === null)
    return host === "" ? [""] : [`${kind}://${host}${/:\d+$/.test(host) ? "" : isSecure ? "" : ":80"}`];
  const [from, to] = [Number(range[2]), Number(range[3])];
  if (to < from || to - from > 100) return [""];
  return Array.from({ length: to - from + 1 }, (_, i) => `${kind}://${range[1]}:${from + i}`);
}

/** Rows: what a subdirective of `reverse_proxy` puts into a route; false if it cannot be said. */
const OPTIONS: Readonly<Record<string, (args: readonly string[], keys: Keys, statement: Statement) => boolean>> = {
  to: () => true,
  transport: () => true,
  lb_policy: ([policy = "", ...more], keys) => {
    const value = policyOf(policy, more);
    if (value !== null && keys.targets !== undefined) keys.load_balancing = value;
    return value !== null;
  },
  lb_retries: ([count = ""], keys) => {
    keys.retries = { attempts: Math.min(Number(count), 10) };
    return /^\d+$/.test(count);
  },
  health_uri: ([path = ""], keys) => {
    sectionAt(keys, "health_check").path = path.split("?", 1)[0];
    return path.startsWith("/") && !path.includes("?");
  },
  health_path: ([path = ""], keys) => {
    sectionAt(keys, "health_check").path = path;
    return true;
  },
  health_interval: ([time = ""], keys) => {
    const ms = goDuration(time);
    if (ms !== null) sectionAt(keys, "health_check").interval = durationSetting(ms);
    return ms !== null;
  },
  health_timeout: ([time = ""], keys) => {
    const ms = goDuration(time);
    if (ms !== null) sectionAt(keys, "health_check").timeout = durationSetting(ms);
    return ms !== null;
  },
  health_passes: ([count = ""], keys) => {
    sectionAt(keys, "health_check").healthy_threshold = Number(count);
    return /^\d+$/.test(count);
  },
  health_fails: ([count = ""], keys) => {
    sectionAt(keys, "health_check").unhealthy_threshold = Number(count);
    return /^\d+$/.test(count);
  },
  health_status: ([status = ""], keys) => {
    const text = /^\dxx$/.test(status) ? `${status[0]}00-${status[0]}99` : status;
    sectionAt(keys, "health_check").expect_status = /^\d+$/.test(text) ? Number(text) : text;
    return true;
  },
  max_fails: ([count = ""], keys) => {
    sectionAt(keys, "circuit_breaker").failure_threshold = Number(count);
    return /^[1-9]\d*$/.test(count);
  },
  fail_duration: ([time = ""], keys) => {
    const ms = goDuration(time);
    if (ms !== null) sectionAt(keys, "circuit_breaker").open_duration = durationSetting(ms);
    return ms !== null;
  },
  unhealthy_status: (statuses, keys) => {
    const list = statuses.filter((one) => /^\d{3}$/.test(one)).map(Number);
    if (list.length > 0) sectionAt(keys, "circuit_breaker").failure_statuses = list;
    return list.length === statuses.length;
  },
  header_up: (args, keys) => headerUp(args, keys),
  header_down: ([field = "", value], keys) => headerEdit(sectionAt(keys, "headers", "response"), field, value),
};

/** Subdirectives without which the same requests pass. */
const HARMLESS =
  /^(import|lb_\w+|health_\w+|fail_duration|max_fails|unhealthy_\w+|flush_interval|(buffer_)?(requests?|responses?)(_buffers)?|stream_\w+|trusted_proxies|verbose_logs)$/;

/** @returns false if the route must be closed without it */
function optionOf(statement: Statement, keys: Keys, ledger: Ledger): boolean {
  const { name, args } = statement;
  if (statement.block !== null && name !== "transport") return HARMLESS.test(name);
  if (name === "import") ledger.carry(statement);
  if (Object.hasOwn(OPTIONS, name) && OPTIONS[name]!(args, keys, statement)) {
    ledger.carry(statement);
    return true;
  }
  if (name !== "header_up") return true;
  const isTaken = takesOff(sectionAt(keys, "headers", "request"), args[0] ?? "");
  ledger.note(
    statement,
    isTaken ? "this field has no counterpart: edge removes the client's" : "these fields have no counterpart",
    "see headers at the route: docs/upstreams.md#header-edits",
  );
  return isTaken;
}

/** Takes a field off requests that could not be set: an origin may believe it. @returns false for what is no one field */
export function takesOff(edits: Keys, field: string): boolean {
  const name = field.replace(/^[-+>?]/, "");
  if (!/^[\w-]+$/.test(name)) return false;
  if (/^host$/i.test(name)) return true;
  edits.remove = [...new Set([...((edits.remove as string[] | undefined) ?? []), name])];
  return true;
}

/** Fields of requests; Host decides whose name the target is given. */
function headerUp([field = "", value, ...more]: readonly string[], keys: Keys): boolean {
  if (more.length > 0) return false;
  if (/^host$/i.test(field)) {
    if (/^\{(http\.reverse_proxy\.upstream\.|upstream_)hostport\}$/.test(value ?? "")) keys.preserve_host = false;
    else if (/^[\w.:-]+$/.test(value ?? "")) sectionAt(keys, "headers", "request", "set").Host = value;
    else return /^\{(http\.request\.)?host(port)?\}$/.test(value ?? "");
    return true;
  }
  const own = OWN_VALUES[field.toLowerCase()];
  if (own?.test(value ?? "") === true) return true;
  if (/^[+>?-]?(connection|upgrade)$/i.test(field)) return false;
  return headerEdit(sectionAt(keys, "headers", "request"), field, value);
}

/** Values that the gateway writes itself, by field. */
const OWN_VALUES: Readonly<Record<string, RegExp>> = {
  "x-forwarded-for": /^\{(http\.request\.)?(remote\.host|remote_host|client_ip)\}$/,
  "x-real-ip": /^\{(http\.request\.)?(remote\.host|remote_host|client_ip)\}$/,
  "x-forwarded-proto": /^\{(http\.request\.)?scheme\}$/,
  "x-forwarded-host": /^\{(http\.request\.)?host(port)?\}$/,
};

/** `Field value`, `+Field value`, `-Field`. @returns false if it cannot be said */
export function headerEdit(edits: Keys, field: string, value: string | undefined): boolean {
  if (field.startsWith("-")) {
    if (/\*/.test(field)) return false;
    edits.remove = [...((edits.remove as string[] | undefined) ?? []), field.slice(1)];
    return true;
  }
  const template = caddyTemplate(value ?? "");
  if (template === null || value === undefined || /^[?]/.test(field)) return false;
  const isAdded = field.startsWith("+");
  const name = field.replace(/^[+>]/, "");
  const kind = isAdded ? "add" : "set";
  const list = sectionAt(edits, kind);
  list[name] = isAdded && list[name] !== undefined ? [list[name], template].flat() : template;
  return true;
}

function policyOf(policy: string, [first]: readonly string[]): Keys | null {
  if (["random", "round_robin", "least_conn", "ip_hash", "uri_hash"].includes(policy)) return { policy };
  if (policy === "client_ip_hash") return { policy: "ip_hash" };
  if (policy === "random_choose") return { policy: "p2c" };
  if (policy === "header" && first !== undefined) return { policy: "header", header: first };
  if (policy === "cookie") return { policy: "sticky", cookie: { name: first ?? "lb" } };
  return null;
}

function transportOf(statement: Statement, keys: Keys, ledger: Ledger): void {
  if (statement.args[0] !== "http") return;
  ledger.carry(statement);
  for (const one of statement.block ?? []) {
    const [first = ""] = one.args;
    const ms = goDuration(first);
    if (one.name === "tls") keys.tls ??= {};
    else if (one.name === "tls_insecure_skip_verify") sectionAt(keys, "tls").insecure_skip_verify = true;
    else if (one.name === "tls_server_name") sectionAt(keys, "tls").server_name = first;
    else if (one.name === "tls_trusted_ca_certs" || one.name === "tls_trust_pool")
      sectionAt(keys, "tls").ca_file = one.args.at(-1);
    else if (one.name === "tls_client_auth" && one.args.length === 2)
      Object.assign(sectionAt(keys, "tls"), { cert_file: first, key_file: one.args[1] });
    else if (one.name === "dial_timeout" && ms !== null) sectionAt(keys, "timeouts").connect = durationSetting(ms);
    else if (one.name === "response_header_timeout" && ms !== null)
      sectionAt(keys, "timeouts").response_header = durationSetting(ms);
    else if (one.name === "read_timeout" && ms !== null) sectionAt(keys, "timeouts").idle = durationSetting(ms);
    else if (one.name === "versions" && /^(h2c|2|1\.1,2|2,1\.1)$/.test(one.args.join())) void 0;
    else continue;
    ledger.carry(one);
  }
  if (keys.tls !== undefined && Object.keys(keys.tls as Keys).length === 0) delete keys.tls;
}
