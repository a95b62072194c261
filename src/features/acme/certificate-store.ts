import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "./atomic-file.ts";
import type { IssuedCertificate } from "./certificate-authority.ts";
import { isFor } from "./issued-check.ts";

/** An account at one directory. */
export interface StoredAccount {
  /** PEM. */
  readonly key: string;
  /** Where the directory keeps it; "" before there is one. */
  readonly url: string;
}

/** What is known of a certificate beside itself. */
export interface CertificateRecord {
  readonly names: readonly string[];
  readonly directoryUrl: string;
  /** SHA-256 of the certificate that the record is about. */
  readonly fingerprint: string;
  /** The moment within the directory's suggested window at which to renew, in milliseconds since the epoch; or null. */
  readonly renewAtMs: number | null;
}

/** A certificate as it lies in the store. */
export interface StoredCertificate extends IssuedCertificate {
  readonly fingerprint: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Whether the record says that we obtained it. */
  readonly isOurs: boolean;
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
export class AcmeStore {
  readonly dir: string;
  private readonly directoryUrl: string;

  constructor(dir: string, directoryUrl: string) {
    this.dir = dir;
    this.directoryUrl = directoryUrl;
  }

  /**
   * Makes the folder where it is not there.
   * @throws when it cannot be made
   */
  open(): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
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

  saveAccount(account: StoredAccount): void {
    writeWhole(this.path(`${this.accountName()}.key`), account.key);
    const record = { directoryUrl: this.directoryUrl, url: account.url };
    writeWhole(this.path(`${this.accountName()}.json`), `${JSON.stringify(record)}\n`);
  }

  /** Puts what is broken aside, so that it can be inspected and does no harm. */
  discardAccount(): void {
    for (const end of [".key", ".json"]) setAside(this.path(this.accountName() + end));
  }

  /**
   * The certificate for a set of names; null where there is none.
   * @throws BrokenStore
   */
  load(names: readonly string[]): StoredCertificate | null {
    const base = this.path(this.setName(names));
    if (!existsSync(`${base}.crt`)) return null;
    const { keyFile, ...certificate } = readCertificate(base);
    if (keyFile !== `${base}.key`) renameSync(keyFile, `${base}.key`);
    return { ...certificate, ...this.readRecord(base, certificate.fingerprint) };
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

  /** Puts a certificate in place of the one before. */
  save(names: readonly string[], issued: IssuedCertificate): void {
    const base = this.path(this.setName(names));
    writeWhole(`${base}.next.key`, issued.key);
    writeWhole(`${base}.crt`, issued.chain);
    renameSync(`${base}.next.key`, `${base}.key`);
    this.saveRecord(names, new X509Certificate(issued.chain).fingerprint256, null);
  }

  /** Notes when the certificate is to be renewed. */
  saveRecord(names: readonly string[], fingerprint: string, renewAtMs: number | null): void {
    const record: CertificateRecord = { names, directoryUrl: this.directoryUrl, fingerprint, renewAtMs };
    writeWhole(`${this.path(this.setName(names))}.json`, `${JSON.stringify(record)}\n`);
  }

  /** Where failed attempts to get a certificate for a set of names are noted. */
  retryFile(names: readonly string[]): string {
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
      // The first attempt to store something here reports what is wrong with the folder.
      return [];
    }
  }

  private path(name: string): string {
    return join(this.dir, name);
  }

  private accountName(): string {
    return `account-${digest(this.directoryUrl)}`;
  }

  /** One name to recognise the files by, and a digest of all names and of the directory. */
  private setName(names: readonly string[]): string {
    const sorted = [...names].sort();
    return `${sorted[0]!.replaceAll(":", "_")}-${digest([this.directoryUrl, ...sorted].join("\n"))}`;
  }

  private readRecord(
    base: string,
    fingerprint: string,
  ): { readonly isOurs: boolean; readonly renewAtMs: number | null } {
    const record = recordAt(`${base}.json`);
    // One of another certificate, or none: another process put the certificate there.
    if (record === null || record.fingerprint !== fingerprint) return { isOurs: false, renewAtMs: null };
    return { isOurs: true, renewAtMs: typeof record.renewAtMs === "number" ? record.renewAtMs : null };
  }
}

/** A certificate file of the store: what is in it, or why it cannot be used. */
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
      const isOurs = record !== null && record.fingerprint === certificate.fingerprint;
      return { file, record, found: { ...certificate, isOurs, renewAtMs: isOurs ? record.renewAtMs : null } };
    } catch (error) {
      return { file, record, found: (error as Error).message };
    }
  });
}

/** A certificate with what is to be known of it. */
export function storedForm(issued: IssuedCertificate): StoredCertificate {
  const certificate = new X509Certificate(issued.chain);
  return {
    chain: issued.chain,
    key: issued.key,
    fingerprint: certificate.fingerprint256,
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
    isOurs: true,
    renewAtMs: null,
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
