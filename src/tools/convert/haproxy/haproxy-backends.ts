import { EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { durationSetting } from "../plan.ts";
import { ConvertFault, Statement } from "../statement.ts";
import { hasVariable } from "./haproxy-conditions.ts";
import { haproxyTime } from "./haproxy-values.ts";

/** What directives of a section and of the defaults before it say; the section's own come first. */
export class HaproxySection {
  readonly statement: Statement;
  readonly defaults: Statement | null;

  constructor(statement: Statement, defaults: Statement | null) {
    this.statement = statement;
    this.defaults = defaults;
  }

  /** Those of the section, or of its defaults if it has none. @param first the first words after the name */
  find(name: string, ...first: readonly string[]): Statement | null {
    const fits = ({ args }: Statement): boolean => first.every((word, i) => args[i] === word);
    const lists = [this.statement, this.defaults].map((one) => one?.all(name) ?? []);
    EFFORT.take(lists.flat().length);
    return lists[0]!.findLast(fits) ?? lists[1]!.findLast(fits) ?? null;
  }

  get name(): string {
    return this.statement.args[0] ?? "";
  }
}

/** The `defaults` of a file: a section names its own with `from`, or has the last before it. */
export class Defaults {
  private readonly named = new Map<string, Statement>();
  private last: Statement | null = null;

  /** @throws ConvertFault if they are made of others that are not there */
  add(statement: Statement): void {
    const { args, block } = statement;
    const from = args[0] === "from" ? args[1] : args[1] === "from" ? args[2] : undefined;
    let whole = statement;
    if (from !== undefined) {
      // What is later counts, so what these are made of comes first.
      whole = new Statement(statement, [statement.name, ...args], null, true);
      whole.block!.push(...(this.called(statement, from).block ?? []), ...(block ?? []));
    }
    this.last = whole;
    if (args[0] !== undefined && args[0] !== "from") this.named.set(args[0], whole);
  }

  /** @throws ConvertFault if the section names some that are not there */
  of(section: Statement): Statement | null {
    return section.args[1] === "from" ? this.called(section, section.args[2] ?? "") : this.last;
  }

  private called(place: Statement, name: string): Statement {
    EFFORT.take(STEPS_A_DIRECTIVE);
    const found = this.named.get(name);
    if (found === undefined) throw new ConvertFault(place, `there are no defaults "${name}"`);
    return found;
  }
}

/** Reads the servers of a backend into the keys of a route; null if it has none. */
export function backendKeys(backend: HaproxySection, ledger: Ledger): Keys | null {
  const keys: Keys = { type: "upstream" };
  const servers = backend.statement.all("server");
  const shared = [backend.defaults, backend.statement].flatMap((one) => one?.all("default-server") ?? []);
  const words = shared.flatMap(({ args }) => args);
  ledger.carry(...shared);
  const states = servers.map((one) => serverOf(one, words, keys, ledger));
  for (const one of backend.statement.all("server-template"))
    ledger.note(one, "servers are not made of a pattern", "write them as targets");
  const targets = states.filter((one) => one !== null);
  if (targets.length === 0) return null;
  const [only] = targets;
  if (targets.length === 1 && only!.weight === undefined && only!.backup === undefined) keys.target = only!.url;
  else keys.targets = targets;
  balancing(backend, keys, ledger);
  health(backend, keys, [...words, ...servers.flatMap(({ args }) => args.slice(2))], ledger);
  timeouts(backend, keys, ledger);
  return keys;
}

interface Target {
  readonly url: string;
  readonly weight?: number;
  readonly backup?: true;
}

/** `server NAME ADDRESS …`; null for one that is disabled. */
function serverOf(statement: Statement, shared: readonly string[], keys: Keys, ledger: Ledger): Target | null {
  const [, address = "", ...own] = statement.args;
  const words = [...shared, ...own];
  EFFORT.take(STEPS_A_DIRECTIVE + words.length);
  const after = (name: string): string | null =>
    words.lastIndexOf(name) < 0 ? null : (words[words.lastIndexOf(name) + 1] ?? null);
  if (hasVariable(address)) ledger.note(statement, "its address is a variable of the environment", "write its target");
  ledger.carry(statement);
  const isTls = words.includes("ssl");
  const scheme = after("proto") === "h2" ? (isTls ? "h2" : "h2c") : isTls ? "https" : "http";
  if (isTls) {
    const tls: Keys = {};
    if (after("verify") === "none" || (after("verify") === null && after("ca-file") === null))
      tls.insecure_skip_verify = true;
    if (after("ca-file") !== null && !after("ca-file")!.startsWith("@")) tls.ca_file = after("ca-file");
    const sni = /^str\((.+)\)$/.exec(after("sni") ?? "")?.[1];
    if (sni !== undefined) tls.server_name = sni;
    if (after("crt") !== null) Object.assign(tls, { cert_file: after("crt"), key_file: after("crt") });
    if (Object.keys(tls).length > 0) keys.tls = tls;
  }
  for (const word of words)
    if (ODD_WORDS.test(word)) ledger.note(statement, `${word} has no counterpart`, "see targets: docs/upstreams.md");
  // What speaks another protocol, or is not known before the start, is no target.
  if (words.includes("disabled") || hasVariable(address) || /^(fcgi|spop|log)$/.test(after("proto") ?? "")) return null;
  const weight = after("weight");
  const slow = haproxyTime(after("slowstart") ?? "");
  if (slow !== null) sectionAt(keys, "circuit_breaker").slow_start = durationSetting(slow);
  const socket = /^(?:unix@)?(\/.+)$/.exec(address)?.[1];
  const host = address.replace(/^(ipv[46]|tcp)@/, "");
  const url =
    socket !== undefined
      ? `unix:${socket}`
      : `${scheme}://${/:\d+$/.test(host) ? host : `${host}${isTls ? "" : ":80"}`}`;
  return {
    url,
    ...(weight === null || weight === "1" || Number(weight) === 0 ? {} : { weight: Number(weight) }),
    ...(words.includes("backup") ? { backup: true as const } : {}),
  };
}

const ODD_WORDS =
  /^(send-proxy.*|track|redir|on-marked-.*|agent-.*|source|tfo|socks4|observe|error-limit|maxconn|maxqueue|set-proxy-v2-tlv.*)$/;

function balancing(backend: HaproxySection, keys: Keys, ledger: Ledger): void {
  const cookie = backend.find("cookie");
  if (
    cookie !== null &&
    keys.targets !== undefined &&
    (cookie.args.includes("insert") || cookie.args.includes("indirect"))
  ) {
    keys.load_balancing = { policy: "sticky", cookie: { name: cookie.args[0] ?? "edge_node" } };
    ledger.carry(cookie);
  }
  const balance = backend.find("balance");
  if (balance === null) return;
  const [kind = ""] = balance.args;
  const header = /^hdr\(([^)]+)\)$/.exec(kind)?.[1];
  const policy = header === undefined ? POLICIES[kind.split("(", 1)[0]!] : undefined;
  if (policy === undefined && header === undefined) {
    ledger.note(balance, `balance ${kind} has no counterpart`, "choose another policy: docs/upstreams.md");
    return;
  }
  ledger.carry(balance);
  if (keys.targets === undefined || keys.load_balancing !== undefined || policy === "round_robin") return;
  keys.load_balancing = header === undefined ? { policy } : { policy: "header", header };
}

