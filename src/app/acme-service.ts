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
  private config: AcmeConfig | null = null;
  private renewal: CertificateRenewal | null = null;
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
  async use({ server }: RuntimeConfig): Promise<void> {
    const config = server.acme;
    const { isReload } = this;
    this.isReload = true;
    if (this.config !== null && JSON.stringify(config) === JSON.stringify(this.config)) {
      this.renewal?.hurry();
      return;
    }
    this.stop();
    if (!config.enabled) {
      this.around.certificates.show([]);
      return;
    }
    this.config = config;
    try {
      const { makeRenewal } = await import("./acme-renewal.ts");
      const renewal = makeRenewal(config, this.responder(config), this.listener(config));
      // Another reload may have come while the client was being loaded.
      if (this.config !== config) return;
      this.renewal = renewal;
      await renewal.start(isReload);
    } catch (error) {
      this.around.event("cert_failed", { names: config.domains, kind: "failed", error: String(error) });
    }
  }

  stop(): void {
    this.renewal?.stop();
    this.renewal = null;
    this.config = null;
    this.answers.publish([]);
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

  private responder(config: AcmeConfig): ChallengeResponder {
    const { certificates, serving } = this.around;
    const isAlpn = config.challengeType === "tls-alpn-01";
    return {
      answer: async (list: readonly Challenge[]) => {
        await serving;
        if (isAlpn) await certificates.showChallenges(list);
        else this.answers.publish(list.map(({ keyAuthorization }) => keyAuthorization));
      },
    };
  }

  private listener(config: AcmeConfig): RenewalListener {
    const names = config.domains;
    return {
      onCertificates: (certificates) => this.around.certificates.show(certificates),
      onIssued: (isRenewal, notAfterMs) => {
        this.obtained++;
        const event = isRenewal ? "cert_renewed" : "cert_obtained";
        this.around.event(event, { names, not_after: new Date(notAfterMs).toISOString() });
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

function failureFields(
  names: readonly string[],
  { kind, message }: AcmeFailure,
  failures: number,
  retryInMs: number,
): EventFields {
  return { names, kind, error: message, failures, retry_in_s: Math.round(retryInMs / 1000) };
}

/** Where certificates that are obtained go. */
export interface IssuedCertificateSink {
  /** Shows these for handshakes from now on, and none of those before; of two for one name the first counts. */
  show(certificates: readonly IssuedCertificate[]): void;
  /** Shows the responses to these challenges and no others, to those who ask for them. Resolves when every worker does. */
  showChallenges(challenges: readonly Challenge[]): Promise<void>;
}

/** Puts obtained certificates and challenges among those of the TLS listener. */
export class ListenerSink implements IssuedCertificateSink {
  private readonly sink: CertificateSink;
  private readonly settled: () => Promise<void>;
  private challenges: readonly string[] = [];
  private count = 0;

  /** @param settled resolves when every worker has taken what was put in before */
  constructor(sink: CertificateSink, settled: () => Promise<void>) {
    this.sink = sink;
    this.settled = settled;
  }

  show(certificates: readonly IssuedCertificate[]): void {
    // In the places of those before, so that there is no moment without one.
    for (const [i, { chain, key }] of certificates.entries()) {
      this.sink.put(serverCertificate(`${CERTIFICATE_ID}-${i}`, chain, key));
    }
    for (let i = certificates.length; i < this.count; i++) this.sink.remove(`${CERTIFICATE_ID}-${i}`);
    this.count = certificates.length;
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

const CERTIFICATE_ID = "acme";
