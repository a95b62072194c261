import { getCACertificates } from "node:tls";
import type { SidecarConfig } from "../config/mesh-config.ts";
import type { CertificateSet } from "../message/server-certificate.ts";
import type { UpstreamTls } from "../upstream/origin-pool.ts";

/**
 * What a sidecar shows to upstreams and whom it trusts, in one worker. Connections that are made from now on take what is
 * here now, so that certificates change without a restart. Spec, "Sidecar mode": egress TLS.
 */
export class SidecarIdentity {
  private chain: string | undefined = undefined;
  private key: string | undefined = undefined;
  private authorities: string | readonly string[] | undefined = undefined;
  private verifies = true;

  /** Takes what the files hold now. */
  use(config: SidecarConfig, set: CertificateSet): void {
    const own = set.certificates[0];
    this.chain = own?.chain;
    this.key = own?.key;
    this.authorities = set.clientAuthorities === "" ? systemRoots() : set.clientAuthorities;
    this.verifies = !config.insecureSkipVerify;
  }

  /** How connections to a host are secured; its parts are looked up when each is made. */
  tlsFor(hostname: string): UpstreamTls {
    const identity = this;
    return {
      serverName: hostname,
      get ca() {
        return identity.authorities;
      },
      get cert() {
        return identity.chain;
      },
      get key() {
        return identity.key;
      },
      get rejectUnauthorized() {
        return identity.verifies;
      },
    };
  }
}

/** The authorities of the system, which Bun's own list is not; where there are none, Bun's own have to do. */
export function systemRoots(): readonly string[] | undefined {
  const roots = getCACertificates("system");
  return roots.length === 0 ? undefined : roots;
}
