import {
  AcmeFailure,
  type CertificateAuthority,
  type CertificateWish,
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
import { backOff, dueAt, momentWithin, RENEW_NOW, waitAfter } from "./renewal-rule.ts";
import { type RetryNote, readRetryNote, writeRetryNote } from "./retry-note.ts";
import type { StoreLock } from "./store-lock.ts";

/** A directory that is asked. */
export interface CertificateSource {
  readonly directoryUrl: string;
  readonly authority: CertificateAuthority;
  /** Where its account is kept. */
  readonly accounts: AcmeStore;
}

/** What the renewal works with. */
export interface RenewalParts {
  readonly wish: CertificateWish;
  /** Whether something is shown until there is a certificate: what other sets have, and one of the gateway's own. */
  readonly hasStandIn: boolean;
  /** One or more; a later one is asked where those before are away. */
  readonly sources: readonly CertificateSource[];
  readonly responder: ChallengeResponder;
  readonly store: AcmeStore;
  readonly lock: StoreLock;
  readonly listener: RenewalListener;
  /**
   * Asked before a certificate is renewed: 0 where it may be, else the milliseconds until it is to be asked again. Null where
   * it needs no approval.
   */
  readonly approval: (() => Promise<number>) | null;
  /** Runs the steps of all renewals of the process one after the other: challenges and locks are for one at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
}

/** What is notified of certificates. */
export interface RenewalListener {
  /** New handshakes are to use these; of two for one name the first counts. */
  onCertificates(certificates: readonly IssuedCertificate[]): void;
  /** One was obtained: the first for these names, or one in place of another. */
  onIssued(names: readonly string[], isRenewal: boolean, notAfterMs: number): void;
  /** Attempts of an earlier process have failed, and its wait is not over. */
  onWaiting(failures: number, retryInMs: number): void;
  /** None was obtained, or what is stored is of no use; what is served goes on. */
  onFailed(failure: AcmeFailure, failures: number, retryInMs: number): void;
}

/**
 * Sees to it that there is a certificate for a set of names, and another one in time. One step looks at what is stored,
 * takes what another process may have obtained, orders when it is due, and says when to look again. Where an authority refuses
 * some of the names, there is a certificate for the others meanwhile. docs/acme.md#renewal
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
    this.adopt(this.stored());
    this.takeUp(isHurried);
    if (this.current === null && this.parts.hasStandIn) await this.showOthers();
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
    const { wish, store, listener, now } = this.parts;
    const { names } = wish;
    const note = readRetryNote(store.retryFile(names), now());
    if (note === null) return;
    this.failures = note.failures;
    this.askedToWaitUntilMs = note.askedToWaitUntilMs;
    this.notBeforeMs = isHurried ? note.askedToWaitUntilMs : note.notBeforeMs;
    const waitMs = this.notBeforeMs - now();
    if (waitMs > 0 && this.dueMs() <= now()) listener.onWaiting(note.failures, waitMs);
  }

  /** What other sets have for these names, and a certificate of our own for the rest. */
  private async showOthers(): Promise<void> {
    const { wish, store, listener, now } = this.parts;
    const { names } = wish;
    listener.onCertificates([...store.others(names, now()), await selfSigned(names)]);
  }

  private note(attempt?: RetryNote): void {
    const { failures, notBeforeMs, askedToWaitUntilMs } = this;
    const { wish, store } = this.parts;
    writeRetryNote(store.retryFile(wish.names), attempt ?? { failures, notBeforeMs, askedToWaitUntilMs });
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
      waitMs = await this.parts.inTurn(() => (this.isStopped ? Promise.resolve(0) : this.step()));
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
    if (this.current !== null && this.parts.approval !== null) {
      const refusedMs = await this.parts.approval();
      if (refusedMs > 0) return refusedMs;
    }
    if (!lock.take()) return LOCKED_MS;
    try {
      // Another process may have been at it until now.
      this.adopt(this.stored());
      if (this.dueMs() <= now()) await this.orderAll();
    } finally {
      lock.release();
    }
    return Math.max(this.dueMs(), this.notBeforeMs) - now();
  }

  /** All names; where the authority refuses some of them, the others at least. */
  private async orderAll(): Promise<void> {
    const { wish, listener, now, random } = this.parts;
    const { current } = this;
    // A process that dies on the way has failed.
    const failures = this.failures + 1;
    this.isOrdering = true;
    this.note({ failures, notBeforeMs: now() + backOff(failures, 0, random), askedToWaitUntilMs: 0 });
    const { issued, refusal } = await this.order(wish.names, current?.isOurs === true ? current : null);
    if (refusal !== null) {
      await this.makeDo(refusal).catch((error: unknown) => this.report(asFailure(error), 0));
      throw refusal;
    }
    this.failures = 0;
    this.badNonces = 0;
    this.askedToWaitUntilMs = 0;
    this.askWindowAtMs = 0;
    this.isOrdering = false;
    this.adopt(issued);
    this.keep(wish.names, issued);
    this.note();
    this.notBeforeMs = now() + Math.min(REST_MS, (issued.notAfterMs - issued.notBeforeMs) / 2);
    listener.onIssued(wish.names, current !== null, issued.notAfterMs);
  }

  /**
   * Orders a certificate, of the first source that is there.
   * @param replaced the one that is renewed; null for none
   * @returns the certificate, or the failure that is about some of the names
   * @throws AcmeFailure for every other failure
   */
  private async order(names: readonly string[], replaced: StoredCertificate | null): Promise<Outcome> {
    const { sources } = this.parts;
    for (const [i, source] of sources.entries()) {
      try {
        return { issued: await this.orderFrom(source, names, replaced), refusal: null };
      } catch (error) {
        const failure = asFailure(error);
        if (failure.names.length > 0) return { issued: null, refusal: failure };
        if (i === sources.length - 1 || !failure.isOfAuthority) throw failure;
        this.report(failure, 0);
      }
    }
    throw new AcmeFailure("failed", "no directory is named");
  }

  private async orderFrom(
    { directoryUrl, authority, accounts }: CertificateSource,
    names: readonly string[],
    replaced: StoredCertificate | null,
  ): Promise<StoredCertificate> {
    const { wish, responder, now } = this.parts;
    const account = await this.account(accounts);
    const replaces = replaced?.directoryUrl === directoryUrl ? certificateId(replaced.chain) : "";
    const issue = await authority.obtain(
      { ...wish, names, accountKey: account.key, accountUrl: account.url, replaces },
      responder,
    );
    if (issue.accountUrl !== account.url) accounts.saveAccount({ key: account.key, url: issue.accountUrl });
    requireFitting(issue, names, now());
    return storedForm(issue, directoryUrl);
  }

  /**
   * Some names were refused: the others get a certificate of their own, unless one for all is good for long enough. The next
   * attempt is for all again. docs/acme.md#failures
   */
  private async makeDo({ names: refused }: AcmeFailure): Promise<void> {
    const { wish, listener, now } = this.parts;
    const rest = wish.names.filter((name) => !refused.includes(name));
    const isGood = this.current !== null && this.current.notAfterMs - now() > MAKE_DO_MS;
    if (rest.length === 0 || rest.length === wish.names.length || isGood || this.isStopped) return;
    const stored = this.storedFor(rest);
    if (stored === null || dueAt(stored, stored.renewAtMs) <= now()) {
      const { issued, refusal } = await this.order(rest, stored);
      if (refusal !== null) return;
      this.keep(rest, issued);
      listener.onIssued(rest, stored !== null, issued.notAfterMs);
    }
    if (!this.isStopped) await this.showOthers();
  }

  /** A certificate that cannot be stored is served all the same. */
  private keep(names: readonly string[], issued: StoredCertificate): void {
    try {
      this.parts.store.save(names, issued, issued.directoryUrl);
    } catch (error) {
      this.report(new AcmeFailure("broken_store", (error as Error).message), 0);
    }
  }

  /** The account's key, made where there is none that can be used. */
  private async account(accounts: AcmeStore): Promise<StoredAccount> {
    try {
      const stored = accounts.account();
      if (stored !== null) return stored;
    } catch (error) {
      if (!(error instanceof BrokenStore)) throw error;
      this.report(new AcmeFailure("broken_store", error.message), 0);
      accounts.discardAccount();
    }
    const made = { key: await newPrivateKey(), url: "" };
    accounts.saveAccount(made);
    return made;
  }

  /** What is stored. Broken files are put aside; what is served already is stored again. */
  private stored(): StoredCertificate | null {
    const { store, wish } = this.parts;
    const { names } = wish;
    try {
      return store.load(names) ?? this.current;
    } catch (error) {
      this.report(new AcmeFailure("broken_store", (error as Error).message), 0);
      if (!(error instanceof BrokenStore)) return this.current;
      store.discard(names);
      if (this.current !== null) store.save(names, this.current, this.current.directoryUrl);
      return this.current;
    }
  }

  /** What is stored for some of the names; null where it is broken. */
  private storedFor(names: readonly string[]): StoredCertificate | null {
    try {
      return this.parts.store.load(names);
    } catch {
      return null;
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
    const { sources, store, wish, now, random } = this.parts;
    const { current } = this;
    if (current === null || !current.isOurs || current.renewAtMs === RENEW_NOW || now() < this.askWindowAtMs) return;
    const source = sources.find(({ directoryUrl }) => directoryUrl === current.directoryUrl);
    const window = source === undefined ? null : await source.authority.renewalWindow(current.chain);
    this.askWindowAtMs = window === null ? now() + LOOK_AGAIN_MS : window.askAgainMs;
    const renewAtMs = window === null ? null : momentWithin(window, current.renewAtMs, random);
    if (renewAtMs === current.renewAtMs) return;
    this.current = { ...current, renewAtMs };
    store.saveRecord(wish.names, { ...current, renewAtMs });
  }

  private failed(error: unknown): number {
    const failure = asFailure(error);
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

type Outcome =
  | { readonly issued: StoredCertificate; readonly refusal: null }
  | { readonly issued: null; readonly refusal: AcmeFailure };

function asFailure(error: unknown): AcmeFailure {
  return error instanceof AcmeFailure ? error : new AcmeFailure("failed", String(error));
}

/** A certificate for all names that is good for less is not waited with: it makes room for one with fewer names. */
const MAKE_DO_MS = 3 * 86_400_000;
/** At least this often the store is looked at, and the clock, which may have been set. */
const LOOK_AGAIN_MS = 3_600_000;
/** No two orders within this time, or half of a certificate's life, whatever the directory suggests. */
const REST_MS = 6 * 3_600_000;
/** While another process orders. */
const LOCKED_MS = 2000;
