import { MAX_UPSTREAM_CONNECTION_MS, SPARE_CONNECTION_MS } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import type { Upstream, UpstreamCaller } from "../message/upstream.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { H1UpstreamConnection } from "./h1-upstream-connection.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/** How to reach an origin. */
export interface OriginSettings {
  /** `scheme://host[:port]`, the name in metrics and logs. */
  readonly originKey: string;
  readonly hostname: string;
  readonly port: number;
  /** Host field where the client's is not kept. */
  readonly authority: string;
  /** Whether the origin speaks HTTP/2. */
  readonly isHttp2?: boolean;
  /** TLS options for the connection, or null for cleartext. */
  readonly tls: UpstreamTls | null;
  readonly maxIdleConnections: number;
  readonly idleTimeoutMs: number;
  /** Header fields of an answer; more are malformed. */
  readonly maxResponseFields: number;
  /** Whether what old origins send is taken. docs/upstreams.md#old-origins */
  readonly isLenient?: boolean;
  /** Whether a connection leads back to this gateway, which is 508. Without it none is asked about. */
  readonly isRefused?: (socket: ByteSocket) => boolean;
}

/** Contents, not paths: files are read when the configuration is. */
export interface UpstreamTls {
  /** Name that is asked for and checked; "" asks for none, and checks the address that is connected to. */
  readonly serverName: string;
  readonly ca: string | readonly string[] | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** A connection that the pool has made, with the time when it is too old to be kept. */
class PooledConnection extends H1UpstreamConnection {
  readonly keptUntilMs: number;
  readonly generation: number;

  constructor(pool: OriginPool) {
    super(pool);
    this.generation = pool.generation;
    // Spread over a fifth, so that those made in one moment do not end in one.
    this.keptUntilMs = pool.context.turn.nowMs + MAX_UPSTREAM_CONNECTION_MS * (1 - Math.random() / 5);
  }
}

/**
 * The connections of one worker to one origin. The one used last is used first, so that spare ones grow old.
 *
 * A name is resolved whenever a connection is made (the system's answer is remembered for half a minute at most), and a
 * connection stays with the address that it was made to. So that traffic follows a name that moves although nothing
 * fails, a connection serves for MAX_UPSTREAM_CONNECTION_MS at most; it ends between two exchanges.
 */
export class OriginPool implements Upstream {
  readonly settings: OriginSettings;
  readonly context: UpstreamContext;
  readonly label: string;
  readonly authority: string;
  private readonly idle: PooledConnection[] = [];
  /** Those beyond `maxIdleConnections`, which a burst has left and the next one may take. */
  private readonly spare: PooledConnection[] = [];
  private closed = false;
  /** Connections of an earlier one are not kept; see renew. */
  generation = 0;

  constructor(settings: OriginSettings, context: UpstreamContext) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
    this.authority = settings.authority;
  }

  /** Starts the exchange on a kept connection, or on a new one. */
  send(ex: Exchange, caller: UpstreamCaller): void {
    const kept = this.idle.pop() ?? this.spare.pop();
    const connection = kept ?? new PooledConnection(this);
    connection.start(ex, caller);
  }

  /** Starts the exchange on a new connection, for a retry after a kept one failed. */
  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    new PooledConnection(this).start(ex, caller);
  }

  /**
   * Takes a connection that is ready for another exchange. Beyond the configured number it is kept for a moment only:
   * answers come in bursts, and to connect anew for each costs more than the exchange itself.
   * @returns for how many milliseconds; 0 when it should close
   */
  keep(connection: H1UpstreamConnection): number {
    const { maxIdleConnections, idleTimeoutMs } = this.settings;
    const pooled = connection as PooledConnection;
    if (pooled.generation !== this.generation) return 0;
    if (this.closed || maxIdleConnections === 0 || this.context.turn.nowMs >= pooled.keptUntilMs) return 0;
    const isSpare = this.idle.length >= maxIdleConnections;
    (isSpare ? this.spare : this.idle).push(pooled);
    return isSpare ? SPARE_CONNECTION_MS : idleTimeoutMs;
  }

  /** Forgets a kept connection that is gone. */
  forget(connection: H1UpstreamConnection): void {
    for (const list of [this.idle, this.spare]) {
      const index = list.indexOf(connection as PooledConnection);
      if (index >= 0) list.splice(index, 1);
    }
  }

  /** Closes the kept connections; those in use close when their exchange is over. */
  close(): void {
    this.closed = true;
    this.closeKept();
  }

  /** Exchanges go over new connections from now on; those under way end where they are. */
  renew(): void {
    this.generation++;
    this.closeKept();
  }

  private closeKept(): void {
    for (const connection of [...this.idle.splice(0), ...this.spare.splice(0)]) connection.closeIdle();
  }

  /** Kept connections. */
  get idleCount(): number {
    return this.idle.length;
  }
}
