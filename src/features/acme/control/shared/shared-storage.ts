import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../../../config/atomic-file.ts";
import { makeFolder } from "../../../../config/made-folder.ts";
import type { IssuedCertificate } from "../certificate-authority.ts";
import type { DirectoryStorage, RecordFields } from "../certificate-storage.ts";
import {
  AcmeStore,
  accountName,
  type CertificateRecord,
  type StoreEntry,
  setName,
  storedForm,
} from "../certificate-store.ts";
import { isFor } from "../issued-check.ts";
import type { OrderRight } from "../order-right.ts";
import { believable, type RetryNote } from "../retry-note.ts";
import type { StoredAccount, StoredCertificate } from "../stored-certificate.ts";
import { DocumentConflict, StoreAway } from "./document-store.ts";
import { type Claimable, Claimed, type ClaimNote, Fenced, isClaimed, LEASE_MS, OrderClaim } from "./order-claim.ts";
import type { OpenDocument, SealedDocuments } from "./sealed-documents.ts";

/** A certificate with all that gateways know of it. */
interface CertificateDocument {
  readonly names: readonly string[];
  /** The first of the directories that are asked. */
  readonly storedFor: string;
  /** PEM; null before there is one. */
  readonly issued: IssuedCertificate | null;
  /** Where it was obtained; "" where another program has put it there. */
  readonly issuer: string;
  readonly renewAtMs: number | null;
  /** When the directory is to be asked for a window of renewal. */
  readonly askAtMs: number;
  readonly note: RetryNote | null;
  readonly claim: ClaimNote | null;
  readonly token: number;
}

interface AccountDocument {
  readonly directoryUrl: string;
  readonly account: StoredAccount;
  readonly nextKey: string;
}

/** What a shared storage works with. */
interface SharedStoragePorts {
  readonly documents: SealedDocuments;
  /** `cache_dir`: files of before come from there, and copies are in a folder of it. */
  readonly cacheDir: string;
  /** Tells this gateway from others, and from its next life. */
  readonly holder: string;
  /** Tells the others that a document has changed. */
  readonly tell: (name: string) => Promise<void>;
  /** A certificate of `cache_dir` was taken into the store, which had none for these names. */
  readonly onImported: (names: readonly string[]) => void;
}

/**
 * Certificates and accounts in a store that gateways share, with a sealed copy of each on disk: what a gateway has seen it serves without the
 * store. A certificate that the store has lost, or never had, is put there again from the copy. docs/acme.md#one-store-for-several-gateways
 */
export class SharedStorage {
  readonly documents: SealedDocuments;
  readonly cacheDir: string;
  private readonly parts: SharedStoragePorts;
  private readonly claims: Map<string, OrderClaim<CertificateDocument>> = new Map();
  private readonly watchers: Map<string, Set<() => void>> = new Map();

  constructor(parts: SharedStoragePorts) {
    this.parts = parts;
    this.documents = parts.documents;
    this.cacheDir = parts.cacheDir;
  }

  /** What one directory has here. */
  at(directoryUrl: string): DirectoryStorage {
    return new SharedDirectory(this, directoryUrl);
  }

  /** Every certificate in the store, for those who only look. @throws StoreAway */
  async entries(): Promise<StoreEntry[]> {
    const names = [...(await this.documents.list(CERTIFICATES))].sort();
    const entries: StoreEntry[] = [];
    for (let i = 0; i < names.length; i += READ_AT_ONCE) {
      const found = await Promise.all(names.slice(i, i + READ_AT_ONCE).map((name) => this.entry(name)));
      entries.push(...found.filter((entry) => entry !== null));
    }
    return entries;
  }

  /** Tells those who watch. @param names of documents; null for all */
  onChanged(names: readonly string[] | null): void {
    const chosen = names === null ? [...this.watchers.values()] : names.map((name) => this.watchers.get(name));
    for (const watchers of chosen) for (const onChange of watchers ?? []) onChange();
  }

