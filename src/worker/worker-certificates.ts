import type { Takers } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import { CertificateStore, type TlsPolicy } from "../edge/certificate-store.ts";
import { TlsEndpoint } from "../edge/tls-endpoint.ts";
import { WantedCertificates } from "../edge/wanted-certificates.ts";
import type { SettledMessage } from "../features/acme/acme-messages.ts";
import type { CertificatesMessage, ListenerCertificates } from "../features/tls/tls-messages.ts";
import { type CertificateSet, NO_CERTIFICATES } from "../message/server-certificate.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { SidecarIdentity } from "./sidecar-identity.ts";

/** What certificates need of their worker. */
export interface CertificatePorts {
  /** Has a certificate obtained that a client asks for. */
  ask(name: string): void;
  /** The certificates of `server.tls` are these, for HTTP/3 too. */
  shown(set: CertificateSet): void;
  /** What a sidecar shows to upstreams has changed. */
  renewed(): void;
}

/** The certificates of a worker's listeners, and of a sidecar's connections to upstreams; they outlive configurations. */
export class WorkerCertificates implements WorkerService<RuntimeConfig> {
  readonly onMessage: Takers<CertificatesMessage | SettledMessage> = {
    certificates: ({ certificates }) => {
      this.sets = { ...this.sets, ...certificates };
      if (this.config !== null) this.use(this.config);
    },
    settled: ({ name }) => this.wanted.settled(name),
  };
  readonly https: TlsEndpoint;
  /** Of the inbound listener of a sidecar. */
  readonly mtls: TlsEndpoint;
  readonly identity: SidecarIdentity = new SidecarIdentity();
  private readonly ports: CertificatePorts;
  private readonly wanted: WantedCertificates;
  private sets: ListenerCertificates;
  private config: RuntimeConfig | null = null;

  /** @param sets what there is when the worker begins */
  constructor(config: RuntimeConfig, sets: ListenerCertificates, ports: CertificatePorts) {
    this.https = new TlsEndpoint(new CertificateStore(tlsPolicyOf(config)));
    this.mtls = new TlsEndpoint(new CertificateStore(sidecarPolicyOf(config)));
    this.ports = ports;
    this.wanted = new WantedCertificates((name) => ports.ask(name));
    this.sets = sets;
  }

  /** What the listener of `server.tls` shows. */
  get ofServer(): CertificateSet {
    return this.sets.https ?? NO_CERTIFICATES;
  }

  /** Handshakes that begin from now on take the certificates that are there, and the policy of this configuration. */
  use(config: RuntimeConfig): void {
    this.config = config;
    this.https.certificates.use(this.ofServer, tlsPolicyOf(config));
    const { acme } = config.server;
    this.https.wanted = acme.enabled && acme.onDemand !== null ? this.wanted : null;
    this.ports.shown(this.ofServer);
    if (!config.sidecar.enabled) return;
    const mutual = this.sets.sidecar ?? NO_CERTIFICATES;
    this.mtls.certificates.use(mutual, sidecarPolicyOf(config));
    if (this.identity.use(config.sidecar, mutual)) this.ports.renewed();
  }
}

/**
 * How the inbound listener of a sidecar makes its handshakes: without strict mTLS a client certificate is asked for, and
 * verified where one is sent. docs/sidecar.md#who-may-come-in
 */
function sidecarPolicyOf(config: RuntimeConfig): TlsPolicy {
  const { protocols } = tlsPolicyOf(config);
  return { minVersion: "1.2", clientAuth: config.sidecar.strictMtls ? "require" : "request", protocols };
}

/** How the listener of `server.tls` makes its handshakes. docs/tls.md#versions-and-suites */
function tlsPolicyOf({ server }: RuntimeConfig): TlsPolicy {
  const { minVersion, clientAuth } = server.tls;
  return { minVersion, clientAuth, protocols: server.http2.enabled ? ["h2", ...HTTP1] : HTTP1 };
}

/** RFC 7301 §6: old clients offer HTTP/1.0 alone, and are served by the same engine. */
const HTTP1: readonly string[] = ["http/1.1", "http/1.0"];
