import type { IssuedCertificate } from "./certificate-authority.ts";
import type { OrderRight } from "./order-right.ts";
import type { RetryNote } from "./retry-note.ts";
import type { Soon } from "./soon.ts";
import type { StoredAccount, StoredCertificate } from "./stored-certificate.ts";

/** Where the account at one directory is kept. */
export interface AccountStorage {
  /** Null before there is one. @throws BrokenStore */
  account(): Soon<StoredAccount | null>;
  /** Keeps an account. @returns the one that is kept: that of another gateway, if it was faster */
  saveAccount(account: StoredAccount): Soon<StoredAccount>;
  /** Keeps a key that is to be the account's, before the directory learns of it. */
  saveNextKey(key: string): Soon<void>;
  /** Puts another key in the place of the account's. */
  replaceAccount(account: StoredAccount): Soon<void>;
  /** Puts what is broken aside. */
  discardAccount(): Soon<void>;
}

/** Facts about a certificate beside itself, as it is noted. */
export type RecordFields = Pick<StoredCertificate, "fingerprint" | "renewAtMs" | "directoryUrl">;

/** Where certificates of one directory are kept: in files (certificate-store.ts), or shared with other gateways (shared). */
export interface CertificateStorage {
  /** Whether other gateways have it, too. */
  readonly isShared: boolean;
  /** Makes ready what is needed. @throws when that cannot be done */
  open(): Soon<void>;
  /** Whether there is a certificate for a set of names, good or not. */
  has(names: readonly string[]): Soon<boolean>;
  /**
   * The certificate for a set of names; null if there is none.
   * @param isSure whether a copy will not do, since an order depends on it
   * @throws BrokenStore, StoreAway if there is no copy, or it will not do
   */
  load(names: readonly string[], isSure?: boolean): Soon<StoredCertificate | null>;
  /** Good certificates for other sets that cover some of these names. @param nowMs milliseconds since the epoch */
  others(names: readonly string[], nowMs: number): Soon<readonly StoredCertificate[]>;
  /** Puts a certificate in place of the one before. @param issuer the directory where it was obtained */
  save(names: readonly string[], issued: IssuedCertificate, issuer: string): Soon<void>;
  /** Notes when the certificate is to be renewed. @param askAgainMs when the directory is to be asked again */
  saveRecord(names: readonly string[], record: RecordFields, askAgainMs?: number): Soon<void>;
  /** Puts a broken certificate aside. */
  discard(names: readonly string[]): Soon<void>;
  /** What is noted of failed attempts; null if there were none. */
  readNote(names: readonly string[], nowMs: number): Soon<RetryNote | null>;
  /** Notes failed attempts. Never fails: the wait is kept to all the same as long as the process lives. */
  saveNote(names: readonly string[], note: RetryNote): Soon<void>;
  /** The right to order for these names; null while another process or gateway has it. */
  claim(names: readonly string[]): Soon<OrderRight | null>;
  /** Whether it is for this gateway to ask the directory for the window of renewal. */
  mayAsk(names: readonly string[], nowMs: number): Soon<boolean>;
  /** Is told when another gateway has changed what is kept for these names. @returns ends it */
  watch(names: readonly string[], onChange: () => void): () => void;
}

/** Both. */
export type DirectoryStorage = AccountStorage & CertificateStorage;
