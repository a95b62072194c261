import type { SidecarConfig } from "../features/sidecar/settings.ts";
import type { CertificateSet } from "../message/server-certificate.ts";
import { lateTls } from "../net/late-modules.ts";
import type { UpstreamTls } from "../upstream/origin-trust.ts";

/**
 * What a sidecar shows to upstreams and whom it trusts, in one worker. Connections that are made from now on take what is
 * here now, so that certificates change without a restart. docs/sidecar.md#rotation
 */
export class SidecarIdentity {
  private chain: string | undefined = undefined;
  private key: string | undefined = undefined;
  private authorities: string | readonly string[] | undefined = undefined;
  private verifies = true;
  /** Whether an agent has yet to say who is trusted: until then no server is. */
  private isAwaited = false;
  /** What was taken last, as one text. */
  private taken = "";

  /**
   * Takes what the files hold now.
   * @returns whether it is anything else than before: then connections that are open show what is out of date
   */
  use(config: SidecarConfig, set: CertificateSet): boolean {
    const own = set.certificates[0];
    const taken = JSON.stringify([own?.chain, own?.key, set.clientAuthorities, config.insecureSkipVerify]);
    if (taken === this.taken) return false;
    this.taken = taken;
    this.chain = own?.chain;
    this.key = own?.key;
    this.authorities = set.clientAuthorities === "" ? systemRoots() : set.clientAuthorities;
    this.verifies = !config.insecureSkipVerify;
    this.isAwaited = config.workloadApi !== "" && set.clientAuthorities === "";
    return true;
  }

  /** How connections to a host are secured; its parts are looked up when each is made. @param serverIds see UpstreamTls */
  tlsFor(hostname: string, serverIds: readonly string[]): UpstreamTls {
    const identity = this;
    return {
      serverName: hostname,
      get serverIds() {
        return identity.isAwaited ? NO_SERVER : serverIds;
      },
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

/** Ids that no server has. */
const NO_SERVER: readonly string[] = ["spiffe://"];

/** The authorities of the system, which Bun's own list is not; if there are none, Bun's own have to do. */
export function systemRoots(): readonly string[] | undefined {
  const roots = lateTls().getCACertificates("system");
  return roots.length === 0 ? undefined : roots;
}
