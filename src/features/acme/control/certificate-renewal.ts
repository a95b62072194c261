import {
  AcmeFailure,
  type CertificateAuthority,
  type CertificateWish,
  type ChallengeResponder,
  type IssuedCertificate,
} from "./certificate-authority.ts";
import type { AccountStorage, CertificateStorage } from "./certificate-storage.ts";
import { BrokenStore, storedForm } from "./certificate-store.ts";
import { requireFitting } from "./issued-check.ts";
import { newPrivateKey, selfSigned } from "./own-certificate.ts";
import { certificateId } from "./renewal-information.ts";
import { backOff, dueAt, momentWithin, RENEW_NOW, waitAfter } from "./renewal-rule.ts";
import type { RetryNote } from "./retry-note.ts";
import { StoreAway } from "./shared/document-store.ts";
import { Fenced } from "./shared/order-claim.ts";
import type { StoredAccount, StoredCertificate } from "./stored-certificate.ts";

/** A directory that is asked. */
interface CertificateSource {
  readonly directoryUrl: string;
  readonly authority: CertificateAuthority;
  /** Where its account is kept. */
  readonly accounts: AccountStorage;
}

/** What the renewal works with. */
export interface RenewalPorts {
  readonly wish: CertificateWish;
  /** Whether a stand-in (another set's or self-signed) is served until the first issuance. */
  readonly hasStandIn: boolean;
  /** One or more; a later one is asked where those before are away. */
  readonly sources: readonly CertificateSource[];
  readonly responder: ChallengeResponder;
  readonly store: CertificateStorage;
  readonly listener: RenewalListener;
  /**
   * Asked before a certificate is renewed: 0 if it may be, else the milliseconds until it is to be asked again. Null where
   * it needs no approval.
   */
  readonly approval: (() => Promise<number>) | null;
  /** Runs the steps of all renewals of the process one after the other: challenges and locks are for one at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
}

/** The listener for certificates. */
export interface RenewalListener {
  /** New handshakes are to use these; of two for one name the first counts. */
  onCertificates(certificates: readonly IssuedCertificate[]): void;
  /** One was obtained: the first for these names, or one in place of another. */
  onIssued(names: readonly string[], isRenewal: boolean, notAfterMs: number): void;
  /** Another gateway obtained one, which is served here from now on. */
  onTaken(names: readonly string[], notAfterMs: number): void;
  /** The store that is shared with other gateways is away: no order is made for now. */
  onStoreAway(): void;
  /** Attempts of an earlier process, or of another gateway, have failed, and its wait is not over. */
  onWaiting(failures: number, retryInMs: number): void;
  /** None was obtained, or the stored data is of no use; what is served goes on. */
  onFailed(failure: AcmeFailure, failures: number, retryInMs: number): void;
}

/**
 * Sees to it that there is a certificate for a set of names, and another one in time. One step looks at the stored data,
 * takes what another process may have obtained, orders when it is due, and says when to look again. Where an authority refuses
 * some of the names, there is a certificate for the others meanwhile. docs/acme.md#renewal
 */
export class CertificateRenewal {
  private readonly parts: RenewalPorts;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private current: StoredCertificate | null = null;
  private failures = 0;
  /** How many failures since the last certificate were about a nonce. */
  private badNonces = 0;
  private notBeforeMs = 0;
  /** After an order none is made before, but for one that was asked for by command. */
  private restUntilMs = 0;
  private askedToWaitUntilMs = 0;
  private askWindowAtMs = 0;
  private isStepping = false;
  /** What was noted last, here or by another gateway. */
  private noted: RetryNote | null = null;
  /** Whether the waits of other gateways are passed over, as with `hurry`. */
  private isHurried = false;
  /** Whether something has changed during a step. */
  private isStale = false;
  private unwatch: () => void = () => {};
  private isOrdering = false;
  private isStopped = false;

  constructor(parts: RenewalPorts) {
    this.parts = parts;
  }

