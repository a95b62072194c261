import {
  AcmeFailure,
  type CertificateAuthority,
  type CertificateIssue,
  type ChallengeResponder,
  type IssuedCertificate,
} from "./certificate-authority.ts";
import {
  type AcmeStore,
  BrokenStore,
  type StoredAccount,
  type StoredCertificate,
  storedForm,
} from "./certificate-store.ts";
import { requireFitting } from "./issued-check.ts";
import { newPrivateKey, selfSigned } from "./own-certificate.ts";
import { certificateId } from "./renewal-information.ts";
import { backOff, dueAt, momentWithin, waitAfter } from "./renewal-rule.ts";
import { type RetryNote, readRetryNote, writeRetryNote } from "./retry-note.ts";
import type { StoreLock } from "./store-lock.ts";

/** What the renewal works with. */
export interface RenewalParts {
  /** All on one certificate. */
  readonly names: readonly string[];
  readonly authority: CertificateAuthority;
  readonly responder: ChallengeResponder;
  readonly store: AcmeStore;
  readonly lock: StoreLock;
  readonly listener: RenewalListener;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
}

/** What is notified of certificates. */
export interface RenewalListener {
  /** New handshakes are to use these; of two for one name the first counts. */
  onCertificates(certificates: readonly IssuedCertificate[]): void;
  /** One was obtained: the first for these names, or one in place of another. */
  onIssued(isRenewal: boolean, notAfterMs: number): void;
  /** Attempts of an earlier process have failed, and its wait is not over. */
  onWaiting(failures: number, retryInMs: number): void;
  /** None was obtained, or what is stored is of no use; what is served goes on. */
  onFailed(failure: AcmeFailure, failures: number, retryInMs: number): void;
}

/**
 * Sees to it that there is a certificate for a set of names, and another one in time. One step looks at what is stored,
 * takes what another process may have obtained, orders when it is due, and says when to look again. docs/acme.md#renewal
 */
export class CertificateRenewal {
  private readonly parts: RenewalParts;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private current: StoredCertificate | null = null;
  private failures = 0;
  /** How many failures since the last certificate were about a nonce. */
  private badNonces = 0;
  private notBeforeMs = 0;
  private askedToWaitUntilMs = 0;
  private askWindowAtMs = 0;
  private isStepping = false;
  private isOrdering = false;
  private isStopped = false;

  constructor(parts: RenewalParts) {
    this.parts = parts;
  }

  /**
   * Serves what is stored and then keeps at it. Until the first certificate for these names is there, those for other sets
   * serve the names that they cover, and a self-signed one the others.
   * @param isHurried as with `hurry`: otherwise the wait after failures of an earlier process is kept to
   */
  async start(isHurried: boolean): Promise<void> {
    const { names, store, listener, now } = this.parts;
    this.adopt(this.stored());
    this.takeUp(isHurried);
    if (this.current === null) listener.onCertificates([...store.others(names, now()), await selfSigned(names)]);
    this.wake(0);
  }

  /**
   * Looks again now, whatever the wait after a failure: the cause may have been fixed. A wait that the
   * authority has asked for is kept to.
   */
  hurry(): void {
    this.notBeforeMs = this.askedToWaitUntilMs;
    if (!this.isStepping) this.wake(0);
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    // An order that is under way has not failed yet.
    if (this.isOrdering) this.note();
  }

  /** Goes on with the waits of an earlier process. */
  private takeUp(isHurried: boolean): void {
    const { names, store, listener, now } = this.parts;
    const note = readRetryNote(store.retryFile(names), now());
    if (note === null) return;
    this.failures = note.failures;
    this.askedToWaitUntilMs = note.askedToWaitUntilMs;
    this.notBeforeMs = isHurried ? note.askedToWaitUntilMs : note.notBeforeMs;
    const waitMs = this.notBeforeMs - now();
    if (waitMs > 0 && this.dueMs() <= now()) listener.onWaiting(note.failures, waitMs);
  }

  private note(attempt?: RetryNote): void {
    const { failures, notBeforeMs, askedToWaitUntilMs } = this;
    const { names, store } = this.parts;
    writeRetryNote(store.retryFile(names), attempt ?? { failures, notBeforeMs, askedToWaitUntilMs });
  }

