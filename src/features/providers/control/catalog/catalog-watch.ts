import { messageOf } from "../../../../core/error-text.ts";
import { type Instance, inOrder } from "../labels/instance.ts";
import { BackOff, pause } from "../live/back-off.ts";
import type { SourceWatch, WatchPorts } from "../live/source-kind.ts";
import type { StoreClient } from "../live/store-client.ts";

/** A service of a catalog as its list has it. */
interface ListedService {
  /** Tells it from all others of the catalog. */
  readonly scope: string;
  readonly name: string;
  readonly namespace: string;
  /** Those of all its instances. */
  readonly tags: readonly string[];
}

/** A catalog of services: its questions, and how edge reads the responses. */
interface Catalog {
  /** Why there is none, such as a file that cannot be read, is thrown. */
  client(): StoreClient;
  readonly headers: Readonly<Record<string, string>>;
  /** Of each question. */
  readonly query: Readonly<Record<string, string>>;
  /** The field of a response that tells one state of the catalog from another. */
  readonly indexField: string;
  /** The list of services, which waits for a change. */
  readonly listPath: string;
  /** @throws Error for a document that is no list */
  listed(document: unknown): readonly ListedService[];
  /** What changes beside the list, if anything: its path, its query, and a text that is another one if instances are other ones. */
  readonly beside?: {
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    stateOf(document: unknown): string;
  };
  instancesPath(service: ListedService): { readonly path: string; readonly query: Readonly<Record<string, string>> };
  /** @throws Error for a document that is no list */
  instances(document: unknown, service: ListedService): readonly Instance[];
  /** Whether any instance of a service may have routes. */
  mayHaveRoutes(service: ListedService): boolean;
  hasRoutes(instance: Instance): boolean;
}

/** A catalog without what all catalogs have in common. */
export type CatalogReading = Omit<Catalog, "client" | "mayHaveRoutes" | "hasRoutes">;

/**
 * Follows the services of a catalog by questions that the catalog holds back until something changes. If it goes away or says nonsense, the
 * last instances stay. It polls nothing.
 */
export class CatalogWatch implements SourceWatch<Instance> {
  excess = "";
  private known: ReadonlyMap<string, readonly Instance[]>;
  private sorted: readonly Instance[];
  private services: readonly ListedService[] | null = null;
  private readonly catalog: Catalog;
  private readonly ports: WatchPorts;
  private readonly stopped: AbortController = new AbortController();
  private readonly backOff: BackOff = new BackOff(this.stopped.signal);
  private fetching: Promise<void> | null = null;
  private isDue = false;
  private isRetryDue = false;

  /** @param before instances of an earlier process */
  constructor(catalog: Catalog, ports: WatchPorts, before: readonly Instance[]) {
    this.catalog = catalog;
    this.ports = ports;
    this.known = Map.groupBy(before, ({ scope }) => scope);
    this.sorted = inOrder(before);
  }

  get items(): readonly Instance[] {
    return this.sorted;
  }

