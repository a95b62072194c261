import {
  DocumentConflict,
  type DocumentStore,
  SAME,
  StoreAway,
  type StoredDocument,
} from "../../src/features/acme/control/shared/document-store.ts";

/** A store of documents in memory, with a clock that tests move, and an outage that they make. */
export class MemoryDocuments implements DocumentStore {
  nowMs = 1_000_000;
  isAway = false;
  readonly documents: Map<string, { readonly text: string; readonly version: string; readonly atMs: number }> =
    new Map();
  writes = 0;

  async read(name: string, known: string): Promise<StoredDocument | null | typeof SAME> {
    this.mustBeThere();
    const found = this.documents.get(name);
    if (found === undefined) return null;
    if (found.version === known) return SAME;
    return { text: found.text, version: found.version, ageMs: this.nowMs - found.atMs };
  }

  async write(name: string, text: string, expected: string): Promise<string> {
    this.mustBeThere();
    if ((this.documents.get(name)?.version ?? "") !== expected) throw new DocumentConflict(name);
    const version = `v${++this.writes}`;
    this.documents.set(name, { text, version, atMs: this.nowMs });
    return version;
  }

  async list(prefix: string): Promise<readonly string[]> {
    this.mustBeThere();
    return [...this.documents.keys()].filter((name) => name.startsWith(prefix));
  }

  close(): void {}

  private mustBeThere(): void {
    if (this.isAway) throw new StoreAway("the store is away");
  }
}
