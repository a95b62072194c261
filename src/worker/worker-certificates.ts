import { clientDemand, type HandshakeTerms, type TlsHost, type TlsSettings } from "../config/tls-settings.ts";
import type { Takers } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import { CertificateStore, type TlsPolicies, type TlsPolicy } from "../edge/certificate-store.ts";
import { TlsEndpoint } from "../edge/tls-endpoint.ts";
import { WantedCertificates } from "../edge/wanted-certificates.ts";
import type { SettledMessage } from "../features/acme/acme-messages.ts";
import { InternalNames } from "../features/tls/internal-names.ts";
import type { CertificatesMessage, ListenerCertificates } from "../features/tls/tls-messages.ts";
import { type CertificateSet, NO_CERTIFICATES } from "../message/server-certificate.ts";
import { internalScope } from "../routes/internal-scope.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { SidecarIdentity } from "./sidecar-identity.ts";

/** What certificates need of their worker. */
interface CertificatePorts {
  /** Has a certificate obtained that a client asks for. */
  ask(name: string): void;
  /** The certificates of listeners are others, for HTTP/3 too. */
  shown(): void;
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
  /** Of the inbound listener of a sidecar. */
  readonly mtls: TlsEndpoint;
  readonly identity: SidecarIdentity = new SidecarIdentity();
  /** Of `server.tls`. */
  private readonly https: CertificateStore;
  /** Of listeners whose TLS has keys of its own, by their names. */
  private readonly own: Map<string, CertificateStore> = new Map();
  private readonly ports: CertificatePorts;
  private readonly wanted: WantedCertificates;
  private sets: ListenerCertificates;
  private config: RuntimeConfig | null = null;

  /** @param sets what there is when the worker begins */
  constructor(config: RuntimeConfig, sets: ListenerCertificates, ports: CertificatePorts) {
    this.https = new CertificateStore(policiesOf(config.server.tls));
    this.mtls = new TlsEndpoint(new CertificateStore(sidecarPolicyOf(config)));
    this.ports = ports;
    this.wanted = new WantedCertificates((name) => ports.ask(name));
    this.sets = sets;
  }

  /** The certificates of a listener: its own, the others from `server.tls`. */
  setOf(name: string, site: TlsSettings | null): CertificateSet {
    const server = this.sets.https ?? NO_CERTIFICATES;
    if (site === null) return server;
    const own = this.sets.own?.[name] ?? NO_CERTIFICATES;
    // Those that are obtained at run time are the server's.
    const certificates = own.certificates.length > 0 ? own.certificates : server.certificates;
    return { ...own, certificates, challenges: server.challenges };
  }

  /** The store of a TLS listener of `server`. */
  storeOf(name: string, site: TlsSettings | null): CertificateStore {
    if (site === null) return this.https;
    const known = this.own.get(name);
    if (known !== undefined) return known;
    const store = new CertificateStore(policiesOf(site));
    store.use(this.setOf(name, site), policiesOf(site));
    this.own.set(name, store);
    return store;
  }

  /** Obtains or signs certificates that clients ask for; null if that is off. */
  wantedIn(config: RuntimeConfig): WantedCertificates | null {
    const { acme } = config.server;
    const isObtained = acme.enabled && acme.onDemand !== null;
    return isObtained || internalScope(config) !== null ? this.wanted : null;
  }

  /** Handshakes that begin from now on take the certificates that are there, and the policies of this configuration. */
  use(config: RuntimeConfig): void {
    if (this.config !== config) this.wanted.takes = takerOf(config);
    this.config = config;
    const { tls, listeners, http2 } = config.server;
    this.https.use(this.setOf("", null), policiesOf(tls));
    const left = new Set(this.own.keys());
    for (const { name, site } of listeners) {
      const store = site === null ? undefined : this.own.get(name);
      if (site === null || store === undefined) continue;
      left.delete(name);
      store.use(this.setOf(name, site), policiesOf(site));
    }
    for (const name of left) this.own.delete(name);
    this.mtls.hasHttp2 = http2.enabled;
    this.ports.shown();
    if (!config.sidecar.enabled) return;
    const mutual = this.sets.sidecar ?? NO_CERTIFICATES;
    this.mtls.certificates.use(mutual, sidecarPolicyOf(config));
    if (this.identity.use(config.sidecar, mutual)) this.ports.renewed();
  }
}

/** Which names may get certificates when clients ask for them. */
function takerOf(config: RuntimeConfig): (name: string) => boolean {
  const { acme } = config.server;
  if (acme.enabled && acme.onDemand !== null) return () => true;
  const scope = internalScope(config);
  if (scope === null) return () => false;
  const names = new InternalNames(scope);
  return (name) => names.takes(name);
}

/**
 * How the inbound listener of a sidecar makes its handshakes: without strict mTLS a client certificate is asked for, and
 * verified where one is sent. docs/sidecar.md#who-may-come-in
 */
function sidecarPolicyOf({ sidecar }: RuntimeConfig): TlsPolicies {
  const clientAuth = sidecar.strictMtls ? "require" : "request";
  return { usual: { ...USUAL, clientAuth, demand: "sidecar" }, hosts: [] };
}

/** How listeners with this TLS make their handshakes. docs/tls.md#versions-and-suites */
function policiesOf(site: TlsSettings): TlsPolicies {
  return { usual: policyOf(site), hosts: site.hosts.map(hostPolicyOf) };
}

function hostPolicyOf(host: TlsHost) {
  return { ...policyOf(host), names: host.names, protocols: host.alpn };
}

function policyOf(terms: HandshakeTerms): TlsPolicy {
  const { minVersion, clientAuth, clientCaFile, crlFile, ciphers, curves } = terms;
  const demand = clientDemand(terms);
  return { ...USUAL, minVersion, clientAuth, demand, authoritiesFile: clientCaFile, crlFile, ciphers, curves };
}

const USUAL: TlsPolicy = {
  minVersion: "1.2",
  clientAuth: "none",
  demand: "",
  authoritiesFile: "",
  crlFile: "",
  ciphers: [],
  curves: [],
  protocols: [],
};
