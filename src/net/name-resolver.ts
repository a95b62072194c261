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

/** What a resolver is made of. */
export interface ResolverPorts {
  readonly query: NameQuery;
  readonly reverse: ReverseQuery;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Runs something later; gives a way to call it off. */
  readonly after: (ms: number, act: () => void) => () => void;
  /** The name servers did not answer: why. At most once a minute for a name. */
  readonly onFailure: (name: string, failure: string) => void;
}

interface Entry {
  addresses: readonly string[];
  failure: string;
  /** When the addresses are too old to be used without asking. */
  expiresMs: number;
  askedMs: number;
  isAsking: boolean;
  /** Whether it will be asked in a moment. */
  isDue: boolean;
  toldMs: number;
  /** Where the next connection begins among the addresses. */
  first: number;
  /** Addresses that failed lately, and until when they come last. */
  readonly failedUntilMs: Map<string, number>;
  readonly waiting: Set<NameListener>;
}

/**
 * The addresses of names, for all connections of one thread: kept for their time to live, asked for again at once after a
 * connection failed, and kept beyond their time while the name servers do not answer. docs/operations.md#names
 */
export class NameResolver {
  private readonly ports: Omit<ResolverPorts, "query" | "reverse">;
  private query: NameQuery;
  private reverse: ReverseQuery;
  private servers = "";
  private readonly entries: Map<string, Entry> = new Map();

  constructor(ports: ResolverPorts) {
    this.ports = ports;
    this.query = ports.query;
    this.reverse = ports.reverse;
  }

  /**
   * Asks these name servers from now on, as `address[:port]`, or the system's where there are none; what is known stays until
   * it is too old.
   */
  useServers(servers: readonly string[]): void {
    const key = servers.join(" ");
    if (key === this.servers) return;
    this.servers = key;
    this.query = systemQuery(servers);
    this.reverse = systemReverse(servers);
  }

  /**
   * Finds the addresses of a name. The listener is called once: at once where they are known, else when they have come, or
   * after PATIENCE_MS with those from before.
   */
  resolve(name: string, listener: NameListener): void {
    const entry = this.entryOf(name);
    const now = this.ports.now();
    if (now < entry.expiresMs && !entry.isAsking) {
      this.tell(entry, listener);
      return;
    }
    this.ask(name, entry);
    // The servers did not answer the last time: no connection waits for them again while there is something to go by.
    if (entry.failure !== "" && entry.addresses.length > 0) this.tell(entry, listener);
    else this.wait(entry, listener);
  }

  /**
   * Connections to addresses of this name failed: asks again, REFRESH_MS after it was asked last at the earliest. The wait is
   * short, and a name that has just moved costs no request.
   * @param listener called once with the addresses as they are then; at once where the servers did not answer the last time
   */
  refresh(name: string, listener: NameListener): void {
    const entry = this.entryOf(name);
    const earlyMs = entry.askedMs + REFRESH_MS - this.ports.now();
    if (!entry.isAsking && earlyMs > 0 && entry.failure !== "") {
      this.tell(entry, listener);
      return;
    }
    this.wait(entry, listener);
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
    this.entryOf(name).failedUntilMs.set(address, this.ports.now() + AVOID_MS);
  }

  /**
   * Finds out whether an address has a name below one of the domains which leads back to it. Nothing of it is kept here.
   * @param listener called once, later: after PATIENCE_MS with `ETIMEOUT` where nothing has come
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

  private wait(entry: Entry, listener: NameListener): void {
    const giveUp = this.ports.after(PATIENCE_MS, () => {
      if (entry.waiting.delete(once)) this.tell(entry, listener);
    });
    const once: NameListener = (addresses, failure) => {
      giveUp();
      listener(addresses, failure);
    };
    entry.waiting.add(once);
  }

  private tell(entry: Entry, listener: NameListener): void {
    const { addresses, failure, isAsking } = entry;
    entry.first = (entry.first + 1) % Math.max(1, addresses.length);
    if (addresses.length > 0) listener(this.inTurn(entry), "");
    else listener(addresses, failure || (isAsking ? "ETIMEOUT" : "ENOTFOUND"));
  }

  /** Each connection begins with another address; those that failed lately come last. */
  private inTurn({ addresses, failedUntilMs, first }: Entry): readonly string[] {
    if (addresses.length === 1) return addresses;
    const now = this.ports.now();
    const turned = addresses.map((_, i) => addresses[(first + i) % addresses.length]!);
    if (failedUntilMs.size === 0) return turned;
    const isFailed = (address: string) => (failedUntilMs.get(address) ?? 0) > now;
    return [...turned.filter((one) => !isFailed(one)), ...turned.filter(isFailed)];
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
    if (failure === "") entry.addresses = addresses;
    for (const address of entry.failedUntilMs.keys()) {
      if (!entry.addresses.includes(address)) entry.failedUntilMs.delete(address);
    }
    entry.expiresMs = now + (failure === "" && addresses.length > 0 ? ttlMs : RETRY_MS);
    if (failure !== "" && now - entry.toldMs >= TELL_MS) {
      entry.toldMs = now;
      this.ports.onFailure(name, failure);
    }
    const waiting = [...entry.waiting];
    entry.waiting.clear();
    for (const listener of waiting) this.tell(entry, listener);
  }

  private entryOf(name: string): Entry {
    const key = name.toLowerCase();
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = {
        addresses: [],
        failure: "",
        expiresMs: Number.NEGATIVE_INFINITY,
        askedMs: Number.NEGATIVE_INFINITY,
        isAsking: false,
        isDue: false,
        toldMs: Number.NEGATIVE_INFINITY,
        first: 0,
        failedUntilMs: new Map(),
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

/** The resolver of this thread, which asks as the system would. */
export function threadResolver(onFailure: ResolverPorts["onFailure"]): NameResolver {
  return new NameResolver({
    query: systemQuery([]),
    reverse: systemReverse([]),
    now: () => performance.now(),
    after: (ms, act) => {
      const timer = setTimeout(act, ms);
      return () => clearTimeout(timer);
    },
    onFailure,
  });
}

/** How long a connection waits for name servers. */
const PATIENCE_MS = 2000;
/** How soon a name is asked for again after a failed connection. */
const REFRESH_MS = 100;
/** And after no response. */
const RETRY_MS = 1000;
/** For how long an address that failed is the last to be tried. */
const AVOID_MS = 10_000;
const TELL_MS = 60_000;
const MAX_NAMES = 4096;
