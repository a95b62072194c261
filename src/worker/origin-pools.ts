import { applicationScheme, type OriginConfig, speaksFastCgi, speaksHttp2, usesTls } from "../config/origin.ts";
import type { Upstream } from "../message/exchange.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { UpstreamRouteConfig } from "../routes/upstream/upstream-config.ts";
import type { TransportConfig } from "../settings/sections.ts";
import { OriginPool } from "../upstream/h1-upstream.ts";
import { H2OriginPool } from "../upstream/h2-origin-pool.ts";
import type { OriginSettings, UpstreamSocketPorts } from "../upstream/origin-socket.ts";
import type { UpstreamTls } from "../upstream/origin-trust.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";
import type { OwnListeners } from "./listeners.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";

type Pool = OriginPool | H2OriginPool;

/** The settings of a route that pools go by. */
type PoolTerms = Pick<UpstreamRouteConfig, "tls" | "strictOrigins"> & Partial<Pick<UpstreamRouteConfig, "fastcgi">>;

/** Whose pool it is. */
interface PoolUse {
  readonly own?: OwnListeners | null;
  readonly isLenient?: boolean;
  readonly isMirror?: boolean;
  /** Connections that are kept; the transport's by default. */
  readonly maxIdle?: number;
  readonly admits?: (address: string) => boolean;
}

/** What keeps clients that name servers themselves from some of these. */
export interface OriginGuard {
  /** Tells its connections from those of others. */
  readonly key: string;
  /** None of the gateway's own listeners is reached. */
  readonly own: OwnListeners;
  /** Whether an address may be connected to. */
  admits(address: string): boolean;
}

/** Connections of another kind. */
interface Closable {
  close(): void;
}

/** Of origins that speak none. */
const NO_TLS: UpstreamTls = {
  serverName: "",
  ca: undefined,
  cert: undefined,
  key: undefined,
  rejectUnauthorized: true,
};

/** The key of the TLS settings of a sidecar's pools. */
const SIDECAR = "sidecar";

/** One pool an origin and way of trusting it, whatever the number of routes that lead there. */
export class OriginPools {
  private readonly transport: TransportConfig;
  private readonly context: UpstreamSocketPorts;
  private isClosed = false;
  private readonly pools: Map<string, Pool> = new Map();
  /** Pools of other origins than targets of routes. */
  private readonly pinned: Set<Pool> = new Set();
  private readonly others: Closable[] = [];

  constructor(transport: TransportConfig, context: UpstreamSocketPorts) {
    this.transport = transport;
    this.context = context;
  }

  /** The pool of an origin with these settings, made now if it is new. It is there until all are closed. @param isMirror see `mirrorPoolOf` */
  poolOf(target: OriginConfig, terms: PoolTerms, isMirror = false): Pool {
    return this.keep(this.targetPoolOf(target, terms, isMirror));
  }

  /** The same for a target of a route: `closeOrigins` closes it. */
  targetPoolOf(target: OriginConfig, { tls, strictOrigins, fastcgi }: PoolTerms, isMirror = false): Pool {
    const key = JSON.stringify(tls);
    if (speaksFastCgi(target.scheme))
      return this.pool(target, key, () => NO_TLS, { maxIdle: fastcgi?.keepConnections ?? 0 });
    // Their servers end a connection with its request.
    if (applicationScheme(target.scheme) !== null) return this.pool(target, key, () => NO_TLS, { maxIdle: 0 });
    return this.pool(target, key, () => readUpstreamTls(tls, target.hostname), { isLenient: !strictOrigins, isMirror });
  }

  /**
   * The pool of an origin that a sidecar speaks to, which none of the gateway's own listeners may be: one for
   * each origin key, and for the ids that it may have. docs/sidecar.md#requests-without-a-split
   * @param serverIds see UpstreamTls
   */
  poolWith(origin: OriginConfig, identity: SidecarIdentity, own: OwnListeners, serverIds: readonly string[]): Pool {
    const key = serverIds.length === 0 ? SIDECAR : `${JSON.stringify(serverIds)} ${SIDECAR}`;
    return this.keep(this.pool(origin, key, () => identity.tlsFor(origin.hostname, serverIds), { own }));
  }

  /** The pool of an origin that a client names: one for each guard. docs/forward-proxy.md */
  guardedPool(origin: OriginConfig, { key, own, admits }: OriginGuard): Pool {
    return this.pool(origin, key, () => NO_TLS, { own, admits });
  }

