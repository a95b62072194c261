import type { Keys } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { durationSetting, type Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { HaproxySection } from "./haproxy-backends.ts";
import { haproxyTime } from "./haproxy-values.ts";

/** Makes streams of an entry in `mode tcp`. docs/migrate-haproxy.md#mode-tcp */
export function convertHaproxyTcp(
  plan: Plan,
  entry: HaproxySection,
  backends: ReadonlyMap<string, HaproxySection>,
): void {
  const { ledger } = plan;
  const origin = entry.statement;
  const why = refusalOf(entry);
  if (why !== "") {
    ledger.noteWhole(origin, why, "write it: docs/streams.md");
    return;
  }
  const binds = origin.all("bind");
  const names = namesOf(entry, ledger);
  const fallback = entry.find("default_backend");
  const ownServers = origin.all("server").length > 0 ? entry : undefined;
  const other = ownServers ?? backends.get(fallback?.args[0] ?? "");
  for (const { hosts, backend, statement } of names) {
    const keys = forwardKeys(backends.get(backend), entry, ledger);
    if (keys === null) {
      ledger.note(statement, "its servers cannot be carried over", "write the stream: docs/streams.md");
      continue;
    }
    plan.streams.push({ origin, keys: { type: "tls_passthrough", hosts, ...keys } });
    ledger.note(statement, "pass-through is on the port of server.tls, which must be on", "see server.tls");
  }
  if (names.length > 0) {
    ledger.carry(...binds);
    if (fallback !== null)
      ledger.note(fallback, "TLS for all other names ends at the gateway", "name them in hosts of a pass-through");
    return;
  }
  const keys = forwardKeys(other, entry, ledger);
  if (keys === null) {
    ledger.noteWhole(origin, "its servers cannot be carried over", "write the stream: docs/streams.md");
    return;
  }
  const listen = binds.flatMap(({ args }) => (args[0] ?? "").split(",").map(addressOf));
  const accepts = binds.some(({ args }) => args.includes("accept-proxy"));
  plan.streams.push({ origin, keys: { type: "tcp", listen, ...keys, ...(accepts ? { accept_proxy: true } : {}) } });
  ledger.carry(origin, fallback, ...binds);
}

/** Why an entry cannot be carried over; "" if it can. What decides about who may come in is never left out. */
function refusalOf({ statement }: HaproxySection): string {
  if (statement.all("bind").some(({ args }) => args.includes("ssl"))) return "streams speak no TLS themselves";
  if (statement.all("bind").some(({ args }) => !/^[\w.*:[\],-]*:\d+$/.test(args[0] ?? "")))
    return "streams listen at an address and one port";
  if (statement.all("bind").length === 0) return "it listens nowhere";
  const isHello = ({ args }: Statement) =>
    args[0] === "inspect-delay" || (args[1] === "accept" && /ssl_hello_type|req_ssl_hello_type/.test(args.join(" ")));
  if (statement.all("tcp-request").some((one) => !isHello(one))) return "tcp-request has no counterpart at a stream";
  return "";
}

interface NamedBackend {
  readonly hosts: readonly string[];
  readonly backend: string;
  readonly statement: Statement;
}

/** What `use_backend … if { req.ssl_sni … }` says. */
function namesOf({ statement }: HaproxySection, ledger: Ledger): NamedBackend[] {
  const acls = statement.all("acl");
  return statement.all("use_backend").flatMap((one) => {
    const [backend = "", word, ...condition] = one.args;
    const plain = condition.filter((part) => part !== "{" && part !== "}");
    const named = acls.filter(({ args }) => plain.includes(args[0] ?? ""));
    const isAcl =
      named.length > 0 && plain.every((part) => part === "or" || named.some(({ args }) => args[0] === part));
    const tests = isAcl ? named.map(({ args }) => args.slice(1)) : [plain];
    const hosts = tests.map(hostsOf);
    if (word !== "if" || hosts.some((list) => list === null)) {
      ledger.note(one, "a pass-through goes by names (req.ssl_sni) alone", "write it: docs/streams.md#which-names");
      return [];
    }
    ledger.carry(...named);
    return [{ hosts: hosts.flatMap((list) => list!), backend, statement: one }];
  });
}

/** The names of a test of SNI; null if it is another. */
function hostsOf([sample = "", ...words]: readonly string[]): string[] | null {
  if (!/^req[._]ssl_sni(,lower)?$|^req[._]ssl_sni_end$|^req\.ssl_sni,lower$/.test(sample)) return null;
  const isEnd = sample.endsWith("_end") || words.join(" ").includes("-m end");
  const names = words.filter((word, i) => !word.startsWith("-") && words[i - 1] !== "-m");
  const flags = words.filter((word) => word.startsWith("-"));
  if (names.length === 0 || flags.some((flag) => flag !== "-i" && flag !== "-m")) return null;
  if (flags.includes("-m") && !isEnd && !words.join(" ").includes("-m str")) return null;
  if (isEnd && names.some((name) => !name.startsWith("."))) return null;
  const hosts = isEnd ? names.map((name) => `*${name}`) : names;
  return hosts.every((name) => /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name)) ? hosts : null;
}

