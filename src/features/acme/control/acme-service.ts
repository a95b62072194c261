import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter, FieldsOf } from "../../../core/event-row.ts";
import { ipVersion, reverseName } from "../../../core/ip-address.ts";
import type { Takers } from "../../../core/message-takers.ts";
import { type Metric, metricOf, single } from "../../../core/metric-row.ts";
import type { CertificateSink, ServerCertificate } from "../../../message/server-certificate.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { SettledMessage, WantedMessage } from "../acme-messages.ts";
import { ChallengeWriter, MAX_CHALLENGE_BYTES } from "../challenge-table.ts";
import type { ACME_EVENTS } from "../events.ts";
import { ACME_METRICS } from "../metrics.ts";
import { acmeOrders } from "../orders.ts";
import type { AcmeConfig, AcmeOrder } from "../settings.ts";
import type { AcmeFailure, Challenge, ChallengeResponder, IssuedCertificate } from "./certificate-authority.ts";
import type { CertificateRenewal, RenewalListener } from "./certificate-renewal.ts";
import type { DirectoryStorage } from "./certificate-storage.ts";
import type { FleetCertificates, OpenCertificateStore } from "./fleet-certificates.ts";
import type { OnDemandNames } from "./on-demand.ts";
import type { RenewalMaker } from "./renewal-maker.ts";

/** What certificates by themselves need of the control thread. */
export interface AcmePorts {
  /** The responses to HTTP-01 challenges, seen by every worker. */
  readonly challenges: SharedArrayBuffer;
  readonly certificates: IssuedCertificateSink;
  /** Resolves when every worker listens: an authority that connects earlier is refused. */
  readonly serving: Promise<void>;
  readonly event: EventWriter<typeof ACME_EVENTS>;
  /** A name for which nothing was obtained: another source may have a certificate. Resolves when that is known. */
  readonly wantedElsewhere: (name: string) => Promise<void>;
  readonly openStore: OpenCertificateStore;
}

/** `server.acme` in the control thread. The client itself is loaded when it is first wanted. */
export class AcmeService implements ControlService<RuntimeConfig> {
  readonly onMessage: Takers<WantedMessage, SettledMessage> = {
    wanted: ({ name }, _, response) => void this.wanted(name).then(() => response({ kind: "settled", name })),
  };
  private readonly around: AcmePorts;
  private readonly answers: ChallengeWriter;
  /** What is in use, as text; "" while it is off. */
  private used = "";
  private renewals: readonly CertificateRenewal[] = [];
  /** Names that clients ask for; null if they get none of their own. */
  private names: OnDemandNames | null = null;
  private readonly inTurn = oneAtATime();
  /** Whether it has been used before: what comes then is a reload. */
  private isReload = false;
  /** Where certificates are that several gateways share; null if they are in files. */
  private shared: FleetCertificates | null = null;
  private obtained = 0;
  private failed = 0;