  /** How a tunnel to an origin is made. */
  tunnelTo(origin: OriginConfig, { own, admits }: OriginGuard): OriginSettings {
    const { maxResponseFields, idleConnTimeoutMs: idleTimeoutMs } = this.transport;
    const isRefused = (socket: ByteSocket) => own.isAt(socket, origin.port);
    const { hostname, port, authority } = origin;
    const originKey = `${origin.hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
    return {
      originKey,
      hostname,
      port,
      authority,
      tls: null,
      maxIdleConnections: 0,
      idleTimeoutMs,
      maxResponseFields,
      isRefused,
      admits,
    };
  }

  /** A sidecar's certificates have changed: exchanges go over new connections from now on. */
  renewSidecar(): void {
    for (const [key, pool] of this.pools) if (key.endsWith(` ${SIDECAR}`)) pool.renew();
  }

  /** Closes the kept connections to an origin and forgets it. */
  drop(upstream: Upstream): void {
    for (const [key, pool] of this.pools) {
      if (pool !== upstream) continue;
      this.pools.delete(key);
      this.pinned.delete(pool);
      pool.close();
    }
  }

  /** Closes the kept connections to origins that are no route's target any more, and forgets them. */
  closeOrigins(originKeys: readonly string[]): void {
    if (originKeys.length === 0) return;
    const gone = new Set(originKeys);
    for (const [key, pool] of this.pools) {
      if (!gone.has(pool.label) || this.pinned.has(pool)) continue;
      this.pools.delete(key);
      pool.close();
    }
  }

  private keep(pool: Pool): Pool {
    this.pinned.add(pool);
    return pool;
  }

  private pool(
    origin: OriginConfig,
    tlsKey: string,
    tls: () => UpstreamTls,
    { own = null, isLenient = false, isMirror = false, maxIdle = -1, admits }: PoolUse,
  ): Pool {
    const isHttp2 = speaksHttp2(origin.scheme);
    const secure = usesTls(origin.scheme);
    const kept = maxIdle < 0 ? "" : ` ${maxIdle}`;
    const place = `${origin.originKey}${kept}${isLenient && !isHttp2 ? " lenient" : ""}${isMirror ? " mirror" : ""}`;
    const key = secure || own !== null ? `${place} ${tlsKey}` : place;
    const known = this.pools.get(key);
    if (known !== undefined) return known;
    const settings = {
      originKey: origin.originKey,
      hostname: origin.hostname,
      port: origin.port,
      socketPath: origin.socketPath,
      authority: origin.authority,
      isHttp2,
      tls: secure ? tls() : null,
      maxIdleConnections: maxIdle < 0 ? this.transport.maxIdleConns : maxIdle,
      maxResponseFields: this.transport.maxResponseFields,
      isLenient,
      idleTimeoutMs: this.transport.idleConnTimeoutMs,
      ...(own === null ? {} : { isRefused: (socket: ByteSocket) => own.isAt(socket, origin.port) }),
      ...(admits === undefined ? {} : { admits }),
    };
    const pool = this.made(origin, settings);
    this.pools.set(key, pool);
    // For a request that was on its way when the configuration changed: its connection is not kept.
    if (this.isClosed) pool.close();
    return pool;
  }

  private made({ scheme }: OriginConfig, settings: OriginSettings): Pool {
    if (speaksHttp2(scheme)) return new H2OriginPool(settings, this.context);
    const application = applicationScheme(scheme);
    if (application !== null) {
      const { ApplicationPool } =
        require("../upstream/application-upstream.ts") as typeof import("../upstream/application-upstream.ts");
      return new ApplicationPool(settings, this.context, application);
    }
    if (!speaksFastCgi(scheme)) return new OriginPool(settings, this.context);
    // What speaks FastCGI is loaded where a route asks for it.
    const { FastCgiPool } =
      require("../upstream/fastcgi-upstream.ts") as typeof import("../upstream/fastcgi-upstream.ts");
    return new FastCgiPool(settings, this.context);
  }

  /** Closes something else together with the pools. */
  closeWith(other: Closable): void {
    this.others.push(other);
  }

  /** Closes every kept connection, and forgets all origins. */
  close(): void {
    for (const other of this.others) other.close();
    this.isClosed = true;
    for (const pool of this.pools.values()) pool.close();
    this.pools.clear();
    this.pinned.clear();
  }
}
