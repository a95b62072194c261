import { withoutCredentials } from "../../core/secret-name.ts";
import { type FetchedText, type KeyReading, KeySetOwner } from "./key-set-owner.ts";

/** A set of keys that is fetched, as configured. */
export interface KeySetSource {
  /** Two sources are one if their ids are. */
  readonly id: string;
  readonly url: string;
  /** "" trusts the system's roots. */
  readonly caFile: string;
}

/** A set of keys as workers get it. */
interface KeptSet<Key> {
  readonly source: KeySetSource;
  readonly keys: readonly Key[];
}

/** What a log says of keys that were fetched. */
interface FetchedFields {
  readonly url: string;
  readonly keys: number;
  readonly passed_over?: readonly string[];
}

/** What a log says of keys that could not be fetched. */
interface FailedFields {
  readonly url: string;
  readonly error: string;
  readonly failures: number;
  readonly keys_kept: number;
  readonly retry_in_s: number;
}

interface SetPorts<Key> {
  /** Fetches a set: bounded in time and size. @throws why it cannot be had */
  fetch(source: KeySetSource): Promise<FetchedText>;
  /** Reads the keys of a set. @returns why it is none that can be used, as an Error */
  read(text: string): KeyReading<Key> | Error;
  /** The keys of a source are others than before. */
  onKeys(set: KeptSet<Key>, fields: FetchedFields): void;
  onFailure(fields: FailedFields): void;
}

/**
 * Keeps the keys of all sources that a configuration names, in the control thread: fetched once, whatever the number of workers.
 * docs/authentication.md#keys
 */
export class KeptKeySets<Key> {
  private readonly ports: SetPorts<Key>;
  private readonly kept: Map<string, { readonly source: KeySetSource; readonly owner: KeySetOwner<Key> }> = new Map();

  constructor(ports: SetPorts<Key>) {
    this.ports = ports;
  }

  /** Begins with the sources of a configuration, goes on with all that were there, and ends the others. */
  use(sources: readonly KeySetSource[]): void {
    const wanted = new Map(sources.map((source) => [source.id, source]));
    for (const [id, { owner }] of this.kept) {
      if (wanted.has(id)) continue;
      owner.stop();
      this.kept.delete(id);
    }
    for (const [id, source] of wanted) {
      const known = this.kept.get(id);
      if (known === undefined) this.open(source);
      else known.owner.hurry();
    }
  }

  stop(): void {
    this.use([]);
  }

  /** The sets that are there, for a worker that begins. */
  get sets(): readonly KeptSet<Key>[] {
    return [...this.kept.values()].flatMap(({ source, owner: { keys } }) => (keys === null ? [] : [{ source, keys }]));
  }

  /** A worker asks for newer keys of a source. @returns for how many milliseconds it need not ask again */
  async wanted(id: string): Promise<number> {
    return (await this.kept.get(id)?.owner.wanted()) ?? 0;
  }

  /** A value of each source, as a metric with its URL. */
  each<More extends object>(value: (owner: KeySetOwner<Key>) => number, more: More) {
    return [...this.kept.values()].map(({ source, owner }) => ({
      value: value(owner),
      labels: { ...more, url: withoutCredentials(source.url) },
    }));
  }

  /** How many fetches of each source went well and how many failed, as a metric. */
  get fetchCounts() {
    return [
      ...this.each(({ fetches }) => fetches, { result: "success" }),
      ...this.each(({ failures }) => failures, { result: "failure" }),
    ];
  }

  private open(source: KeySetSource): void {
    const { ports } = this;
    const url = withoutCredentials(source.url);
    const owner: KeySetOwner<Key> = new KeySetOwner({
      fetch: () => ports.fetch(source),
      read: ports.read,
      now: () => performance.now(),
      after(ms, act) {
        const timer = setTimeout(act, ms);
        return () => clearTimeout(timer);
      },
      onKeys: (keys, notes) =>
        ports.onKeys({ source, keys }, { url, keys: keys.length, ...(notes.length > 0 ? { passed_over: notes } : {}) }),
      onFailure: (reason, failures, retryInMs) =>
        ports.onFailure({
          url,
          error: reason.slice(0, MAX_REASON_CHARS),
          failures,
          keys_kept: owner.keys?.length ?? 0,
          retry_in_s: Math.round(retryInMs / 1000),
        }),
    });
    this.kept.set(source.id, { source, owner });
    void owner.fetch();
  }
}

const MAX_REASON_CHARS = 300;