  /**
   * Serves the stored data and then keeps at it. Until the first certificate for these names is there, those for other sets
   * serve the names that they cover, and a self-signed one the others.
   * @param isHurried as with `hurry`: otherwise the wait after failures of an earlier process is kept to
   */
  async start(isHurried: boolean): Promise<void> {
    const { store, wish, hasStandIn } = this.parts;
    this.unwatch = store.watch(wish.names, () => void this.look());
    this.isHurried = isHurried;
    try {
      this.adopt(await this.stored());
    } catch (error) {
      // The first step waits for it.
      if (!(error instanceof StoreAway)) throw error;
    }
    await this.takeUp();
    if (this.current === null && hasStandIn) await this.showOthers();
    this.wake(0);
  }

  /**
   * Looks again now, whatever the wait after a failure: the cause may have been fixed. A wait that the
   * authority has asked for is kept to.
   */
  hurry(): void {
    this.notBeforeMs = this.askedToWaitUntilMs;
    this.restUntilMs = 0;
    this.isHurried = true;
    if (!this.isStepping) this.wake(0);
  }

  stop(): void {
    this.isStopped = true;
    this.unwatch();
    if (this.timer !== null) clearTimeout(this.timer);
    // An order that is under way has not failed yet.
    if (this.isOrdering) void this.note();
  }

  /** Another gateway has changed the stored data. It is served at once, also while another order is under way here. */
  private async look(): Promise<void> {
    if (this.isStopped) return;
    try {
      this.adopt(await this.stored(), true);
    } catch {
      // The step reports the fault.
    }
    if (this.isStepping) this.isStale = true;
    else this.wake(0);
  }

  /** Goes on with the waits of an earlier process, or of another gateway. */
  private async takeUp(): Promise<void> {
    const { wish, store, listener, now } = this.parts;
    const note = await store.readNote(wish.names, now());
    if (note === null || isSame(note, this.noted)) return;
    this.noted = note;
    this.failures = note.failures;
    this.askedToWaitUntilMs = note.askedToWaitUntilMs;
    this.notBeforeMs = this.isHurried ? note.askedToWaitUntilMs : note.notBeforeMs;
    const waitMs = this.notBeforeMs - now();
    if (waitMs > 0 && this.dueMs() <= now()) listener.onWaiting(note.failures, waitMs);
  }

  /** What other sets have for these names, and a certificate of our own for the rest. */
  private async showOthers(): Promise<void> {
    const { wish, store, listener, now } = this.parts;
    const { names } = wish;
    const { current } = this;
    const shown = [...(await store.others(names, now())), await selfSigned(names)];
    // Another gateway may have obtained one meanwhile.
    if (this.current === current) listener.onCertificates(shown);
  }

  private async note(attempt?: RetryNote): Promise<void> {
    const { failures, notBeforeMs, askedToWaitUntilMs } = this;
    const { wish, store } = this.parts;
    this.noted = attempt ?? { failures, notBeforeMs, askedToWaitUntilMs };
    await store.saveNote(wish.names, this.noted);
  }

