import {
  type NameQuery,
  type NameRecords,
  type ReverseQuery,
  type ReverseRecord,
  systemQuery,
  systemReverse,
} from "./name-servers.ts";

/** Takes the addresses of a name; `failure` says why there are none. */
export type NameListener = (addresses: readonly string[], failure: string) => void;

/** Whom a resolver asks: `proxy.transport`. */
interface NameSettings {
  /** `address[:port]`; none for those of the system. */
  readonly nameservers: readonly string[];
  /** For how long addresses serve on after the servers have said that a name has none. */
  readonly dnsHoldMs: number;
}

/** The parts of a resolver. */
interface ResolverPorts {
  readonly query: NameQuery;
  readonly reverse: ReverseQuery;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Runs something later; gives a way to call it off. */
  readonly after: (ms: number, act: () => void) => () => void;
  /** The name servers did not answer, or know a name no longer: why. At most once a minute for a name. */
  readonly onFailure: (name: string, failure: string) => void;
  /** A name has addresses that the other threads may not know. See `learn`. */
  readonly onKnown: (known: KnownName) => void;
}

/** The addresses of a name, as one thread tells them to another. */
export interface KnownName {
  /** In lower case. */
  readonly name: string;
  readonly addresses: readonly string[];
  /** For how long they may be used without asking, in milliseconds. */
  readonly ttlMs: number;
}

/** From a worker: addresses that the other threads may not know. */
export interface NamedMessage {
  readonly kind: "named";
  readonly known: KnownName;
}

/** From the control thread: another thread has found addresses. */
export interface NamesMessage {
  readonly kind: "names";
  readonly known: KnownName;
}

interface Entry {
  addresses: readonly string[];
  /** Why the last question had no response; "" if it had one, whatever it says. */
  failure: string;
  /** When the addresses are too old to be used without asking. */
  expiresMs: number;
  /** Since when the servers say that there are no addresses any more; Infinity if they do not. */
  lostMs: number;
  askedMs: number;
  /** When a connection last wanted the addresses. */
  usedMs: number;
  /** When the other threads were last told, and of what. */
  publishedMs: number;
  published: string;
  isAsking: boolean;
  /** Whether a look-up is about to start. */
  isDue: boolean;
  /** Whether the resolver looks it up again once its time to live is over. */
  isWatched: boolean;
  toldMs: number;
  /** Index of the next connection's first address. */
  first: number;
  /** Recently failed addresses, and the last one that took a connection after its failure. */
  readonly avoided: Map<string, Avoided>;
  proven: string;
  readonly waiting: Set<NameListener>;
}

/** An address that comes last. */
interface Avoided {
  untilMs: number;
  /** For how long, if it fails once more. */
  nextMs: number;
}

/**
 * The addresses of names, for all connections of one thread. Known addresses serve at once and a question runs beside the
 * connection; they are kept while the name servers do not answer, and for a while after the servers know them no longer. The
 * threads of a process tell each other. docs/operations.md#names
 */
export class NameResolver {
  private readonly ports: Omit<ResolverPorts, "query" | "reverse">;
  private query: NameQuery;
  private reverse: ReverseQuery;
  private servers = "";
  private holdMs = 0;
  private readonly entries: Map<string, Entry> = new Map();

  constructor(ports: ResolverPorts) {
    this.ports = ports;
    this.query = ports.query;
    this.reverse = ports.reverse;
  }

  /**
   * Asks so from now on; known addresses stay until they are too old.
   * @param known what other threads know
   */
  use({ nameservers: servers, dnsHoldMs }: NameSettings, known: readonly KnownName[] = []): void {
    for (const one of known) this.learn(one);
    this.holdMs = dnsHoldMs;
    const key = servers.join(" ");
    if (key === this.servers) return;
    this.servers = key;
    this.query = systemQuery(servers);
    this.reverse = systemReverse(servers);
  }