  async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      const session = new AbortController();
      const signal = AbortSignal.any([session.signal, this.stopped.signal]);
      const reason = await this.session(signal).catch(messageOf);
      session.abort();
      if (this.stopped.signal.aborted) return;
      this.ports.failed(String(reason));
      await this.backOff.wait();
    }
  }

  stop(): void {
    this.stopped.abort();
  }

  /** @throws why it has ended */
  private async session(signal: AbortSignal): Promise<never> {
    const { catalog } = this;
    const client = catalog.client();
    this.services = null;
    this.fetching = null;
    const list = this.follow(client, catalog.listPath, {}, signal, (document) => {
      this.services = catalog.listed(document);
      return true;
    });
    const { beside } = catalog;
    let state = "";
    const others =
      beside === undefined
        ? []
        : [
            this.follow(client, beside.path, beside.query, signal, (document) => {
              const before = state;
              state = beside.stateOf(document);
              return state !== before;
            }),
          ];
    return await Promise.race([list, ...others]);
  }

  /** Asks again and again. @param take whether instances may be other ones for a response */
  private async follow(
    client: StoreClient,
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    take: (document: unknown) => boolean,
  ): Promise<never> {
    const { catalog } = this;
    let index = 0;
    for (;;) {
      signal.throwIfAborted();
      const beginMs = performance.now();
      const wait = index === 0 ? { index: "", wait: "" } : { index: String(index), wait: `${WAIT_SECONDS}s` };
      const question = {
        path: pathOf(path, { ...catalog.query, ...query, ...wait }),
        headers: catalog.headers,
        signal,
      };
      const { document, headers } = await client.ask({ ...question, timeoutMs: LONGEST_MS }, MAX_LIST_BYTES);
      const said = headers.get(catalog.indexField) ?? "";
      if (!/^\d{1,16}$/.test(said)) throw new Error(`${path}: the response has no ${catalog.indexField}`);
      const next = Math.max(1, Number(said));
      const isOther = next !== index;
      // A catalog that has begun anew counts from the start.
      index = next < index ? 0 : next;
      if (isOther && take(document)) await this.fetch(client, signal);
      // A server that holds nothing back is not asked all the time.
      await pause(Math.max(0, LEAST_MS - (performance.now() - beginMs)), signal);
    }
  }

  /** Takes the instances as they are now: one fetch at a time, and another one if something has changed meanwhile. */
  private async fetch(client: StoreClient, signal: AbortSignal): Promise<void> {
    this.isDue = true;
    if (this.fetching === null) {
      const all = this.fetchAll(client, signal).finally(() => {
        if (this.fetching === all) this.fetching = null;
      });
      this.fetching = all;
    }
    await this.fetching;
  }

  private async fetchAll(client: StoreClient, signal: AbortSignal): Promise<void> {
    while (this.isDue && this.services !== null) {
      this.isDue = false;
      await this.take(client, this.services, signal);
    }
  }

  private async take(client: StoreClient, services: readonly ListedService[], signal: AbortSignal): Promise<void> {
    const { catalog } = this;
    const wanted = services.filter((service) => catalog.mayHaveRoutes(service));
    const found = new Map<string, readonly Instance[]>();
    const faults: string[] = [];
    const waiting = wanted.slice(0, MAX_SERVICES);
    const next = async (): Promise<void> => {
      for (let service = waiting.shift(); service !== undefined; service = waiting.shift()) {
        const { scope } = service;
        try {
          found.set(scope, await this.instancesOf(client, service, signal));
        } catch (error) {
          signal.throwIfAborted();
          // One service that cannot be read takes down no other, and keeps its instances.
          faults.push(messageOf(error));
          if (this.known.has(scope)) found.set(scope, this.known.get(scope)!);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    const sorted = inOrder([...found.values()].flat());
    this.excess =
      wanted.length > MAX_SERVICES
        ? `more than ${MAX_SERVICES} services have routes`
        : sorted.length > MAX_INSTANCES
          ? `more than ${MAX_INSTANCES} instances have routes`
          : "";
    const isSame = Bun.deepEquals(sorted.slice(0, MAX_INSTANCES), this.sorted);
    this.known = found;
    this.sorted = sorted.slice(0, MAX_INSTANCES);
    if (!isSame) this.ports.changed();
    if (faults.length > 0) return this.fetchLater(client, signal, faults[0]!);
    this.backOff.reset();
    this.ports.caughtUp();
  }

  private fetchLater(client: StoreClient, signal: AbortSignal, reason: string): void {
    this.ports.failed(reason);
    if (this.isRetryDue) return;
    this.isRetryDue = true;
    void this.backOff.wait().then(() => {
      this.isRetryDue = false;
      if (!signal.aborted) this.fetch(client, signal).catch(() => {});
    });
  }

  private async instancesOf(
    client: StoreClient,
    service: ListedService,
    signal: AbortSignal,
  ): Promise<readonly Instance[]> {
    const { catalog } = this;
    const { path, query } = catalog.instancesPath(service);
    const question = { path: pathOf(path, { ...catalog.query, ...query }), headers: catalog.headers, signal };
    const { document } = await client.ask({ ...question, timeoutMs: PATIENCE_MS }, MAX_SERVICE_BYTES);
    return catalog.instances(document, service).filter((one) => catalog.hasRoutes(one));
  }
}

function pathOf(path: string, query: Readonly<Record<string, string>>): string {
  const said = Object.entries(query).filter(([, value]) => value !== "");
  return said.length === 0 ? path : `${path}?${new URLSearchParams(said)}`;
}

/** So long a catalog holds a question back; it adds up to a sixteenth by itself. */
const WAIT_SECONDS = 55;
const LONGEST_MS = 75_000;
const PATIENCE_MS = 10_000;
const LEAST_MS = 100;
/** So many questions about services at once. */
const AT_ONCE = 8;
const MAX_SERVICES = 5000;
const MAX_INSTANCES = 20_000;
const MAX_LIST_BYTES = 67_108_864;
const MAX_SERVICE_BYTES = 16_777_216;
