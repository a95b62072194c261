import type { TargetConfig, UpstreamTlsConfig } from "../config/route-config.ts";
import type { TransportConfig } from "../config/runtime-config.ts";
import { OriginPool } from "../upstream/origin-pool.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";
import type { UpstreamContext } from "../upstream/upstream-context.ts";

/** One pool an origin and way of trusting it, whatever the number of routes that lead there. */
export class OriginPools {
  private readonly transport: TransportConfig;
  private readonly context: UpstreamContext;
  private readonly pools: Map<string, OriginPool> = new Map();

  constructor(transport: TransportConfig, context: UpstreamContext) {
    this.transport = transport;
    this.context = context;
  }

  /** The pool of a target, made now if it is new. */
  poolOf(target: TargetConfig, tls: UpstreamTlsConfig): OriginPool {
    const secure = target.scheme === "https";
    const key = secure ? `${target.originKey} ${JSON.stringify(tls)}` : target.originKey;
    const known = this.pools.get(key);
    if (known !== undefined) return known;
    const pool = new OriginPool(
      {
        originKey: target.originKey,
        hostname: target.hostname,
        port: target.port,
        authority: target.authority,
        tls: secure ? readUpstreamTls(tls, target.hostname) : null,
        maxIdleConnections: this.transport.maxIdleConns,
        idleTimeoutMs: this.transport.idleConnTimeoutMs,
      },
      this.context,
    );
    this.pools.set(key, pool);
    return pool;
  }

  /** Closes every kept connection. */
  close(): void {
    for (const pool of this.pools.values()) pool.close();
  }
}
