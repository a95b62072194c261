import { acmeOrders } from "../config/acme-orders.ts";
import type { AcmeOrder } from "../config/acme-settings.ts";
import type { AcmeConfig, RuntimeConfig } from "../config/runtime-config.ts";
import { ipVersion, reverseName } from "../core/ip-address.ts";
import type {
  AcmeFailure,
  Challenge,
  ChallengeResponder,
  IssuedCertificate,
} from "../features/acme/certificate-authority.ts";
import type { CertificateRenewal, RenewalListener } from "../features/acme/certificate-renewal.ts";
import type { EventFields, EventName } from "../features/telemetry/events.ts";
import type { Metric } from "../features/telemetry/metric.ts";
import type { CertificateSink, ServerCertificate } from "../message/server-certificate.ts";
import { ChallengeWriter } from "../shared/challenge-table.ts";
import type { OnDemandNames } from "./acme-on-demand.ts";
import type { RenewalMaker } from "./acme-renewal.ts";
import { serverCertificate } from "./certificates.ts";

/** What certificates by themselves need of the control thread. */
export interface AcmeSurroundings {
  /** The responses to HTTP-01 challenges, seen by every worker. */
  readonly challenges: SharedArrayBuffer;
  readonly certificates: IssuedCertificateSink;
  /** Resolves when every worker listens: an authority that connects earlier is refused. */
  readonly serving: Promise<void>;
  readonly event: (event: EventName, fields: EventFields) => void;
}

/** `server.acme` in the control thread. The client itself is loaded when it is first wanted. */
export class AcmeService {
  private readonly around: AcmeSurroundings;
  private readonly answers: ChallengeWriter;
  /** What is in use, as text; "" while it is off. */
  private used = "";
  private renewals: readonly CertificateRenewal[] = [];
  /** Names that clients ask for; null where they get none of their own. */
  private names: OnDemandNames | null = null;
  private readonly inTurn = oneAtATime();
  /** Whether it has been used before: what comes then is a reload. */
  private isReload = false;
  private obtained = 0;
  private failed = 0;

  constructor(around: AcmeSurroundings) {
    this.around = around;
    this.answers = new ChallengeWriter(around.challenges);
  }

  /**
   * Begins, goes on with changed settings, or ends. With the same settings a reload makes it try again at once, since
   * the cause may have been fixed, and so it does with changed ones. Resolves when there is something to serve.
   */
  async use(config: RuntimeConfig): Promise<void> {
    const { acme } = config.server;
    const orders = acmeOrders(config);
    const isOn = orders.length > 0 || (acme.enabled && acme.onDemand !== null);
    const wanted = isOn ? JSON.stringify([acme, orders]) : "";
    const { isReload } = this;
    this.isReload = true;
    if (isOn && wanted === this.used) {
      for (const renewal of this.renewals) renewal.hurry();
      return;
    }
    this.stop();
    this.around.certificates.keep(orders.length);
    if (!isOn) return;
    this.used = wanted;
    try {
      const { renewalMaker } = await import("./acme-renewal.ts");
      const make = renewalMaker(acme, {
        responder: (order) => this.responder(order),
        onLeftOver: (name, error) => this.around.event("cert_record_left", { name, error }),
        inTurn: this.inTurn,
      });
      // Another reload may have come while the client was being loaded.
      if (this.used !== wanted) return;
      this.renewals = orders.map((order, index) => make(order, this.listener(order.names, index), OWN_NAMES));
      if (acme.onDemand !== null) this.names = await this.onDemand(acme, make, orders.length);
      await Promise.all(this.renewals.map((renewal) => renewal.start(isReload)));
    } catch (error) {
      this.around.event("cert_failed", {
        names: orders.flatMap(({ names }) => names),
        kind: "failed",
        error: String(error),
      });
    }
  }

  /** A client asks for a name without a certificate. Resolves when there is one, or there will be none for now. */
  wanted(name: string): Promise<void> {
    return this.names?.wanted(name) ?? Promise.resolve();
  }

  stop(): void {
    for (const renewal of this.renewals) renewal.stop();
    this.renewals = [];
    this.names = null;
    this.used = "";
    this.answers.publish([]);
  }

  /** Certificates for names that clients ask for: each has a renewal of its own, after those of the orders. */
  private async onDemand(acme: AcmeConfig, make: RenewalMaker, orders: number): Promise<OnDemandNames> {
    const { OnDemandNames: Names, obtainOnce } = await import("./acme-on-demand.ts");
    const { used } = this;
    let next = orders;
    const names: OnDemandNames = new Names(acme, {
      obtain: async (order) => {
        // What was approved of by another configuration is asked about again.
        if (this.used !== used) return false;
        const approval = () => names.approveRenewal(order.names[0]!);
        const { renewal, isShown } = obtainOnce(make, order, this.listener(order.names, next++), approval);
        this.renewals = [...this.renewals, renewal];
        if (await isShown) return true;
        renewal.stop();
        this.renewals = this.renewals.filter((one) => one !== renewal);
        return false;
      },
      onRefused: (name, reason, isRenewal) =>
        this.around.event("cert_refused", { name, reason, ...(isRenewal ? { renewal: true } : {}) }),
      now: () => performance.now(),
    });
    return names;
  }