  private wake(inMs: number): void {
    if (this.isStopped) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), Math.min(Math.max(inMs, 0), LOOK_AGAIN_MS));
  }

  private async run(): Promise<void> {
    this.isStepping = true;
    this.isStale = false;
    let waitMs = LOOK_AGAIN_MS;
    try {
      waitMs = await this.parts.inTurn(() => (this.isStopped ? Promise.resolve(0) : this.step()));
    } catch (error) {
      waitMs = error instanceof StoreAway ? this.waitForStore() : await this.failed(error);
    }
    this.isStepping = false;
    this.wake(this.isStale ? 0 : waitMs);
  }

  /** Nothing can be ordered, since other gateways could do the same: that is no failure of an order. */
  private waitForStore(): number {
    this.isOrdering = false;
    this.parts.listener.onStoreAway();
    return STORE_AWAY_MS;
  }

  /** @returns milliseconds until the next look */
  private async step(): Promise<number> {
    const { now, store, wish } = this.parts;
    await store.open();
    this.adopt(await this.stored(true), true);
    await this.askForWindow();
    const dueInMs = Math.max(this.dueMs(), this.notBeforeMs) - now();
    if (dueInMs > 0) return dueInMs;
    if (this.current !== null && this.parts.approval !== null) {
      const refusedMs = await this.parts.approval();
      if (refusedMs > 0) return refusedMs;
    }
    const right = await store.claim(wish.names);
    if (right === null) return LOCKED_MS;
    try {
      // Another process may have been at it until now.
      this.adopt(await this.stored(true), true);
      if (store.isShared) await this.takeUp();
      if (Math.max(this.dueMs(), this.notBeforeMs) <= now()) await this.orderAll();
    } catch (error) {
      // The others find the wait when they find the right to order.
      if (error instanceof StoreAway) throw error;
      return await this.failed(error);
    } finally {
      await right.release();
      this.isHurried = false;
    }
    return Math.max(this.dueMs(), this.notBeforeMs) - now();
  }

  /** All names; where the authority refuses some of them, the others at least. */
  private async orderAll(): Promise<void> {
    const { wish, listener, store, now, random } = this.parts;
    const { current } = this;
    // A process that dies on the way has failed. The first time another gateway goes on as soon as the right to order has lapsed.
    const failures = this.failures + 1;
    const waitMs = store.isShared && failures === 1 ? 0 : backOff(failures, 0, random);
    this.isOrdering = true;
    await this.note({ failures, notBeforeMs: now() + waitMs, askedToWaitUntilMs: 0 });
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
    await this.keep(wish.names, issued);
    await this.note();
    this.restUntilMs = now() + restAfter(issued);
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
        if (error instanceof StoreAway) throw error;
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
    if (issue.accountUrl !== account.url) await accounts.saveAccount({ key: account.key, url: issue.accountUrl });
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
    const stored = await this.storedFor(rest);
    if (stored === null || dueAt(stored, stored.renewAtMs) <= now()) {
      const { issued, refusal } = await this.order(rest, stored);
      if (refusal !== null) return;
      await this.keep(rest, issued);
      listener.onIssued(rest, stored !== null, issued.notAfterMs);
    }
    if (!this.isStopped) await this.showOthers();
  }

  /** A certificate that cannot be stored is served all the same. */
  private async keep(names: readonly string[], issued: StoredCertificate): Promise<void> {
    try {
      await this.parts.store.save(names, issued, issued.directoryUrl);
    } catch (error) {
      const kind = error instanceof StoreAway ? "store_away" : error instanceof Fenced ? "fenced" : "broken_store";
      this.report(new AcmeFailure(kind, (error as Error).message), 0);
    }
  }

  /** The account's key, made if there is none that can be used. */
  private async account(accounts: AccountStorage): Promise<StoredAccount> {
    try {
      const stored = await accounts.account();
      if (stored !== null) return stored;
    } catch (error) {
      if (!(error instanceof BrokenStore)) throw error;
      this.report(new AcmeFailure("broken_store", error.message), 0);
      await accounts.discardAccount();
    }
    return accounts.saveAccount({ key: await newPrivateKey(), url: "" });
  }

  /** The stored data. Broken files are put aside; what is served already is stored again. */
  private async stored(isSure = false): Promise<StoredCertificate | null> {
    const { store, wish } = this.parts;
    const { names } = wish;
    try {
      return (await store.load(names, isSure)) ?? this.current;
    } catch (error) {
      if (error instanceof StoreAway) throw error;
      this.report(new AcmeFailure("broken_store", (error as Error).message), 0);
      if (!(error instanceof BrokenStore)) return this.current;
      await store.discard(names);
      if (this.current !== null) await store.save(names, this.current, this.current.directoryUrl);
      return this.current;
    }
  }

  /** What is stored for some of the names; null if it is broken. */
  private async storedFor(names: readonly string[]): Promise<StoredCertificate | null> {
    try {
      return await this.parts.store.load(names);
    } catch {
      return null;
    }
  }

  /**
   * Goes over to a certificate that is not older than what is served: an older one was not replaced on a full disk.
   * @param isTaken whether another gateway has obtained what is new
   */
  private adopt(stored: StoredCertificate | null, isTaken = false): void {
    if (stored === null || (this.current !== null && stored.notBeforeMs < this.current.notBeforeMs)) return;
    const isNew = this.current?.fingerprint !== stored.fingerprint;
    this.current = stored;
    // What an order brings that was under way at the end is for the next process, or discarded.
    if (!isNew || this.isStopped) return;
    const { listener, store, wish } = this.parts;
    listener.onCertificates([stored]);
    // Whichever gateway has made the last order: together they make no more than one would.
    if (store.isShared && stored.isOurs) this.restUntilMs = stored.notBeforeMs + restAfter(stored);
    if (!isTaken || !store.isShared) return;
    this.failures = 0;
    this.notBeforeMs = 0;
    listener.onTaken(wish.names, stored.notAfterMs);
  }

  private dueMs(): number {
    if (this.current === null) return 0;
    const due = dueAt(this.current, this.current.renewAtMs);
    return this.current.renewAtMs === RENEW_NOW ? due : Math.max(due, this.restUntilMs);
  }

  private async askForWindow(): Promise<void> {
    const { sources, store, wish, now, random } = this.parts;
    const { current } = this;
    if (current === null || !current.isOurs || current.renewAtMs === RENEW_NOW || now() < this.askWindowAtMs) return;
    if (!(await store.mayAsk(wish.names, now()))) {
      this.askWindowAtMs = now() + LOOK_AGAIN_MS;
      return;
    }
    const source = sources.find(({ directoryUrl }) => directoryUrl === current.directoryUrl);
    const window = source === undefined ? null : await source.authority.renewalWindow(current.chain);
    this.askWindowAtMs = window === null ? now() + LOOK_AGAIN_MS : window.askAgainMs;
    const renewAtMs = window === null ? null : momentWithin(window, current.renewAtMs, random);
    if (renewAtMs === current.renewAtMs && !store.isShared) return;
    this.current = { ...current, renewAtMs };
    try {
      await store.saveRecord(wish.names, this.current, this.askWindowAtMs);
    } catch (error) {
      // Another gateway is at it: what it writes counts.
      if (!store.isShared) throw error;
    }
  }

  private async failed(error: unknown): Promise<number> {
    const failure = asFailure(error);
    this.failures++;
    if (failure.kind === "badNonce") this.badNonces++;
    const waitMs = waitAfter(failure, this.failures, this.badNonces, this.parts.random);
    this.notBeforeMs = this.parts.now() + waitMs;
    this.askedToWaitUntilMs = failure.retryAfterMs === 0 ? 0 : this.notBeforeMs;
    this.isOrdering = false;
    if (!this.isStopped) await this.note();
    this.report(failure, waitMs);
    return waitMs;
  }

  private report(failure: AcmeFailure, retryInMs: number): void {
    this.parts.listener.onFailed(failure, this.failures, retryInMs);
  }
}

/** How long no other order is made after one. */
function restAfter({ notBeforeMs, notAfterMs }: StoredCertificate): number {
  return Math.min(REST_MS, (notAfterMs - notBeforeMs) / 2);
}

function isSame(one: RetryNote, other: RetryNote | null): boolean {
  return other !== null && one.failures === other.failures && one.notBeforeMs === other.notBeforeMs;
}

type Outcome =
  | { readonly issued: StoredCertificate; readonly refusal: null }
  | { readonly issued: null; readonly refusal: AcmeFailure };

function asFailure(error: unknown): AcmeFailure {
  return error instanceof AcmeFailure ? error : new AcmeFailure("failed", String(error));
}

/** A certificate for all names that is good for less is not waited with: it makes room for one with fewer names. */
const MAKE_DO_MS = 3 * 86_400_000;
/** At least this often edge reads the store, and the clock, which may have been set. */
const LOOK_AGAIN_MS = 3_600_000;
/** No two orders within this time, or half of a certificate's life, whatever the directory suggests. */
const REST_MS = 6 * 3_600_000;
/** While another process orders. */
const LOCKED_MS = 2000;
/** While the store that gateways share is away. */
const STORE_AWAY_MS = 5000;
