import { isHostName } from "../../../config/origin.ts";
import { ipVersion } from "../../../core/ip-address.ts";
import { outboundRequest } from "../../../net/outbound-request.ts";
import type { AcmeConfig, AcmeOrder, OnDemandConfig } from "../settings.ts";
import type { CertificateRenewal, RenewalListener } from "./certificate-renewal.ts";
import type { CertificateStorage } from "./certificate-storage.ts";
import type { RenewalMaker } from "./renewal-maker.ts";

/** Certificates that are obtained when a client first asks for their name. */
const MAX_ON_DEMAND_NAMES = 10_000;
/** Names that are asked about or ordered for at the same time. */
const MAX_ON_DEMAND_QUESTIONS = 32;
/** Milliseconds for which a name that was refused is not asked about again. */
const ON_DEMAND_REFUSAL_MS = 300_000;
/** Milliseconds until a service that did not answer is asked again about a certificate that is shown. */
const ON_DEMAND_RECHECK_MS = 60_000;
/** Milliseconds that the service has to approve of a name. */
const ON_DEMAND_ASK_MS = 5_000;

/** Why a name gets no certificate. */
type OnDemandRefusal = "not_approved" | "no_answer" | "rate" | "too_many" | "not_obtained";

/** What names that clients ask for need. */
interface OnDemandPorts {
  /** Obtains a certificate, or takes the stored one. @returns whether it is shown now; never rejects */
  obtain(order: AcmeOrder): Promise<boolean>;
  /** Shows the certificate for a name no more, and renews it no more. */
  drop(name: string): void;
  /** @param isDropped whether there was a certificate, which is shown no more */
  onRefused(name: string, reason: OnDemandRefusal, isDropped: boolean): void;
  /** Milliseconds on a clock that never goes back. */
  now(): number;
}

/** Certificates for names that clients ask for, where a service approves of them. docs/acme.md#on-demand */
export class OnDemandNames {
  private readonly config: OnDemandConfig;
  private readonly plan: Omit<AcmeOrder, "names">;
  private readonly store: Pick<CertificateStorage, "has">;
  private readonly ports: OnDemandPorts;
  private readonly open: Map<string, Promise<void>> = new Map();
  /** Until when a name is not asked about again; the one that was refused longest ago comes first. */
  private readonly refused: Map<string, number> = new Map();
  /** When new certificates were ordered, within the window. */
  private orders: number[] = [];
  /** Names with a certificate, and when they are asked about again. */
  private readonly shown: Map<string, number> = new Map();
  private recheck: ReturnType<typeof setTimeout> | null = null;
  private isClosed = false;

  /** @param acme with `onDemand` @param store of the first directory that is asked */
  constructor(acme: AcmeConfig, store: Pick<CertificateStorage, "has">, ports: OnDemandPorts) {
    const { challengeType, profile, keyType, directoryUrl, fallbackDirectoryUrls } = acme;
    this.config = acme.onDemand!;
    this.plan = { challengeType, profile, keyType, directoryUrls: [directoryUrl, ...fallbackDirectoryUrls] };
    this.store = store;
    this.ports = ports;
  }

  /** A client asks for a name. @returns resolves when its certificate is shown, or there will be none for now */
  wanted(name: string): Promise<void> {
    const known = this.open.get(name);
    if (known !== undefined) return known;
    const isName = isHostName(name) && name.includes(".") && ipVersion(name) === 0;
    const until = this.refused.get(name);
    if (!isName || (until !== undefined && until > this.ports.now())) return Promise.resolve();
    if (this.open.size >= MAX_ON_DEMAND_QUESTIONS || this.shown.size >= MAX_ON_DEMAND_NAMES) {
      this.ports.onRefused(name, "too_many", false);
      return Promise.resolve();
    }
    const work = this.decide(name).finally(() => this.open.delete(name));
    this.open.set(name, work);
    return work;
  }

  private async decide(name: string): Promise<void> {
    const response = await this.ask(name);
    if (response !== true) return this.refuse(name, response === "broken" ? "not_approved" : response);
    // One that is in the store is no new one.
    if (!(await this.isStored(name)) && !this.takesOrder()) return this.refuse(name, "rate");
    if (await this.ports.obtain({ ...this.plan, names: [name] })) this.approved(name, this.config.recheckMs);
    else this.refuse(name, "not_obtained");
  }

  private async isStored(name: string): Promise<boolean> {
    try {
      return await this.store.has([name]);
    } catch {
      // The fault in the store is reported where the certificate is to be loaded.
      return false;
    }
  }

