import { type DocumentSeal, SealBroken } from "./document-seal.ts";
import { DocumentConflict, type DocumentStore, SAME, StoreAway } from "./document-store.ts";

/** A document as it was read or written, with its content in the clear. */
export interface OpenDocument<T> {
  readonly value: T;
  readonly version: string;
  /** Milliseconds since it was written; as of the last read that asked for it. */
  readonly ageMs: number;
  /** As it is in the store. */
  readonly sealed: string;
  /** Whether it was sealed with the first of the keys. */
  readonly isCurrent: boolean;
}

/** Who learns how the store is. */
interface StoreListener {
  onAway(reason: string): void;
  onBack(): void;
}

/**
 * The documents of a store, sealed and in JSON. While the store is away, all fails at once but `probe`, which finds out when it is there again.
 */
export class SealedDocuments {
  /** Calls that the store did not answer. */
  failures = 0;
  private readonly store: DocumentStore;
  private readonly seal: DocumentSeal;
  private readonly listener: StoreListener;
  /** What was read or written last, by name: it is not fetched again while it is the same. */
  private readonly known: Map<string, OpenDocument<unknown>> = new Map();
  private reason = "";

  constructor(store: DocumentStore, seal: DocumentSeal, listener: StoreListener) {
    this.store = store;
    this.seal = seal;
    this.listener = listener;
  }

  get isAway(): boolean {
    return this.reason !== "";
  }

  /** @returns null if there is none @throws StoreAway, SealBroken */
  async read<T>(name: string): Promise<OpenDocument<T> | null> {
    return this.fetch(name, this.known.get(name)?.version ?? "");
  }

  /** The same with the age as it is now. */
  readFresh<T>(name: string): Promise<OpenDocument<T> | null> {
    return this.fetch(name, "");
  }

  /** The same, also while the store is away: whether it is there again. */
  async probe<T>(name: string): Promise<OpenDocument<T> | null> {
    const found = await this.fetch<T>(name, this.known.get(name)?.version ?? "", true);
    if (this.isAway) {
      this.reason = "";
      this.listener.onBack();
    }
    return found;
  }

  /** @param expected the version that is replaced; "" if there must be none @throws DocumentConflict, StoreAway */
  async write<T>(name: string, value: T, expected: string): Promise<OpenDocument<T>> {
    const sealed = this.seal.seal(name, JSON.stringify(value));
    const version = await this.asked(() => this.store.write(name, sealed, expected));
    return this.keep(name, { value, version, ageMs: 0, sealed, isCurrent: true });
  }

  list(prefix: string): Promise<readonly string[]> {
    return this.asked(() => this.store.list(prefix));
  }

  /** A document as `write` would put it there. */
  sealed(name: string, value: unknown): Pick<OpenDocument<unknown>, "sealed"> {
    return { sealed: this.seal.seal(name, JSON.stringify(value)) };
  }

  /** The content of a copy. @returns null for one that cannot be opened */
  opened<T>(name: string, sealed: string): T | null {
    try {
      return JSON.parse(this.seal.open(name, sealed).text) as T;
    } catch {
      return null;
    }
  }

  close(): void {
    this.store.close();
    this.known.clear();
  }

  private async fetch<T>(name: string, known: string, isProbe = false): Promise<OpenDocument<T> | null> {
    const found = await this.asked(() => this.store.read(name, known), isProbe);
    if (found === SAME) return this.known.get(name) as OpenDocument<T>;
    if (found === null) {
      this.known.delete(name);
      return null;
    }
    const { text, isCurrent } = this.seal.open(name, found.text);
    const { version, ageMs } = found;
    let value: T;
    try {
      value = JSON.parse(text);
    } catch {
      throw new SealBroken(`${name} is not JSON`);
    }
    return this.keep(name, { value, version, ageMs, sealed: found.text, isCurrent });
  }

  private keep<T>(name: string, document: OpenDocument<T>): OpenDocument<T> {
    this.known.delete(name);
    this.known.set(name, document);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
    return document;
  }

  private async asked<T>(work: () => Promise<T>, isProbe = false): Promise<T> {
    if (this.isAway && !isProbe) throw new StoreAway(this.reason);
    try {
      return await work();
    } catch (error) {
      if (error instanceof DocumentConflict) throw error;
      this.failures++;
      const away = error instanceof StoreAway ? error : new StoreAway(String(error));
      if (!this.isAway) {
        this.reason = away.message || "the store is away";
        this.listener.onAway(this.reason);
      }
      throw away;
    }
  }
}

/** Documents that are remembered. */
const MAX_KNOWN = 2048;