  /** docs/acme.md#failures */
  metrics(): readonly Metric[] {
    return [
      {
        name: "gateway_acme_renewals_total",
        help: "ACME orders that ended, by result.",
        type: "counter",
        read: () => [
          { value: this.obtained, labels: { result: "success" } },
          { value: this.failed, labels: { result: "failure" } },
        ],
      },
    ];
  }

  private responder({ challengeType }: AcmeOrder): ChallengeResponder {
    const { certificates, serving } = this.around;
    const isAlpn = challengeType === "tls-alpn-01";
    return {
      answer: async (list: readonly Challenge[]) => {
        await serving;
        if (isAlpn) await certificates.showChallenges(list);
        else this.answers.publish(list.map(({ keyAuthorization }) => keyAuthorization));
      },
    };
  }

  private listener(names: readonly string[], index: number): RenewalListener {
    return {
      onCertificates: (certificates) => this.around.certificates.show(index, certificates),
      onIssued: (issued, isRenewal, notAfterMs) => {
        this.obtained++;
        const event = isRenewal ? "cert_renewed" : "cert_obtained";
        this.around.event(event, { names: issued, not_after: new Date(notAfterMs).toISOString() });
      },
      onWaiting: (failures, retryInMs) =>
        this.around.event("cert_waiting", { names, failures, retry_in_s: Math.round(retryInMs / 1000) }),
      onFailed: (failure, failures, retryInMs) => {
        this.failed++;
        this.around.event("cert_failed", failureFields(names, failure, failures, retryInMs));
      },
    };
  }
}

/** What the configuration names has something to show from the start, and needs no approval. */
const OWN_NAMES = { hasStandIn: true, approval: null } as const;

function failureFields(
  names: readonly string[],
  { kind, message, names: refused }: AcmeFailure,
  failures: number,
  retryInMs: number,
): EventFields {
  return {
    names,
    ...(refused.length === 0 ? {} : { refused }),
    kind,
    error: message,
    failures,
    retry_in_s: Math.round(retryInMs / 1000),
  };
}

/** Runs what it is given one after the other. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
}

/** Where certificates that are obtained go. */
export interface IssuedCertificateSink {
  /** Shows nothing of the orders from this index on. */
  keep(orders: number): void;
  /** Shows these of one order for handshakes from now on, and none of those before; of two for one name the first counts. */
  show(order: number, certificates: readonly IssuedCertificate[]): void;
  /** Shows the responses to these challenges and no others, to those who ask for them. Resolves when every worker does. */
  showChallenges(challenges: readonly Challenge[]): Promise<void>;
}

/** Puts obtained certificates and challenges among those of the TLS listener. */
export class ListenerSink implements IssuedCertificateSink {
  private readonly sink: CertificateSink;
  private readonly settled: () => Promise<void>;
  private challenges: readonly string[] = [];
  /** What is shown of each order. */
  private readonly shown: (readonly IssuedCertificate[])[] = [];

  /** @param settled resolves when every worker has taken what was put in before */
  constructor(sink: CertificateSink, settled: () => Promise<void>) {
    this.sink = sink;
    this.settled = settled;
  }

  keep(orders: number): void {
    while (this.shown.length > orders) {
      this.show(this.shown.length - 1, []);
      this.shown.pop();
    }
  }

  show(order: number, certificates: readonly IssuedCertificate[]): void {
    const before = this.shown[order] ?? [];
    // In the places of those before, so that there is no moment without one.
    for (const [i, { chain, key }] of certificates.entries()) {
      if (before[i]?.chain !== chain) this.sink.put(serverCertificate(idOf(order, i), chain, key));
    }
    for (let i = certificates.length; i < before.length; i++) this.sink.remove(idOf(order, i));
    this.shown[order] = certificates;
  }

  async showChallenges(challenges: readonly Challenge[]): Promise<void> {
    for (const id of this.challenges) this.sink.removeChallenge(id);
    const { challengeCertificate } = await import("../features/acme/own-certificate.ts");
    const certificates: ServerCertificate[] = [];
    for (const { name, keyAuthorization } of challenges) {
      const { chain, key } = await challengeCertificate(name, keyAuthorization);
      // RFC 8738 §6: an address is asked for by the name that it has in the reverse tree.
      const asked = ipVersion(name) === 0 ? name : reverseName(name);
      certificates.push({ id: `${CERTIFICATE_ID}:${name}`, names: [asked], chain, key });
    }
    for (const certificate of certificates) this.sink.putChallenge(certificate);
    this.challenges = certificates.map(({ id }) => id);
    if (certificates.length > 0) await this.settled();
  }
}

function idOf(order: number, index: number): string {
  return `${CERTIFICATE_ID}-${order}-${index}`;
}

const CERTIFICATE_ID = "acme";
