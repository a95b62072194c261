import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { EventFields, EventName } from "../features/telemetry/events.ts";
import { labelled, type Metric } from "../features/telemetry/metric.ts";
import type { CertificateSink } from "../message/server-certificate.ts";
import { CertificateKeeper, type CertificateTerm } from "./certificate-keeper.ts";
import type { ListenerCertificates } from "./messages.ts";

/** The certificates of all TLS listeners, in the control thread: a keeper each, with its log lines and metrics. */
export class CertificateDesk {
  private readonly https: CertificateKeeper;
  private readonly sidecar: CertificateKeeper;
  private reloads = 0;
  private failures = 0;

  /**
   * @param send takes what has changed to every worker
   * @param event writes to the log
   */
  constructor(
    send: (certificates: ListenerCertificates) => void,
    event: (event: EventName, fields: EventFields) => void,
  ) {
    const changes = {
      onReloaded: (file: string) => {
        this.reloads++;
        event("certificate_reload", { ok: true, file });
      },
      onFailed: (file: string, error: string) => {
        this.failures++;
        event("certificate_reload", { ok: false, file, error });
      },
    };
    this.https = new CertificateKeeper({ ...changes, onCertificates: (set) => send({ https: set }) });
    this.sidecar = new CertificateKeeper({ ...changes, onCertificates: (set) => send({ sidecar: set }) });
  }

  /** Takes the files that a configuration names. */
  use({ server, sidecar }: RuntimeConfig): void {
    this.https.useFiles(server.tls.enabled ? server.tls : NO_FILES);
    const { certificate, caFile } = sidecar;
    const certificates = certificate.certFile === "" ? [] : [certificate];
    this.sidecar.useFiles(sidecar.enabled ? { certificates, clientCaFile: caFile } : NO_FILES);
  }

  stop(): void {
    this.sidecar.stop();
    this.https.stop();
  }

  /** Where certificates for the gateway's own names are put in at run time. */
  get sink(): CertificateSink {
    return this.https;
  }

  /** What all listeners show now. */
  get sets(): ListenerCertificates {
    return { https: this.https.set, sidecar: this.sidecar.set };
  }

  terms(): CertificateTerm[] {
    return [...this.https.terms(), ...this.sidecar.terms()];
  }

  /** How often files have changed. */
  metrics(): readonly Metric[] {
    return [
      labelled(
        "counter",
        "gateway_certificate_reloads_total",
        "Certificate files found changed, by result.",
        "result",
        () => [
          { label: "ok", count: this.reloads },
          { label: "failed", count: this.failures },
        ],
      ),
    ];
  }
}

const NO_FILES = { certificates: [], clientCaFile: "" } as const;