  /**
   * Finds the addresses of a name. The listener is called once: at once if they are known, else when they have come, or
   * after PATIENCE_MS with the failure.
   */
  resolve(name: string, listener: NameListener): void {
    const entry = this.entryOf(name);
    const now = this.ports.now();
    entry.usedMs = now;
    if (now >= entry.expiresMs) this.ask(name, entry);
    const patienceMs = now < entry.expiresMs && !isUnknown(entry) ? 0 : patienceOf(entry, now);
    if (patienceMs === 0) this.tell(entry, listener);
    else this.wait(entry, listener, patienceMs);
  }

  /**
   * Connections to all addresses of this name failed: asks again, REFRESH_MS after it was asked last at the earliest. A name
   * that has just moved so costs no request.
   * @param listener called once with the addresses as they are then, after REFRESH_PATIENCE_MS at the latest; at once if the
   *   servers did not answer the last time
   */
  refresh(name: string, listener: NameListener): void {
    const entry = this.entryOf(name);
    const earlyMs = entry.askedMs + REFRESH_MS - this.ports.now();
    if (!entry.isAsking && earlyMs > 0 && entry.failure !== "") {
      this.tell(entry, listener);
      return;
    }
    this.wait(entry, listener, REFRESH_PATIENCE_MS);
    if (earlyMs <= 0) this.ask(name, entry);
    else if (!entry.isAsking && !entry.isDue) {
      entry.isDue = true;
      this.ports.after(earlyMs, () => {
        entry.isDue = false;
        this.ask(name, entry);
      });
    }
  }

  /** An address of this name refused a connection, or was slow to take it: for a while it is the last to be tried. */
  failed(name: string, address: string): void {
    const entry = this.entryOf(name);
    const { avoided } = entry;
    if (entry.proven === address) entry.proven = "";
    const forMs = avoided.get(address)?.nextMs ?? AVOID_MS;
    avoided.set(address, { untilMs: this.ports.now() + forMs, nextMs: Math.min(2 * forMs, MAX_AVOID_MS) });
  }

  /** An address of this name took a connection. */
  worked(name: string, address: string): void {
    const entry = this.entryOf(name);
    entry.proven = address;
    if (entry.avoided.size > 0) entry.avoided.delete(address);
  }

  /** The address of this name that took a connection last; "" if it has failed since, or none has. */
  provenOf(name: string): string {
    return this.entryOf(name).proven;
  }

  /** Whether the first look-up of a name is under way: requests for it wait for the name servers. */
  isAwaited(name: string): boolean {
    const entry = this.entries.get(name.toLowerCase());
    return entry !== undefined && entry.addresses.length === 0;
  }

  /** Takes what another thread has found. What this one has found itself meanwhile, and is as fresh, stays. */
  learn({ name, addresses, ttlMs }: KnownName): void {
    const entry = this.entryOf(name);
    const expiresMs = this.ports.now() + ttlMs;
    if (addresses.length === 0 || (entry.addresses.length > 0 && entry.expiresMs >= expiresMs)) return;
    this.takeAddresses(entry, addresses);
    entry.expiresMs = expiresMs;
    entry.published = addresses.join();
    entry.publishedMs = this.ports.now();
    this.tellAll(entry);
  }

  /** All names that have addresses, for a thread or a process that starts. */
  known(): readonly KnownName[] {
    const now = this.ports.now();
    return [...this.entries]
      .filter(([, { addresses }]) => addresses.length > 0)
      .map(([name, { addresses, expiresMs }]) => ({ name, addresses, ttlMs: Math.max(0, expiresMs - now) }));
  }

  /**
   * Finds out whether an address has a name below one of the domains which leads back to it. Nothing of it is kept here.
   * @param listener called once, later: after PATIENCE_MS with `ETIMEOUT` if nothing has come
   */
  confirm(
    address: string,
    domains: readonly string[],
    listener: (isConfirmed: boolean, failure: string) => void,
  ): void {
    let isTold = false;
    const tell = ({ isConfirmed, failure }: ReverseRecord): void => {
      if (isTold) return;
      isTold = true;
      giveUp();
      listener(isConfirmed, failure);
    };
    const giveUp = this.ports.after(PATIENCE_MS, () => tell({ isConfirmed: false, failure: "ETIMEOUT" }));
    const failed = (error: unknown): ReverseRecord => ({ isConfirmed: false, failure: String(error) });
    void this.reverse(address, domains).catch(failed).then(tell);
  }