/** Targets, balancing, health and times of a backend; null if it has servers that no stream can have. */
function forwardKeys(backend: HaproxySection | undefined, entry: HaproxySection, ledger: Ledger): Keys | null {
  if (backend === undefined) return null;
  const servers = backend.statement.all("server");
  const shared = [backend.defaults, backend.statement].flatMap((one) => one?.all("default-server") ?? []);
  const common = shared.flatMap(({ args }) => args);
  const words = [...common, ...servers.flatMap(({ args }) => args.slice(2))];
  if (servers.length === 0 || words.includes("ssl") || backend.statement.all("tcp-request").length > 0) return null;
  const targets = servers.flatMap(({ args }) => (args.includes("disabled") ? [] : [targetOf(args)]));
  if (targets.some(({ url }) => !/:\d+$|^unix:/.test(url)) || targets.length === 0) return null;
  const keys: Keys = { targets };
  const balance = backend.find("balance");
  const policy = POLICIES.get(balance?.args[0] ?? "roundrobin");
  if (policy !== undefined) {
    if (policy !== "round_robin") keys.load_balancing = { policy };
    ledger.carry(balance);
  }
  if (words.includes("check")) keys.health_check = checkOf(words);
  if (words.includes("send-proxy")) keys.send_proxy = "v1";
  if (words.some((word) => word.startsWith("send-proxy-v2"))) keys.send_proxy = "v2";
  const connect = backend.find("timeout", "connect");
  const idle = [entry.find("timeout", "client"), backend.find("timeout", "server")];
  const connectMs = haproxyTime(connect?.args[1] ?? "") ?? 0;
  const idleMs = Math.max(...idle.map((one) => haproxyTime(one?.args[1] ?? "") ?? 0));
  if (connectMs > 0) keys.connect_timeout = durationSetting(connectMs);
  if (idleMs > 0) keys.idle_timeout = durationSetting(idleMs);
  ledger.carry(backend.statement, connect, ...idle, ...servers, ...shared);
  return keys;
}

function targetOf([, address = "", ...words]: readonly string[]): { url: string; weight?: number; backup?: true } {
  const socket = /^(?:unix@)?(\/.+)$/.exec(address)?.[1];
  const weight = words.includes("weight") ? Number(words[words.indexOf("weight") + 1]) : 1;
  return {
    url: socket === undefined ? address.replace(/^(ipv[46]|tcp)@/, "") : `unix:${socket}`,
    ...(weight === 1 || !Number.isInteger(weight) ? {} : { weight }),
    ...(words.includes("backup") ? { backup: true as const } : {}),
  };
}

function checkOf(words: readonly string[]): Keys {
  const after = (name: string) => (words.includes(name) ? words[words.lastIndexOf(name) + 1]! : "");
  const every = haproxyTime(after("inter") || "2s") ?? 2000;
  return {
    interval: durationSetting(every),
    ...(/^\d+$/.test(after("fall")) ? { unhealthy_threshold: Number(after("fall")) } : {}),
    ...(/^\d+$/.test(after("rise")) ? { healthy_threshold: Number(after("rise")) } : {}),
  };
}

/** `*:5432` and `:5432` as `bind` has them. */
function addressOf(text: string): string {
  return text.replace(/^ipv[46]@/, "").replace(/^\*?:(\d+)$/, "0.0.0.0:$1");
}

const POLICIES: ReadonlyMap<string, string> = new Map([
  ["roundrobin", "round_robin"],
  ["static-rr", "round_robin"],
  ["leastconn", "least_conn"],
  ["source", "ip_hash"],
  ["random", "p2c"],
]);
