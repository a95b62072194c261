import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../../config/atomic-file.ts";
import { makeFolder } from "../../../config/made-folder.ts";
import { StoreLock } from "../../../net/store-lock.ts";
import type { IssuedCertificate } from "./certificate-authority.ts";
import type { DirectoryStorage, RecordFields } from "./certificate-storage.ts";
import { isFor } from "./issued-check.ts";
import type { OrderRight } from "./order-right.ts";
import { type RetryNote, readRetryNote, writeRetryNote } from "./retry-note.ts";
import type { StoredAccount, StoredCertificate } from "./stored-certificate.ts";

/** Facts about a certificate beside itself. */
export interface CertificateRecord {
  readonly names: readonly string[];
  readonly directoryUrl: string;
  /** The directory that its files are named after, if that is another one: the first of those asked. */
  readonly storedFor?: string;
  /** SHA-256 of the certificate that the record is about. */
  readonly fingerprint: string;
  /** The moment within the directory's suggested window at which to renew, in milliseconds since the epoch; or null. */
  readonly renewAtMs: number | null;
}

/** Why a file of the store is of no use. */
export class BrokenStore extends Error {}

/**
 * `cache_dir`: for each directory an account and its key, for each set of names a certificate, its key and a record.
 * Mode 0600, written by atomic rename. docs/acme.md#the-store
 *
 * Certificate and key are two files, so that other programs can use them, and are put in place one after the other. The
 * next key is still beside them if the process ends between the two, and `load` then finishes the work.
 */
export class AcmeStore implements DirectoryStorage {
  readonly isShared = false;
  readonly dir: string;
  private readonly directoryUrl: string;

  constructor(dir: string, directoryUrl: string) {
    this.dir = dir;
    this.directoryUrl = directoryUrl;
  }

  /**
   * Makes the folder if it is not there.
   * @throws when it cannot be made
   */
  open(): void {
    makeFolder(this.dir, 0o700);
  }

  /**
   * The account at the directory; null before there is one.
   * @throws BrokenStore
   */
  account(): StoredAccount | null {
    const keyFile = this.path(`${this.accountName()}.key`);
    if (!existsSync(keyFile)) return null;
    const key = readFileSync(keyFile, "utf8");
    attempt(keyFile, () => createPrivateKey(key));
    const recordFile = this.path(`${this.accountName()}.json`);
    if (!existsSync(recordFile)) return { key, url: "" };
    // Without the record, the key finds the account again (RFC 8555 §7.3.1).
    const url = attempt(recordFile, () => JSON.parse(readFileSync(recordFile, "utf8")).url);
    return { key, url: typeof url === "string" ? url : "" };
  }

  saveAccount(account: StoredAccount): StoredAccount {
    writeWhole(this.path(`${this.accountName()}.key`), account.key);
    const record = { directoryUrl: this.directoryUrl, url: account.url };
    writeWhole(this.path(`${this.accountName()}.json`), `${JSON.stringify(record)}\n`);
    return account;
  }

  saveNextKey(key: string): void {
    writeWhole(this.path(`${this.accountName()}.next.key`), key);
  }

  replaceAccount(account: StoredAccount): void {
    this.saveAccount(account);
    rmSync(this.path(`${this.accountName()}.next.key`), { force: true });
  }

  /** Puts what is broken aside, so that it can be inspected and does no harm. */
  discardAccount(): void {
    for (const end of [".key", ".json"]) setAside(this.path(this.accountName() + end));
  }

  /** Whether there is a certificate for a set of names, good or not. */
  has(names: readonly string[]): boolean {
    return existsSync(`${this.path(this.setName(names))}.crt`);
  }

  /**
   * The certificate for a set of names; null if there is none.
   * @throws BrokenStore
   */
  load(names: readonly string[]): StoredCertificate | null {
    const base = this.path(this.setName(names));
    if (!existsSync(`${base}.crt`)) return null;
    const { keyFile, ...certificate } = readCertificate(base);
    if (keyFile !== `${base}.key`) renameSync(keyFile, `${base}.key`);
    return { ...certificate, ...toldBy(recordAt(`${base}.json`), certificate.fingerprint) };
  }

  /**
   * Certificates for other sets that are good and cover some of these names: what there is where the set has changed.
   * @param nowMs milliseconds since the epoch
   */
  others(names: readonly string[], nowMs: number): readonly StoredCertificate[] {
    return this.usable().filter(({ chain, notAfterMs }) => {
      const certificate = new X509Certificate(chain);
      return notAfterMs > nowMs && names.some((name) => isFor(certificate, name));
    });
  }

  /** Puts a certificate in place of the one before. @param issuer the directory where it was obtained */
  save(names: readonly string[], issued: IssuedCertificate, issuer: string): void {
    const base = this.path(this.setName(names));
    writeWhole(`${base}.next.key`, issued.key);
    writeWhole(`${base}.crt`, issued.chain);
    renameSync(`${base}.next.key`, `${base}.key`);
    this.saveRecord(names, {
      fingerprint: new X509Certificate(issued.chain).fingerprint256,
      renewAtMs: null,
      directoryUrl: issuer,
    });
  }