  private wait(entry: Entry, listener: NameListener, patienceMs: number): void {
    const giveUp = this.ports.after(patienceMs, () => {
      if (entry.waiting.delete(once)) this.tell(entry, listener);
    });
    const once: NameListener = (addresses, failure) => {
      giveUp();
      listener(addresses, failure);
    };
    entry.waiting.add(once);
  }

  private tell(entry: Entry, listener: NameListener): void {
    const { addresses, failure } = entry;
    entry.first = (entry.first + 1) % Math.max(1, addresses.length);
    if (addresses.length > 0) listener(this.inTurn(entry), "");
    else listener(addresses, failure || (isUnknown(entry) ? "ETIMEOUT" : NO_NAME));
  }

  private tellAll(entry: Entry): void {
    const waiting = [...entry.waiting];
    entry.waiting.clear();
    for (const listener of waiting) this.tell(entry, listener);
  }

  /** Each connection begins with another address; recently failed ones come last. */
  private inTurn({ addresses, avoided, first }: Entry): readonly string[] {
    if (addresses.length === 1) return addresses;
    const turned = [...addresses.slice(first), ...addresses.slice(0, first)];
    if (avoided.size === 0) return turned;
    const now = this.ports.now();
    const isAvoided = (address: string) => (avoided.get(address)?.untilMs ?? 0) > now;
    return [...turned.filter((one) => !isAvoided(one)), ...turned.filter(isAvoided)];
  }

  private ask(name: string, entry: Entry): void {
    if (entry.isAsking) return;
    entry.isAsking = true;
    entry.askedMs = this.ports.now();
    const failed = (error: unknown): NameRecords => ({ addresses: [], ttlMs: 0, failure: String(error) });
    void this.query(name)
      .catch(failed)
      .then((records) => this.take(name, entry, records));
  }

  private take(name: string, entry: Entry, { addresses, ttlMs, failure }: NameRecords): void {
    const now = this.ports.now();
    entry.isAsking = false;
    entry.failure = failure;
    const isFound = failure === "" && addresses.length > 0;
    entry.expiresMs = now + (isFound ? ttlMs : RETRY_MS);
    if (isFound) {
      this.takeAddresses(entry, addresses);
      this.publish(name, entry, ttlMs);
      this.keepFresh(name, entry, ttlMs);
    } else if (failure === "") this.lose(name, entry);
    else this.complain(name, entry, failure);
    this.tellAll(entry);
  }

  private takeAddresses(entry: Entry, addresses: readonly string[]): void {
    entry.addresses = addresses;
    if (addresses.length > 0) entry.lostMs = Number.POSITIVE_INFINITY;
    if (!addresses.includes(entry.proven)) entry.proven = "";
    if (entry.avoided.size === 0) return;
    const left = new Set(addresses);
    for (const address of entry.avoided.keys()) if (!left.has(address)) entry.avoided.delete(address);
  }

  /** The servers say that the name has no addresses. */
  private lose(name: string, entry: Entry): void {
    const now = this.ports.now();
    entry.lostMs = Math.min(entry.lostMs, now);
    if (now - entry.lostMs >= this.holdMs) this.takeAddresses(entry, []);
    if (entry.addresses.length > 0) this.complain(name, entry, NO_NAME);
  }

  private complain(name: string, entry: Entry, failure: string): void {
    const now = this.ports.now();
    if (now - entry.toldMs < TELL_MS) return;
    entry.toldMs = now;
    this.ports.onFailure(name, failure);
  }

  /** Tells the other threads, if it is news to them or the last message is old. */
  private publish(name: string, entry: Entry, ttlMs: number): void {
    const now = this.ports.now();
    const text = entry.addresses.join();
    if (text === entry.published && now - entry.publishedMs < PUBLISH_MS) return;
    entry.published = text;
    entry.publishedMs = now;
    this.ports.onKnown({ name: name.toLowerCase(), addresses: entry.addresses, ttlMs });
  }

