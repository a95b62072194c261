import { originOf, parseAuthority } from "../config/origin.ts";
import { Fault } from "../core/fault.ts";
import type { OriginSource } from "../features/sidecar/authority-choice.ts";
import type { Upstream } from "../message/upstream.ts";
import type { OriginPools } from "./origin-pools.ts";
import type { OwnListeners } from "./own-listeners.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";

/** The servers that requests to the outbound listener name themselves: a pool an origin key, made when it is first named. */
export class EgressOrigins implements OriginSource {
  private readonly own: OwnListeners;
  private readonly pools: OriginPools;
  private readonly identity: SidecarIdentity;

  constructor(own: OwnListeners, pools: OriginPools, identity: SidecarIdentity) {
    this.own = own;
    this.pools = pools;
    this.identity = identity;
  }

  originOf(scheme: "http" | "https", authority: string): Upstream | Fault {
    const parsed = parseAuthority(authority);
    if (typeof parsed === "string") return Fault.BadHost;
    const port = parsed.port >= 0 ? parsed.port : scheme === "https" ? 443 : 80;
    if (this.own.isNamed(parsed.hostname, port)) return Fault.LoopDetected;
    return this.pools.poolWith(originOf(scheme, parsed.hostname, port, ""), this.identity, this.own);
  }

  forget(upstream: Upstream): void {
    this.pools.drop(upstream);
  }
}