  watch(name: string, onChange: () => void): () => void {
    const watchers = this.watchers.get(name) ?? new Set();
    this.watchers.set(name, watchers.add(onChange));
    return () => {
      watchers.delete(onChange);
      if (watchers.size === 0) this.watchers.delete(name);
    };
  }

  /**
   * Seals every document with the first of the secrets that is not, so that the others can be removed.
   * @returns how many were sealed anew, and how many could not be
   * @throws StoreAway
   */
  async sealAnew(): Promise<{ readonly sealed: number; readonly left: number }> {
    const names = await this.documents.list("");
    let sealed = 0;
    let left = 0;
    for (let i = 0; i < names.length; i += READ_AT_ONCE) {
      const results = await Promise.all(names.slice(i, i + READ_AT_ONCE).map((name) => this.sealOne(name)));
      sealed += results.filter((result) => result === "sealed").length;
      left += results.filter((result) => result === "left").length;
    }
    return { sealed, left };
  }

  private async sealOne(name: string): Promise<"sealed" | "as it was" | "left"> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      try {
        const found = await this.documents.readFresh<Claimable>(name);
        if (found === null || found.isCurrent) return "as it was";
        // A gateway that has claimed it must not lose it.
        if (isClaimed(found)) await Bun.sleep(LEASE_MS);
        else {
          await this.documents.write(name, found.value, found.version);
          return "sealed";
        }
      } catch (error) {
        if (error instanceof StoreAway) throw error;
        if (!(error instanceof DocumentConflict)) return "left";
      }
    }
    return "left";
  }

  /** Gives back what is claimed, so that another gateway need not wait for the lease. */
  async release(): Promise<void> {
    await Promise.allSettled([...this.claims.values()].map((claim) => claim.release()));
  }

  /** @returns null while another gateway has it @throws StoreAway, SealBroken */
  async claim(name: string, empty: CertificateDocument): Promise<OrderRight | null> {
    const { documents, holder } = this.parts;
    const claim: OrderClaim<CertificateDocument> | null = await OrderClaim.take(
      documents,
      { name, holder, onEnd: () => this.claims.get(name) === claim && this.claims.delete(name) },
      empty,
    );
    if (claim !== null) this.claims.set(name, claim);
    return claim;
  }

  /**
   * Changes a certificate's document, with the claim where this gateway has it.
   * @param mutate gives null to leave it as it is
   * @throws Claimed, Fenced, StoreAway, SealBroken
   */
  async change(
    name: string,
    empty: CertificateDocument,
    mutate: (value: CertificateDocument) => CertificateDocument | null,
  ): Promise<void> {
    const claim = this.claims.get(name);
    if (claim !== undefined) return claim.change((value) => mutate(value) ?? value);
    for (let tries = 1; ; tries++) {
      const found = await this.documents.readFresh<CertificateDocument>(name);
      if (found !== null && isClaimed(found)) throw new Claimed("another gateway is at it now: try again");
      const next = mutate(found?.value ?? empty);
      if (next === null) return;
      try {
        await this.documents.write(name, next, found?.version ?? "");
        return;
      } catch (error) {
        if (!(error instanceof DocumentConflict) || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** The document as this gateway has it that has claimed it; null if it has not. */
  claimed(name: string): CertificateDocument | null {
    return this.claims.get(name)?.value ?? null;
  }

  tell(name: string): Promise<void> {
    return this.parts.tell(name);
  }

  imported(names: readonly string[]): void {
    this.parts.onImported(names);
  }

  /** The copy of a document; null if there is none that can be opened. */
  copy<T>(name: string): T | null {
    const file = this.copyFile(name);
    try {
      return existsSync(file) ? this.documents.opened<T>(name, readFileSync(file, "utf8")) : null;
    } catch {
      return null;
    }
  }

  /** Keeps a copy of a document. A disk that takes none costs a start without the store, and nothing else. */
  keepCopy(name: string, { sealed }: Pick<OpenDocument<unknown>, "sealed">): void {
    try {
      makeFolder(join(this.cacheDir, COPIES), 0o700);
      writeWhole(this.copyFile(name), sealed);
    } catch {
      // The certificate is served all the same.
    }
  }

  /** The copies of all certificates. */
  copies(): CertificateDocument[] {
    try {
      const files = readdirSync(join(this.cacheDir, COPIES)).filter((file) => file.startsWith(fileOf(CERTIFICATES)));
      return files
        .slice(0, MAX_COPIES)
        .flatMap((file) => this.copy<CertificateDocument>(CERTIFICATES + nameOf(file)) ?? []);
    } catch {
      return [];
    }
  }

  private copyFile(name: string): string {
    return join(this.cacheDir, COPIES, `${fileOf(name)}.sealed`);
  }

  private async entry(name: string): Promise<StoreEntry | null> {
    try {
      const found = await this.documents.read<CertificateDocument>(name);
      if (found === null || found.value.issued === null) return null;
      return { file: name, found: formOf(found.value)!, record: recordOf(found.value) };
    } catch (error) {
      if (error instanceof StoreAway) throw error;
      return { file: name, found: (error as Error).message, record: null };
    }
  }
}

/** What one directory has in a shared storage. */
class SharedDirectory implements DirectoryStorage {
  readonly isShared = true;
  private readonly storage: SharedStorage;
  private readonly directoryUrl: string;
  /** What `cache_dir` had before it was shared. */
  private readonly files: AcmeStore;
  /** The version of each document whose copy is on disk. */
  private readonly copied: Map<string, string> = new Map();

  constructor(storage: SharedStorage, directoryUrl: string) {
    this.storage = storage;
    this.directoryUrl = directoryUrl;
    this.files = new AcmeStore(storage.cacheDir, directoryUrl);
  }

  open(): void {}

  async account(): Promise<StoredAccount | null> {
    const { documents } = this.storage;
    const found = await documents.read<AccountDocument>(this.accountDocument);
    if (found !== null) {
      this.keepCopy(this.accountDocument, found);
      return found.value.account;
    }
    // The store never had it, or has lost it.
    const before = this.storage.copy<AccountDocument>(this.accountDocument)?.account ?? this.accountOfFiles();
    return before === null ? null : this.saveAccount(before);
  }

  async saveAccount(account: StoredAccount): Promise<StoredAccount> {
    return this.changeAccount((before) =>
      before !== null && before.account.key !== account.key ? null : { account, nextKey: before?.nextKey ?? "" },
    );
  }

  async saveNextKey(nextKey: string): Promise<void> {
    await this.changeAccount((before) => (before === null ? null : { account: before.account, nextKey }));
  }

  async replaceAccount(account: StoredAccount): Promise<void> {
    await this.changeAccount(() => ({ account, nextKey: "" }));
  }

  /** One that cannot be opened is not put aside: it may be this gateway that has the wrong key. */
  discardAccount(): void {}

  async has(names: readonly string[]): Promise<boolean> {
    return (await this.load(names)) !== null;
  }

  async load(names: readonly string[], isSure = false): Promise<StoredCertificate | null> {
    const name = documentOf(this.directoryUrl, names);
    const copy = this.storage.copy<CertificateDocument>(name);
    let found: OpenDocument<CertificateDocument> | null;
    try {
      const read = this.storage.documents.read<CertificateDocument>(name);
      found = await (isSure ? read : withPatience(read));
    } catch (error) {
      const before = formOf(copy) ?? this.certificateOfFiles(names);
      if (isSure || before === null || !(error instanceof StoreAway)) throw error;
      return before;
    }
    const stored = formOf(found?.value ?? null);
    const kept = formOf(copy);
    if (stored !== null && (kept === null || kept.notBeforeMs <= stored.notBeforeMs)) {
      this.keepCopy(name, found!);
      return stored;
    }
    const before = kept ?? this.certificateOfFiles(names);
    if (before !== null) await this.putBack(name, names, before, kept === null);
    return before;
  }

  others(names: readonly string[], nowMs: number): readonly StoredCertificate[] {
    const copies = this.storage.copies().flatMap((document) => formOf(document) ?? []);
    return [...copies, ...this.files.others(names, nowMs)].filter(({ chain, notAfterMs }) => {
      const certificate = new X509Certificate(chain);
      return notAfterMs > nowMs && names.some((name) => isFor(certificate, name));
    });
  }

  async save(names: readonly string[], issued: IssuedCertificate, issuer: string): Promise<void> {
    const name = documentOf(this.directoryUrl, names);
    const { chain, key } = issued;
    const fields = { issued: { chain, key }, issuer, renewAtMs: null, askAtMs: 0, note: null };
    try {
      await this.storage.change(name, this.empty(names), (before) => {
        if ((formOf(before)?.notBeforeMs ?? 0) > storedForm(issued).notBeforeMs)
          throw new Fenced("another gateway has obtained a newer one");
        return { ...before, ...fields };
      });
    } catch (error) {
      // With the copy, it is put into the store when that is back.
      if (error instanceof StoreAway)
        this.storage.keepCopy(name, this.storage.documents.sealed(name, { ...this.empty(names), ...fields }));
      throw error;
    }
    const found = await this.storage.documents.read<CertificateDocument>(name).catch(() => null);
    if (found !== null) this.keepCopy(name, found);
    await this.storage.tell(name);
  }

  async saveRecord(names: readonly string[], record: RecordFields, askAgainMs = 0): Promise<void> {
    const name = documentOf(this.directoryUrl, names);
    let isChanged = false;
    await this.storage.change(name, this.empty(names), (before) => {
      if (formOf(before)?.fingerprint !== record.fingerprint) return null;
      isChanged = before.renewAtMs !== record.renewAtMs;
      return { ...before, issuer: record.directoryUrl, renewAtMs: record.renewAtMs, askAtMs: askAgainMs };
    });
    if (isChanged) await this.storage.tell(name);
  }

  discard(): void {}

  async readNote(names: readonly string[], nowMs: number): Promise<RetryNote | null> {
    const name = documentOf(this.directoryUrl, names);
    const claimed = this.storage.claimed(name);
    if (claimed !== null) return believable(claimed.note, nowMs);
    const found = await withPatience(this.storage.documents.read<CertificateDocument>(name)).catch(() => null);
    return believable(found?.value.note, nowMs);
  }

  async saveNote(names: readonly string[], note: RetryNote): Promise<void> {
    const name = documentOf(this.directoryUrl, names);
    const next = note.failures === 0 ? null : note;
    try {
      await this.storage.change(name, this.empty(names), (before) =>
        JSON.stringify(before.note) === JSON.stringify(next) ? null : { ...before, note: next },
      );
    } catch {
      // This gateway keeps to the wait all the same.
    }
  }

  claim(names: readonly string[]): Promise<OrderRight | null> {
    return this.storage.claim(documentOf(this.directoryUrl, names), this.empty(names));
  }

  async mayAsk(names: readonly string[], nowMs: number): Promise<boolean> {
    const name = documentOf(this.directoryUrl, names);
    const { documents } = this.storage;
    try {
      const found = await documents.readFresh<CertificateDocument>(name);
      if (found === null || found.value.askAtMs > nowMs || isClaimed(found)) return false;
      await documents.write(name, { ...found.value, askAtMs: nowMs + ASK_AGAIN_MS }, found.version);
      return true;
    } catch {
      // Another gateway was faster, or the store is away.
      return false;
    }
  }

  watch(names: readonly string[], onChange: () => void): () => void {
    return this.storage.watch(documentOf(this.directoryUrl, names), onChange);
  }

  private get accountDocument(): string {
    return `${ACCOUNTS}${accountName(this.directoryUrl)}`;
  }

  private empty(names: readonly string[]): CertificateDocument {
    const none = { issued: null, issuer: "", renewAtMs: null, askAtMs: 0, note: null, claim: null, token: 0 };
    return { names, storedFor: this.directoryUrl, ...none };
  }

  /** @param mutate gives null if the one before stays @returns the one that is kept */
  private async changeAccount(
    mutate: (before: AccountDocument | null) => Omit<AccountDocument, "directoryUrl"> | null,
  ): Promise<StoredAccount> {
    const { documents } = this.storage;
    for (let tries = 1; ; tries++) {
      const found = await documents.read<AccountDocument>(this.accountDocument);
      const next = mutate(found?.value ?? null);
      if (next === null) return found!.value.account;
      try {
        const value: AccountDocument = { directoryUrl: this.directoryUrl, ...next };
        this.keepCopy(this.accountDocument, await documents.write(this.accountDocument, value, found?.version ?? ""));
        return value.account;
      } catch (error) {
        if (!(error instanceof DocumentConflict) || tries === MAX_TRIES) throw error;
      }
    }
  }

  private async putBack(
    name: string,
    names: readonly string[],
    { chain, key, ...record }: StoredCertificate,
    isImport: boolean,
  ): Promise<void> {
    let isPut = false;
    try {
      await this.storage.change(name, this.empty(names), (before) => {
        const there = formOf(before);
        isPut = there === null || there.notBeforeMs < record.notBeforeMs;
        if (!isPut) return null;
        return { ...before, issued: { chain, key }, issuer: record.directoryUrl, renewAtMs: record.renewAtMs };
      });
    } catch {
      // The next look tries again.
      return;
    }
    if (!isPut) return;
    if (isImport) this.storage.imported(names);
    await this.storage.tell(name);
  }

  private keepCopy(name: string, document: OpenDocument<unknown>): void {
    if (this.copied.get(name) === document.version) return;
    this.storage.keepCopy(name, document);
    this.copied.set(name, document.version);
  }

  private certificateOfFiles(names: readonly string[]): StoredCertificate | null {
    try {
      return this.files.load(names);
    } catch {
      return null;
    }
  }

  private accountOfFiles(): StoredAccount | null {
    try {
      return this.files.account();
    } catch {
      return null;
    }
  }
}

/** The name of the document for a set of names. */
function documentOf(directoryUrl: string, names: readonly string[]): string {
  return `${CERTIFICATES}${setName(directoryUrl, names)}`;
}

/** No start waits for a store that takes its time. */
function withPatience<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new StoreAway("the store is slow")), PATIENCE_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function formOf(document: CertificateDocument | null): StoredCertificate | null {
  if (document === null || document.issued === null) return null;
  const { issued, issuer, renewAtMs } = document;
  return { ...storedForm(issued, issuer), isOurs: issuer !== "", renewAtMs };
}

function recordOf({ names, issuer, storedFor, renewAtMs, issued }: CertificateDocument): CertificateRecord {
  const fingerprint = issued === null ? "" : storedForm(issued).fingerprint;
  return { names, directoryUrl: issuer, storedFor, fingerprint, renewAtMs };
}

/** Names of documents have slashes, names of files do not. */
function fileOf(name: string): string {
  return name.replaceAll("/", "-");
}

function nameOf(file: string): string {
  return file.slice(fileOf(CERTIFICATES).length, -".sealed".length);
}

const CERTIFICATES = "cert/";
const ACCOUNTS = "account/";
/** Below `cache_dir`. */
const COPIES = "shared";
/** Copies in which edge looks for certificates of other sets. */
const MAX_COPIES = 1000;
const READ_AT_ONCE = 16;
const MAX_TRIES = 5;
const PATIENCE_MS = 1000;
/** The one who asks has so long for it, and the others take what it has found. */
const ASK_AGAIN_MS = 3_600_000;
