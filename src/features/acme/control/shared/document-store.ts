/** A text in a store that several gateways share. */
export interface StoredDocument {
  readonly text: string;
  /** Changes with every write, and is never used again. */
  readonly version: string;
  /** Milliseconds since it was written, by the store's own clock: clocks of gateways need not agree. */
  readonly ageMs: number;
}

/** What `read` gives for a version that the caller has already. */
export const SAME = "same";

/**
 * Where several gateways keep what they share of their certificates: documents that are replaced only by who has seen what is replaced.
 * Locks and fencing follow from that (order-claim.ts). The one port between this feature and Redis or S3. docs/acme.md#one-store-for-several-gateways
 */
export interface DocumentStore {
  /**
   * @param name of `a-z A-Z 0-9 . _ - /` @param known a version that the caller has; "" for none
   * @returns null if there is none
   * @throws StoreAway
   */
  read(name: string, known: string): Promise<StoredDocument | null | typeof SAME>;
  /**
   * Puts a document in the place of the version that is expected; "" if there must be none.
   * @returns its version
   * @throws DocumentConflict where another version is there, StoreAway
   */
  write(name: string, text: string, expected: string): Promise<string>;
  /** The names of all documents that begin so. @throws StoreAway */
  list(prefix: string): Promise<readonly string[]>;
  close(): void;
}

/** Another gateway has written meanwhile. */
export class DocumentConflict extends Error {}

/** The store cannot be reached, or does not do what it is asked for. */
export class StoreAway extends Error {}

/** Bytes of a document: a chain of ten certificates with its key has some 20,000. */
export const MAX_DOCUMENT_BYTES = 1_048_576;