  private wake(inMs: number): void {
    if (this.isStopped) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), Math.min(Math.max(inMs, 0), LOOK_AGAIN_MS));
  }

  private async run(): Promise<void> {
    this.isStepping = true;
    let waitMs = LOOK_AGAIN_MS;
    try {
      waitMs = await this.step();
    } catch (error) {
      waitMs = this.failed(error);
    }
    this.isStepping = false;
    this.wake(waitMs);
  }

  /** @returns milliseconds until the next look */
  private async step(): Promise<number> {
    const { now, lock, store } = this.parts;
    store.open();
    this.adopt(this.stored());
    await this.askForWindow();
    const dueInMs = Math.max(this.dueMs(), this.notBeforeMs) - now();
    if (dueInMs > 0) return dueInMs;
    if (!lock.take()) return LOCKED_MS;
    try {
      // Another process may have been at it until now.
      this.adopt(this.stored());
      if (this.dueMs() <= now()) await this.order();
    } finally {
      lock.release();
    }
    return Math.max(this.dueMs(), this.notBeforeMs) - now();
  }

  private async order(): Promise<void> {
    const { names, authority, responder, store, listener, now, random } = this.parts;
    const isRenewal = this.current !== null;
    const account = this.account();
    // A process that dies on the way has failed.
    const failures = this.failures + 1;
    this.isOrdering = true;
    this.note({ failures, notBeforeMs: now() + backOff(failures, 0, random), askedToWaitUntilMs: 0 });
    const replaces = this.current?.isOurs === true ? certificateId(this.current.chain) : "";
    const issue: CertificateIssue = await authority.obtain(
      { names, accountKey: account.key, accountUrl: account.url, replaces },
      responder,
    );
    if (issue.accountUrl !== account.url) store.saveAccount({ key: account.key, url: issue.accountUrl });
    requireFitting(issue, names, now());
    this.failures = 0;
    this.badNonces = 0;
    this.askedToWaitUntilMs = 0;
    this.askWindowAtMs = 0;
    this.isOrdering = false;
    this.adopt(storedForm(issue));
    this.keep(issue);
    this.note();
    const { notBeforeMs, notAfterMs } = storedForm(issue);
    this.notBeforeMs = now() + Math.min(REST_MS, (notAfterMs - notBeforeMs) / 2);
    listener.onIssued(isRenewal, notAfterMs);
  }

  /** A certificate that cannot be stored is served all the same. */
  private keep(issue: IssuedCertificate): void {
    try {
      this.parts.store.save(this.parts.names, issue);
    } catch (error) {
      this.report(new AcmeFailure("broken_store", (error as Error).message), 0);
    }
  }

  /** The account's key, made where there is none that can be used. */
  private account(): StoredAccount {
    const { store } = this.parts;
    try {
      const stored = store.account();
      if (stored !== null) return stored;
    } catch (error) {
      if (!(error instanceof BrokenStore)) throw error;
      this.report(new AcmeFailure("broken_store", error.message), 0);
      store.discardAccount();
    }
    const made = { key: newPrivateKey(), url: "" };
    store.saveAccount(made);
    return made;
  }

  /** What is stored. Broken files are put aside; what is served already is stored again. */
  private stored(): StoredCertificate | null {
    const { store, names } = this.parts;
    try {
      return store.load(names) ?? this.current;
    } catch (error) {
      this.report(new AcmeFailure("broken_store", (error as Error).message), 0);
      if (!(error instanceof BrokenStore)) return this.current;
      store.discard(names);
      if (this.current !== null) store.save(names, this.current);
      return this.current;
    }
  }

  /** Goes over to a certificate that is not older than what is served: an older one was not replaced on a full disk. */
  private adopt(stored: StoredCertificate | null): void {
    if (stored === null || (this.current !== null && stored.notBeforeMs < this.current.notBeforeMs)) return;
    const isNew = this.current?.fingerprint !== stored.fingerprint;
    this.current = stored;
    // What an order brings that was under way at the end is for the next process, or discarded.
    if (isNew && !this.isStopped) this.parts.listener.onCertificates([stored]);
  }

  private dueMs(): number {
    return this.current === null ? 0 : dueAt(this.current, this.current.renewAtMs);
  }

  private async askForWindow(): Promise<void> {
    const { authority, store, names, now, random } = this.parts;
    const { current } = this;
    if (current === null || !current.isOurs || now() < this.askWindowAtMs) return;
    const window = await authority.renewalWindow(current.chain);
    this.askWindowAtMs = window === null ? now() + LOOK_AGAIN_MS : window.askAgainMs;
    const renewAtMs = window === null ? null : momentWithin(window, current.renewAtMs, random);
    if (renewAtMs === current.renewAtMs) return;
    this.current = { ...current, renewAtMs };
    store.saveRecord(names, current.fingerprint, renewAtMs);
  }

  private failed(error: unknown): number {
    const failure = error instanceof AcmeFailure ? error : new AcmeFailure("failed", String(error));
    this.failures++;
    if (failure.kind === "badNonce") this.badNonces++;
    const waitMs = waitAfter(failure, this.failures, this.badNonces, this.parts.random);
    this.notBeforeMs = this.parts.now() + waitMs;
    this.askedToWaitUntilMs = failure.retryAfterMs === 0 ? 0 : this.notBeforeMs;
    this.isOrdering = false;
    if (!this.isStopped) this.note();
    this.report(failure, waitMs);
    return waitMs;
  }

  private report(failure: AcmeFailure, retryInMs: number): void {
    this.parts.listener.onFailed(failure, this.failures, retryInMs);
  }
}

/** At least this often the store is looked at, and the clock, which may have been set. */
const LOOK_AGAIN_MS = 3_600_000;
/** No two orders within this time, or half of a certificate's life, whatever the directory suggests. */
const REST_MS = 6 * 3_600_000;
/** While another process orders. */
const LOCKED_MS = 2000;
