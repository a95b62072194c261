import { lookup, Resolver } from "node:dns/promises";
import { readFileSync, statSync } from "node:fs";
import { ipVersion, parseAddress, reverseName } from "../core/ip-address.ts";

/** Names of one address that edge reads at most. */
const MAX_REVERSE_NAMES = 4;

/** What asking for a name has given. */
export interface NameRecords {
  /** IPv4 and IPv6 addresses in turn; empty if the name has none. */
  readonly addresses: readonly string[];
  /** For how long they may be used, in milliseconds. */
  readonly ttlMs: number;
  /** "" if a response came, also one that the name does not exist; else why there was none, such as ETIMEOUT. */
  readonly failure: string;
}

/** Asks for the addresses of a name. */
export type NameQuery = (name: string) => Promise<NameRecords>;

/**
 * Asks as the system would: /etc/hosts, then the name servers and search list of /etc/resolv.conf, then the system's own
 * lookup, which knows of further sources and of no time to live. Both files are read again when they change.
 * @param servers `address[:port]` to ask in place of those of resolv.conf; empty for those
 */
export function systemQuery(servers: readonly string[]): NameQuery {
  const hosts = new WatchedFile("/etc/hosts", parseHosts);
  const conf = new WatchedFile("/etc/resolv.conf", parseResolvConf);
  return async (name) => {
    const listed = hosts.read().get(name.replace(/\.$/, ""));
    if (listed !== undefined) return { addresses: listed, ttlMs: FILE_TTL_MS, failure: "" };
    const now = conf.read();
    // A new one each time: the library's resolver keeps answers for their time to live, also those that are no longer true.
    return query(resolverFor(servers.length > 0 ? servers : now.servers), candidatesOf(name, now), name);
  };
}

/** The name servers to ask: these, `address[:port]` each, or those of the system. */
export function nameServers(
  servers: readonly string[],
): readonly { readonly address: string; readonly port: number }[] {
  const all = servers.length > 0 ? servers : systemConf.read().servers;
  return all.slice(0, MAX_SERVERS).map((server) => {
    const [, bracketed, plain = "", port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(server) ?? [];
    return port === undefined && bracketed === undefined && plain === ""
      ? { address: server, port: DNS_PORT }
      : { address: bracketed ?? plain, port: Number(port ?? DNS_PORT) };
  });
}

/** What asking for the names of an address has given. */
export interface ReverseRecord {
  /** Whether the address has a name below one of the domains, and that name the address. */
  readonly isConfirmed: boolean;
  /** As of NameRecords. */
  readonly failure: string;
}

/** Asks whether an address has a name below one of some domains that leads back to it: forward-confirmed reverse DNS. */
export type ReverseQuery = (address: string, domains: readonly string[]) => Promise<ReverseRecord>;

/** The same of addresses: PTR records, then those of the names. What a client has in its own reverse tree is never asked for. */
export function systemReverse(servers: readonly string[]): ReverseQuery {
  const conf = new WatchedFile("/etc/resolv.conf", parseResolvConf);
  return (address, domains) =>
    confirm(resolverFor(servers.length > 0 ? servers : conf.read().servers), address, domains);
}

async function confirm(resolver: Resolver, address: string, domains: readonly string[]): Promise<ReverseRecord> {
  const own = octetsOf(address);
  if (own === "") return { isConfirmed: false, failure: "" };
  const found = await ask(() => resolver.resolvePtr(reverseName(address)));
  let { failure } = found;
  const names = found.records.map((name) => name.toLowerCase().replace(/\.$/, ""));
  const wanted = names.filter((name) => domains.some((domain) => name.endsWith(`.${domain}`)));
  for (const name of wanted.slice(0, MAX_REVERSE_NAMES)) {
    const [v4, v6] = await Promise.all([ask(() => resolver.resolve4(name)), ask(() => resolver.resolve6(name))]);
    if ([...v4.records, ...v6.records].some((one) => octetsOf(one) === own)) return { isConfirmed: true, failure: "" };
    failure ||= v4.failure || v6.failure;
  }
  return { isConfirmed: false, failure };
}

/** The one text of an address; "" for what is none. */
function octetsOf(address: string): string {
  const octets = Buffer.alloc(16);
  return parseAddress(address, octets) ? octets.toString("hex") : "";
}

async function query(resolver: Resolver, candidates: readonly string[], name: string): Promise<NameRecords> {
  let failure = "";
  for (const candidate of candidates) {
    const [v4, v6] = await Promise.all([
      ask(() => resolver.resolve4(candidate, { ttl: true })),
      ask(() => resolver.resolve6(candidate, { ttl: true })),
    ]);
    const records = [...v4.records, ...v6.records];
    if (records.length > 0) return { addresses: alternate(v4, v6), ttlMs: ttlOf(records), failure: "" };
    failure ||= v4.failure || v6.failure;
  }
  // A resolver that does not answer is no reason to ask it in another way.
  if (failure !== "") return { addresses: [], ttlMs: 0, failure };
  const found = await lookup(name, { all: true }).catch(() => []);
  return { addresses: found.map(({ address }) => address), ttlMs: FILE_TTL_MS, failure: "" };
}

interface Asked<T> {
  readonly records: readonly T[];
  readonly failure: string;
}

interface AddressRecord {
  readonly address: string;
  readonly ttl: number;
}

async function ask<T>(question: () => Promise<readonly T[]>): Promise<Asked<T>> {
  try {
    return { records: await question(), failure: "" };
  } catch (error) {
    const code = String((error as { code?: unknown }).code ?? "failed").replace(/^DNS_/, "");
    return { records: [], failure: NO_RECORDS.has(code) ? "" : code };
  }
}

/** RFC 8305 §4: the families in turn, so that one that does not work costs one attempt. */
function alternate(v4: Asked<AddressRecord>, v6: Asked<AddressRecord>): string[] {
  const addresses: string[] = [];
  const longest = Math.min(MAX_ADDRESSES, Math.max(v4.records.length, v6.records.length));
  for (let i = 0; i < longest; i++) {
    const pair = [v4.records[i], v6.records[i]];
    for (const record of pair) if (record !== undefined) addresses.push(record.address);
  }
  return addresses.slice(0, MAX_ADDRESSES);
}

function ttlOf(records: readonly AddressRecord[]): number {
  const seconds = records.reduce((least, { ttl }) => Math.min(least, ttl), Number.POSITIVE_INFINITY);
  return Math.min(Math.max(seconds * 1000, MIN_TTL_MS), MAX_TTL_MS);
}

function resolverFor(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers.length > 0) resolver.setServers([...servers]);
  return resolver;
}