  /** Asks about no name any more. */
  close(): void {
    this.isClosed = true;
    if (this.recheck !== null) clearTimeout(this.recheck);
  }

  /** A name has its certificate, for so many milliseconds at least. */
  private approved(name: string, forMs: number): void {
    this.shown.set(name, this.ports.now() + forMs);
    if (this.recheck === null) this.waitForNext();
  }

  private waitForNext(): void {
    this.recheck = null;
    if (this.isClosed || this.shown.size === 0) return;
    const [name, atMs] = [...this.shown].reduce((first, one) => (one[1] < first[1] ? one : first));
    const waitMs = Math.min(Math.max(0, atMs - this.ports.now()), LONGEST_WAIT_MS);
    this.recheck = setTimeout(() => void this.askAgain(name).finally(() => this.waitForNext()), waitMs);
  }

  /** One name after the other, so that ten thousand of them are no burst. */
  private async askAgain(name: string): Promise<void> {
    const due = this.shown.get(name);
    if (due === undefined || due > this.ports.now()) return;
    const response = await this.ask(name);
    if (this.isClosed || !this.shown.has(name)) return;
    if (response === "not_approved") this.drop(name);
    else this.approved(name, response === true ? this.config.recheckMs : ON_DEMAND_RECHECK_MS);
  }

  private drop(name: string): void {
    this.shown.delete(name);
    this.ports.drop(name);
    this.refuse(name, "not_approved", true);
  }

  /** @returns `broken` for a status that says nothing of the name */
  private async ask(name: string): Promise<true | "not_approved" | "no_answer" | "broken"> {
    const url = new URL(this.config.ask);
    url.searchParams.set("domain", name);
    try {
      const { status } = await outboundRequest({
        url: url.href,
        headers: {},
        ca: "",
        timeoutMs: ON_DEMAND_ASK_MS,
        maxBytes: 0,
        wants: "none",
      });
      return status === 200 ? true : CLEAR_NO.has(status) ? "not_approved" : "broken";
    } catch {
      return "no_answer";
    }
  }

  private takesOrder(): boolean {
    const now = this.ports.now();
    this.orders = this.orders.filter((at) => now - at < this.config.rateWindowMs);
    if (this.orders.length >= this.config.rateCount) return false;
    this.orders.push(now);
    return true;
  }

  private refuse(name: string, reason: OnDemandRefusal, isDropped = false): void {
    this.refused.delete(name);
    if (this.refused.size >= MAX_ON_DEMAND_NAMES) this.refused.delete(this.refused.keys().next().value!);
    // A service that was away is asked again soon.
    const waitMs = reason === "no_answer" ? ON_DEMAND_REFUSAL_MS / 60 : ON_DEMAND_REFUSAL_MS;
    this.refused.set(name, this.ports.now() + waitMs);
    this.ports.onRefused(name, reason, isDropped);
  }

  /**
   * Asks whether the certificate for a name may be renewed: what was approved once need not be for ever.
   * @returns 0 if it may, else milliseconds until it is to be asked again
   */
  async approveRenewal(name: string): Promise<number> {
    const response = await this.ask(name);
    if (response === true) return 0;
    if (response === "not_approved" && this.shown.has(name)) this.drop(name);
    return ON_DEMAND_REFUSAL_MS / 5;
  }
}

/** What says of a name that it may have no certificate; all else, such as a redirect or a rate limit, says nothing of it. */
const CLEAR_NO: ReadonlySet<number> = new Set([403, 404, 410]);
/** Timers take no longer times: after this one edge checks the names again. */
const LONGEST_WAIT_MS = 86_400_000;

/** Begins a renewal that shows nothing of the gateway's own. `isShown` is false if the first attempt failed, or may not be made yet. */
export function obtainOnce(
  make: RenewalMaker,
  order: AcmeOrder,
  listener: RenewalListener,
  approval: () => Promise<number>,
): { readonly renewal: CertificateRenewal; readonly isShown: Promise<boolean> } {
  const { promise: isShown, resolve } = Promise.withResolvers<boolean>();
  const renewal = make(
    order,
    {
      ...listener,
      onCertificates: (certificates) => {
        listener.onCertificates(certificates);
        resolve(true);
      },
      onWaiting: (failures, retryInMs) => {
        listener.onWaiting(failures, retryInMs);
        resolve(false);
      },
      onStoreAway: () => {
        listener.onStoreAway();
        resolve(false);
      },
      onFailed: (failure, failures, retryInMs) => {
        listener.onFailed(failure, failures, retryInMs);
        resolve(false);
      },
    },
    { hasStandIn: false, approval },
  );
  void renewal.start(false);
  return { renewal, isShown };
}