const POLICIES: Readonly<Record<string, string>> = {
  roundrobin: "round_robin",
  "static-rr": "round_robin",
  leastconn: "least_conn",
  source: "ip_hash",
  uri: "uri_hash",
  random: "p2c",
};

function health(backend: HaproxySection, keys: Keys, words: readonly string[], ledger: Ledger): void {
  const option = backend.find("option", "httpchk");
  const send = backend.find("http-check", "send");
  const expect = backend.find("http-check", "expect");
  if (!words.includes("check")) {
    for (const one of [option, send, expect]) if (one !== null) ledger.standard(one);
    return;
  }
  const after = (name: string): string | null =>
    words.lastIndexOf(name) < 0 ? null : (words[words.lastIndexOf(name) + 1] ?? null);
  const optionPath = option?.args.slice(1).find((word) => word.startsWith("/"));
  const sentPath = send?.args[send.args.indexOf("uri") + 1];
  const path = (send?.args.includes("uri") === true ? sentPath : optionPath) ?? (option === null ? null : "/");
  if (path === null || path === undefined) {
    // A check of the connection alone: connections that fail take a target out, too.
    return;
  }
  const check: Keys = { path };
  const every = haproxyTime(after("inter") ?? "2s");
  if (every !== null) check.interval = durationSetting(every);
  if (after("fall") !== null) check.unhealthy_threshold = Number(after("fall"));
  if (after("rise") !== null) check.healthy_threshold = Number(after("rise"));
  const status = /^\d{3}(-\d{3})?$/.exec(expect?.args[1] === "status" ? (expect.args[2] ?? "") : "")?.[0];
  if (status !== undefined) check.expect_status = status.includes("-") ? status : Number(status);
  keys.health_check = check;
  ledger.carry(option, send);
  if (expect !== null && status !== undefined) ledger.carry(expect);
}

function timeouts(backend: HaproxySection, keys: Keys, ledger: Ledger): void {
  const connect = backend.find("timeout", "connect");
  const server = backend.find("timeout", "server");
  const connectMs = haproxyTime(connect?.args[1] ?? "");
  const serverMs = haproxyTime(server?.args[1] ?? "");
  if (connectMs !== null && connectMs > 0) sectionAt(keys, "timeouts").connect = durationSetting(connectMs);
  if (serverMs !== null && serverMs > 0)
    Object.assign(sectionAt(keys, "timeouts"), {
      response_header: durationSetting(serverMs),
      idle: durationSetting(serverMs),
    });
  ledger.carry(connect, server);
  const retries = backend.find("retries");
  if (retries !== null && /^\d+$/.test(retries.args[0] ?? "")) {
    if (keys.targets !== undefined) keys.retries = { attempts: Math.min(10, Number(retries.args[0])) };
    ledger.carry(retries);
  }
}