  /** Notes when the certificate is to be renewed. */
  saveRecord(names: readonly string[], { fingerprint, renewAtMs, directoryUrl }: RecordFields): void {
    const isElsewhere = directoryUrl !== this.directoryUrl;
    const filed = isElsewhere ? { storedFor: this.directoryUrl } : {};
    const record: CertificateRecord = { names, directoryUrl, ...filed, fingerprint, renewAtMs };
    writeWhole(`${this.path(this.setName(names))}.json`, `${JSON.stringify(record)}\n`);
  }

  readNote(names: readonly string[], nowMs: number): RetryNote | null {
    return readRetryNote(this.retryFile(names), nowMs);
  }

  saveNote(names: readonly string[], note: RetryNote): void {
    writeRetryNote(this.retryFile(names), note);
  }

  /** One right for all names: two processes on one folder order one after the other. */
  claim(): OrderRight | null {
    const lock = new StoreLock(this.dir);
    return lock.take() ? lock : null;
  }

  mayAsk(): boolean {
    return true;
  }

  /** Every step reads what other processes have obtained. */
  watch(): () => void {
    return () => {};
  }

  /** Where failed attempts to get a certificate for a set of names are noted. */
  private retryFile(names: readonly string[]): string {
    return this.path(`${this.setName(names)}.retry.json`);
  }

  /** Puts a broken certificate aside, with its key and record. */
  discard(names: readonly string[]): void {
    for (const end of [".crt", ".key", ".json"]) setAside(this.path(this.setName(names) + end));
  }

  private usable(): readonly StoredCertificate[] {
    try {
      return listStore(this.dir).flatMap(({ found }) => (typeof found === "string" ? [] : [found]));
    } catch {
      // The first attempt to store something here reports the fault in the folder.
      return [];
    }
  }

  private path(name: string): string {
    return join(this.dir, name);
  }

  private accountName(): string {
    return accountName(this.directoryUrl);
  }

  private setName(names: readonly string[]): string {
    return setName(this.directoryUrl, names);
  }
}

/** What the account at a directory is filed under. */
export function accountName(directoryUrl: string): string {
  return `account-${digest(directoryUrl)}`;
}

/** What a certificate is filed under: one name to recognise it by, and a digest of all names and of the directory. */
export function setName(directoryUrl: string, names: readonly string[]): string {
  const sorted = [...names].sort();
  return `${sorted[0]!.replace(/[:*]/g, "_")}-${digest([directoryUrl, ...sorted].join("\n"))}`;
}

/** A certificate file of the store: its content, or why it cannot be used. */
export interface StoreEntry {
  readonly file: string;
  readonly found: StoredCertificate | string;
  readonly record: CertificateRecord | null;
}

/** Every certificate in a folder, for those who only look. */
export function listStore(dir: string): StoreEntry[] {
  if (!existsSync(dir)) return [];
  const bases = readdirSync(dir)
    .filter((file) => file.endsWith(".crt"))
    .sort();
  return bases.map((file) => {
    const base = join(dir, file.slice(0, -".crt".length));
    const record = recordAt(`${base}.json`);
    try {
      const { keyFile: _, ...certificate } = readCertificate(base);
      return { file, record, found: { ...certificate, ...toldBy(record, certificate.fingerprint) } };
    } catch (error) {
      return { file, record, found: (error as Error).message };
    }
  });
}

/** A certificate with what is to be known of it. @param issuer the directory where it was obtained */
export function storedForm(issued: IssuedCertificate, issuer = ""): StoredCertificate {
  const certificate = new X509Certificate(issued.chain);
  return {
    chain: issued.chain,
    key: issued.key,
    fingerprint: certificate.fingerprint256,
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
    isOurs: true,
    renewAtMs: null,
    directoryUrl: issuer,
  };
}

/** What a record says; one of another certificate, or none, means that another process put the certificate there. */
function toldBy(
  record: CertificateRecord | null,
  fingerprint: string,
): Pick<StoredCertificate, "isOurs" | "renewAtMs" | "directoryUrl"> {
  if (record === null || record.fingerprint !== fingerprint)
    return { isOurs: false, renewAtMs: null, directoryUrl: "" };
  const { renewAtMs, directoryUrl } = record;
  return {
    isOurs: true,
    renewAtMs: typeof renewAtMs === "number" ? renewAtMs : null,
    directoryUrl: String(directoryUrl),
  };
}

function readCertificate(base: string): StoredCertificate & { readonly keyFile: string } {
  const chain = readFileSync(`${base}.crt`, "utf8");
  const certificate = attempt(`${base}.crt`, () => new X509Certificate(chain));
  const keyFile = [`${base}.key`, `${base}.next.key`].find((file) => isKeyOf(certificate, file));
  if (keyFile === undefined) throw new BrokenStore(`${base}.key is not the key of the certificate beside it`);
  return { ...storedForm({ chain, key: readFileSync(keyFile, "utf8") }), keyFile };
}

function isKeyOf(certificate: X509Certificate, file: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(readFileSync(file, "utf8")));
  } catch {
    return false;
  }
}

function recordAt(file: string): CertificateRecord | null {
  try {
    const record = JSON.parse(readFileSync(file, "utf8"));
    return Array.isArray(record?.names) && typeof record.fingerprint === "string" ? record : null;
  } catch {
    // A record can be done without: the certificate then counts as put there by another process.
    return null;
  }
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new BrokenStore(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function setAside(file: string): void {
  if (existsSync(file)) renameSync(file, `${file}.broken`);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
