import type { Exchange } from "../message/exchange.ts";
import type { Upstream, UpstreamCaller } from "../message/upstream.ts";
import { FrameBlock } from "../proto/h2/outflow.ts";
import { H2UpstreamConnection } from "./h2-upstream-connection.ts";
import { H2UpstreamStream } from "./h2-upstream-stream.ts";
import type { OriginSettings } from "./origin-pool.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/** Free stream objects that a pool keeps. */
const MAX_FREE_STREAMS = 256;

/**
 * The connections of one worker to one origin that speaks HTTP/2: exchanges share them, and another is made when all
 * have as many streams as they may.
 */
export class H2OriginPool implements Upstream {
  readonly settings: OriginSettings;
  readonly context: UpstreamContext;
  readonly label: string;
  readonly authority: string;
  readonly block: FrameBlock = new FrameBlock();
  /** Those that take further streams. */
  private readonly open: H2UpstreamConnection[] = [];
  private readonly free: H2UpstreamStream[] = [];
  private closed = false;

  constructor(settings: OriginSettings, context: UpstreamContext) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
    this.authority = settings.authority;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    for (const connection of this.open) {
      if (!connection.hasRoom()) continue;
      connection.start(ex, caller);
      return;
    }
    this.sendFresh(ex, caller);
  }

  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    const connection = new H2UpstreamConnection(this);
    if (!this.closed) this.open.push(connection);
    connection.start(ex, caller);
    if (this.closed) connection.retire();
  }

  /** The connection takes no further streams. */
  forget(connection: H2UpstreamConnection): void {
    const index = this.open.indexOf(connection);
    if (index >= 0) this.open.splice(index, 1);
  }

  /** Connections close when their streams are over. */
  close(): void {
    this.closed = true;
    this.renew();
  }

  /** Exchanges go over new connections from now on; those under way end where they are. */
  renew(): void {
    for (const connection of this.open.splice(0)) connection.retire();
  }

  takeStream(): H2UpstreamStream {
    return this.free.pop() ?? new H2UpstreamStream(this.context);
  }

  giveStream(stream: H2UpstreamStream): void {
    if (this.free.length < MAX_FREE_STREAMS) this.free.push(stream);
  }
}