  /** Refreshes a name in use before a connection needs it, so that none goes to an address that has left. */
  private keepFresh(name: string, entry: Entry, ttlMs: number): void {
    if (entry.isWatched) return;
    entry.isWatched = true;
    this.ports.after(ttlMs, () => {
      entry.isWatched = false;
      const now = this.ports.now();
      if (this.entries.get(name.toLowerCase()) !== entry) return;
      if (now < entry.expiresMs) this.keepFresh(name, entry, entry.expiresMs - now);
      else if (now - entry.usedMs < IN_USE_MS) this.ask(name, entry);
    });
  }

  private entryOf(name: string): Entry {
    const key = name.toLowerCase();
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = {
        addresses: [],
        failure: "",
        expiresMs: Number.NEGATIVE_INFINITY,
        lostMs: Number.POSITIVE_INFINITY,
        askedMs: Number.NEGATIVE_INFINITY,
        usedMs: Number.NEGATIVE_INFINITY,
        publishedMs: Number.NEGATIVE_INFINITY,
        published: "",
        isAsking: false,
        isDue: false,
        isWatched: false,
        toldMs: Number.NEGATIVE_INFINITY,
        first: 0,
        avoided: new Map(),
        proven: "",
        waiting: new Set(),
      };
      this.entries.set(key, entry);
      if (this.entries.size > MAX_NAMES) this.forgetOldest();
    }
    return entry;
  }

  /** Names come from the configuration, and from the requests that pass a sidecar. */
  private forgetOldest(): void {
    for (const [name, entry] of this.entries) {
      if (entry.isAsking || entry.isDue) continue;
      this.entries.delete(name);
      return;
    }
  }
}

/** Whether a failure says that the name does not exist, rather than that the servers do not say. */
export function isNoName(failure: string): boolean {
  return failure === NO_NAME;
}

/** Whether nothing has been found of a name yet, not even that it cannot be found. */
function isUnknown({ addresses, failure, lostMs }: Entry): boolean {
  return addresses.length === 0 && failure === "" && lostMs === Number.POSITIVE_INFINITY;
}

/** How long a connection waits for the servers before it goes on with known addresses. */
function patienceOf(entry: Entry, now: number): number {
  if (isUnknown(entry)) return PATIENCE_MS;
  if (entry.addresses.length === 0) return SHORT_PATIENCE_MS;
  // A name without a connection for long may have moved; if the servers are silent, its addresses are what there is.
  return entry.failure === "" && now - entry.expiresMs >= STALE_MS ? SHORT_PATIENCE_MS : 0;
}

/** The resolver of this thread, which asks as the system would. */
export function threadResolver(
  onFailure: ResolverPorts["onFailure"],
  onKnown: ResolverPorts["onKnown"] = () => {},
): NameResolver {
  return new NameResolver({
    query: systemQuery([]),
    reverse: systemReverse([]),
    now: () => performance.now(),
    after: (ms, act) => {
      const timer = setTimeout(act, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
    onFailure,
    onKnown,
  });
}

const NO_NAME = "ENOTFOUND";
/** How long a connection waits for a name of which nothing is known. */
const PATIENCE_MS = 2000;
/** And for a name without an address, or without use for long. */
const SHORT_PATIENCE_MS = 100;
/** Least time between look-ups of a name after failed connections, and how long such a connection waits. */
const REFRESH_MS = 100;
const REFRESH_PATIENCE_MS = 500;
/** And after no response. */
const RETRY_MS = 1000;
/** For how long an address that failed is the last to be tried: at first, and at most. */
const AVOID_MS = 10_000;
const MAX_AVOID_MS = 300_000;
/** How far beyond their time to live addresses serve at once. */
const STALE_MS = 60_000;
/** A name is kept fresh for so long after its last connection. */
const IN_USE_MS = 600_000;
/** How often threads learn of addresses that have not changed. */
const PUBLISH_MS = 30_000;
const TELL_MS = 60_000;
const MAX_NAMES = 4096;
