import type { AcmeConfig, RuntimeConfig } from "../config/runtime-config.ts";
import type { AcmeFailure, Challenge, ChallengeDesk } from "../features/acme/certificate-authority.ts";
import type { CertificateRenewal, RenewalListener } from "../features/acme/certificate-renewal.ts";
import type { EventFields, EventName } from "../features/telemetry/events.ts";
import type { Metric } from "../features/telemetry/metric.ts";
import { ChallengeWriter } from "../shared/challenge-table.ts";
import type { AcmeDesk } from "./acme-desk.ts";

/** What certificates by themselves need of the control thread. */
export interface AcmeSurroundings {
  /** The answers to HTTP-01 challenges, seen by every worker. */
  readonly challenges: SharedArrayBuffer;
  readonly certificates: AcmeDesk;
  /** Resolves when every worker listens: an authority that asks any earlier finds nobody. */
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
   * somebody may have put right what was wrong, and so it does with changed ones. Resolves when there is something to serve.
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
      const renewal = makeRenewal(config, this.desk(config), this.listener(config));
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

  private desk(config: AcmeConfig): ChallengeDesk {
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