  constructor(around: AcmePorts) {
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
    const { cluster } = config;
    const wanted = isOn ? JSON.stringify([acme, orders, acme.storage === "redis" ? cluster : null]) : "";
    const { isReload } = this;
    this.isReload = true;
    if (isOn && wanted === this.used) {
      for (const renewal of this.renewals) renewal.hurry();
      return;
    }
    this.halt();
    this.around.certificates.keep(orders.length);
    if (!isOn) {
      await this.leaveStorage();
      return;
    }
    this.used = wanted;
    try {
      // Before the library for certificates: the bundler keeps no order between the two.
      await import("reflect-metadata");
      const { renewalMaker } = await import("./renewal-maker.ts");
      const storage = await this.storage(config);
      const make = renewalMaker(acme, {
        responder: (order) => this.responder(order),
        storage,
        onLeftOver: (name, error) => this.around.event("cert_record_left", { name, error }),
        inTurn: this.inTurn,
      });
      // Another reload may have come while the client was being loaded.
      if (this.used !== wanted) return;
      this.renewals = orders.map((order, index) => make(order, this.listener(order.names, index), OWN_NAMES));
      if (acme.onDemand !== null)
        this.names = await this.onDemand(acme, make, { orders: orders.length, store: storage(acme.directoryUrl) });
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
  async wanted(name: string): Promise<void> {
    await this.names?.wanted(name);
    await this.around.wantedElsewhere(name);
  }

  private halt(): void {
    for (const renewal of this.renewals) renewal.stop();
    this.renewals = [];
    this.names?.close();
    this.names = null;
    this.used = "";
    // Those of other gateways stay.
    if (this.shared === null) this.answers.publish([]);
  }

  /** The process ends: other gateways need not wait for what this one has claimed. @param limitMs how long that may take */
  async stop(limitMs: number): Promise<void> {
    this.halt();
    await Promise.race([this.leaveStorage(), Bun.sleep(limitMs)]);
  }

  /** Where accounts and certificates of a directory are kept. */
  private async storage(config: RuntimeConfig): Promise<(directoryUrl: string) => DirectoryStorage> {
    const { acme } = config.server;
    if (acme.storage === "file") {
      await this.leaveStorage();
      const { AcmeStore } = await import("./certificate-store.ts");
      return (directoryUrl) => new AcmeStore(acme.cacheDir, directoryUrl);
    }
    const { FleetCertificates: Shared, storageKey } = await import("./fleet-certificates.ts");
    // An order that is under way goes on in it after a reload.
    if (this.shared?.settings !== storageKey(config)) {
      await this.leaveStorage();
      this.shared = new Shared(config, {
        event: this.around.event,
        openStore: this.around.openStore,
        showChallenges: (http, alpn) => this.showShared(http, alpn),
      });
      this.shared.start();
    }
    const { shared } = this;
    return (directoryUrl) => shared!.at(directoryUrl);
  }

  private async leaveStorage(): Promise<void> {
    const { shared } = this;
    if (shared === null) return;
    this.shared = null;
    await shared.close();
    await this.showShared([], []);
  }

  /** Shows challenges of all gateways. */
  private async showShared(http: readonly Challenge[], alpn: readonly Challenge[]): Promise<void> {
    this.answers.publish(fitting(http.map(({ keyAuthorization }) => keyAuthorization)));
    await this.around.certificates.showChallenges(alpn);
  }

  /** Certificates for names that clients ask for: each has a renewal of its own, after those of the orders. */
  private async onDemand(
    acme: AcmeConfig,
    make: RenewalMaker,
    { orders, store }: { readonly orders: number; readonly store: DirectoryStorage },
  ): Promise<OnDemandNames> {
    const { OnDemandNames: Names, obtainOnce } = await import("./on-demand.ts");
    const { used } = this;
    let next = orders;
    /** Places of certificates that are no more. */
    const free: number[] = [];
    const shown = new Map<string, { readonly renewal: CertificateRenewal; readonly index: number }>();
    const end = (renewal: CertificateRenewal, index: number): void => {
      renewal.stop();
      this.renewals = this.renewals.filter((one) => one !== renewal);
      free.push(index);
    };
    const names: OnDemandNames = new Names(acme, store, {
      obtain: async (order) => {
        // What was approved of by another configuration is asked about again.
        if (this.used !== used) return false;
        const approval = () => names.approveRenewal(order.names[0]!);
        const index = free.pop() ?? next++;
        const { renewal, isShown } = obtainOnce(make, order, this.listener(order.names, index), approval);
        this.renewals = [...this.renewals, renewal];
        if (await isShown) {
          shown.set(order.names[0]!, { renewal, index });
          return true;
        }
        end(renewal, index);
        return false;
      },
      drop: (name) => {
        const { renewal, index } = shown.get(name)!;
        shown.delete(name);
        this.around.certificates.show(index, []);
        end(renewal, index);
      },
      onRefused: (name, reason, isDropped) =>
        this.around.event("cert_refused", { name, reason, ...(isDropped ? { dropped: true } : {}) }),
      now: () => performance.now(),
    });
    return names;
  }

  /** docs/acme.md#failures */
  metrics(): readonly Metric[] {
    return [
      metricOf(ACME_METRICS, "gateway_acme_renewals_total", () => [
        { value: this.obtained, labels: { result: "success" } },
        { value: this.failed, labels: { result: "failure" } },
      ]),
      single(ACME_METRICS, "gateway_acme_storage_up", () => (this.shared?.isAway === true ? 0 : 1)),
      single(ACME_METRICS, "gateway_acme_storage_failures_total", () => this.shared?.failures ?? 0),
    ];
  }

  private responder({ challengeType }: AcmeOrder): ChallengeResponder {
    const { certificates, serving } = this.around;
    const isAlpn = challengeType === "tls-alpn-01";
    return {
      answer: async (list: readonly Challenge[]) => {
        await serving;
        if (this.shared !== null) await this.shared.answer(challengeType, list);
        else if (isAlpn) await certificates.showChallenges(list);
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
      onTaken: (taken, notAfterMs) =>
        this.around.event("cert_taken", { names: taken, not_after: new Date(notAfterMs).toISOString() }),
      // The storage itself says so, once.
      onStoreAway: () => {},
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
): FieldsOf<typeof ACME_EVENTS.cert_failed> {
  return {
    names,
    ...(refused.length === 0 ? {} : { refused }),
    kind,
    error: message,
    failures,
    retry_in_s: Math.round(retryInMs / 1000),
  };
}

/** As many of the lines as the table of challenges holds. */
function fitting(lines: readonly string[]): readonly string[] {
  let left = MAX_CHALLENGE_BYTES;
  return lines.filter((line) => {
    left -= line.length + 1;
    return left >= 0;
  });
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
interface IssuedCertificateSink {
  /** Shows nothing of the orders from this index on. */
  keep(orders: number): void;
  /** Shows these of one order for handshakes from now on, and none of those before; of two for one name the first counts. */
  show(order: number, certificates: readonly IssuedCertificate[]): void;
  /** Shows the responses to these challenges and no others, to all who ask for them. Resolves when every worker does. */
  showChallenges(challenges: readonly Challenge[]): Promise<void>;
}

/** Makes a certificate of PEM texts. @throws if they do not belong together */
type MakeCertificate = (id: string, chain: string, key: string) => ServerCertificate;

/** Puts obtained certificates and challenges among those of the TLS listener. */
export class ListenerSink implements IssuedCertificateSink {
  private readonly sink: CertificateSink;
  private readonly settled: () => Promise<void>;
  private readonly make: MakeCertificate;
  private challenges: readonly string[] = [];
  /** The orders, as listings show them. */
  private readonly shown: (readonly IssuedCertificate[])[] = [];

  /** @param settled resolves when every worker has taken what was put in before */
  constructor(sink: CertificateSink, settled: () => Promise<void>, make: MakeCertificate) {
    this.sink = sink;
    this.settled = settled;
    this.make = make;
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
      if (before[i]?.chain !== chain) this.sink.put(this.make(idOf(order, i), chain, key));
    }
    for (let i = certificates.length; i < before.length; i++) this.sink.remove(idOf(order, i));
    this.shown[order] = certificates;
  }

  async showChallenges(challenges: readonly Challenge[]): Promise<void> {
    for (const id of this.challenges) this.sink.removeChallenge(id);
    const { challengeCertificate } = await import("./own-certificate.ts");
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
