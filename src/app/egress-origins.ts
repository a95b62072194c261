import { originOf, parseAuthority } from "../config/origin.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { Fault } from "../core/fault.ts";
import type { OriginSource } from "../features/sidecar/authority-choice.ts";
import { isLoopback } from "../message/client.ts";
import type { Upstream } from "../message/upstream.ts";
import type { OriginPools } from "./origin-pools.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";

/** The servers that requests to the outbound listener name themselves: a pool an origin key, made when it is first named. */
export class EgressOrigins implements OriginSource {
  private readonly config: RuntimeConfig;
  private readonly pools: OriginPools;
  private readonly identity: SidecarIdentity;

  constructor(config: RuntimeConfig, pools: OriginPools, identity: SidecarIdentity) {
    this.config = config;
    this.pools = pools;
    this.identity = identity;
  }

  originOf(scheme: "http" | "https", authority: string): Upstream | Fault {
    const parsed = parseAuthority(authority);
    if (typeof parsed === "string") return Fault.BadHost;
    const port = parsed.port >= 0 ? parsed.port : scheme === "https" ? 443 : 80;
    if (this.isItself(parsed.hostname, port)) return Fault.LoopDetected;
    return this.pools.poolWith(originOf(scheme, parsed.hostname, port, ""), this.identity);
  }

  forget(upstream: Upstream): void {
    this.pools.drop(upstream);
  }

  private isItself(hostname: string, port: number): boolean {
    const { egressPort, egressHost } = this.config.sidecar;
    return port === egressPort && (isLoopback(hostname) || LOCAL_NAMES.includes(hostname) || hostname === egressHost);
  }
}

const LOCAL_NAMES: readonly string[] = ["localhost", "0.0.0.0", "::"];