/** resolv.conf(5): a name with enough dots is asked as it is first, others with the search list before. */
function candidatesOf(name: string, { search, ndots }: ResolvConf): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const searched = search.map((domain) => `${name}.${domain}`);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...searched] : [...searched, name];
}

/** The part that is read of resolv.conf(5). */
interface ResolvConf {
  readonly servers: readonly string[];
  readonly search: readonly string[];
  readonly ndots: number;
}

/** Reads resolv.conf(5). */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let search: string[] = [];
  let ndots = 1;
  for (const line of text.split("\n")) {
    const [word, ...rest] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    if (word === "nameserver" && ipVersion(rest[0] ?? "") !== 0) servers.push(rest[0]!);
    else if (word === "search" || word === "domain") search = rest.map((domain) => domain.replace(/\.$/, ""));
    else if (word === "options") {
      for (const option of rest) ndots = Number(/^ndots:(\d{1,2})$/.exec(option)?.[1] ?? ndots);
    }
  }
  return { servers: servers.slice(0, MAX_SERVERS), search: search.slice(0, MAX_SEARCH).filter(Boolean), ndots };
}

/** Reads hosts(5): the addresses of each name, in lower case. `localhost` is there in any case (RFC 6761 §6.3). */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (ipVersion(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [address]);
      else if (!known.includes(address) && known.length < MAX_ADDRESSES) known.push(address);
    }
  }
  if (!hosts.has("localhost")) hosts.set("localhost", ["127.0.0.1", "::1"]);
  return hosts;
}

/** A file whose meaning is kept until it changes; one that cannot be read is as good as empty. */
class WatchedFile<T> {
  private readonly path: string;
  private readonly parse: (text: string) => T;
  private stamp = "none";
  private value: T;

  constructor(path: string, parse: (text: string) => T) {
    this.path = path;
    this.parse = parse;
    this.value = parse("");
  }

  read(): T {
    try {
      const { mtimeMs, size, ino } = statSync(this.path);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (stamp !== this.stamp) this.value = this.parse(readFileSync(this.path, "utf8"));
      this.stamp = stamp;
    } catch {
      if (this.stamp !== "none") this.value = this.parse("");
      this.stamp = "none";
    }
    return this.value;
  }
}

/** What the library calls a response that holds nothing. */
const NO_RECORDS: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "ENONAME"]);
const QUERY_TIMEOUT_MS = 500;
const QUERY_TRIES = 2;
/** Without a time to live, and for files, which edge reads each time. */
const FILE_TTL_MS = 1000;
/** A response is used for a second even if it says 0, so that a burst of connections asks once. */
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 300_000;
/** Addresses of one name that are kept. */
const MAX_ADDRESSES = 1024;
/** As the C library. */
const MAX_SERVERS = 3;
const MAX_SEARCH = 6;
const DNS_PORT = 53;
const systemConf: WatchedFile<ResolvConf> = new WatchedFile("/etc/resolv.conf", parseResolvConf);
