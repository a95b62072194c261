import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import type { Exchange, UpstreamCaller } from "../message/exchange.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { scgiHeadBound, writeScgiHead } from "../proto/cgi/scgi-head.ts";
import { MAX_PACKET_BYTES, packetBound, packetBytes, writePacket } from "../proto/cgi/uwsgi-packet.ts";
import { CgiResponseParser } from "../proto/fastcgi/cgi-response-parser.ts";
import { scriptParamsBound, writeScriptParams } from "./fastcgi-request.ts";
import { OriginPool, PooledConnection } from "./h1-upstream.ts";
import type { OriginSettings, UpstreamSocketPorts } from "./origin-socket.ts";

/** How a protocol begins a request whose parameters lie in `params[0, end)`. */
interface ApplicationProtocol {
  /** Bytes that `write` may write at most. */
  bound(end: number): number;
  /** Whether the parameters fit. */
  fits(params: Buffer, end: number): boolean;
  /** @returns the offset after it */
  write(ex: Exchange, params: Buffer, end: number, out: Buffer, at: number): number;
}

const UWSGI: ApplicationProtocol = {
  bound: packetBound,
  fits: (params, end) => packetBytes(params, end) <= MAX_PACKET_BYTES,
  write: (ex, params, end, out, at) => writePacket(params, end, ex.script!.modifiers ?? NO_MODIFIERS, out, at),
};

const SCGI: ApplicationProtocol = {
  bound: scgiHeadBound,
  fits: () => true,
  write: ({ request }, params, end, out, at) =>
    writeScgiHead(params, end, request.hasBody() ? request.contentLength : 0, out, at),
};

const NO_MODIFIERS: readonly [number, number] = [0, 0];

/** The connections of one worker to an application that speaks uWSGI or SCGI. docs/uwsgi.md */
export class ApplicationPool extends OriginPool {
  readonly protocol: ApplicationProtocol;

  constructor(settings: OriginSettings, context: UpstreamSocketPorts, scheme: "uwsgi" | "scgi") {
    super(settings, context);
    this.protocol = scheme === "uwsgi" ? UWSGI : SCGI;
  }

  override send(ex: Exchange, caller: UpstreamCaller): void {
    if (this.takes(ex, caller)) super.send(ex, caller);
  }

  override sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    if (this.takes(ex, caller)) super.sendFresh(ex, caller);
  }

  /** Makes the parameters of a request in `PARAMS`. @returns where they end */
  paramsOf(ex: Exchange, caller: UpstreamCaller): number {
    HEAD.ensure(caller.requestBound(ex));
    const headEnd = caller.encodeRequest(ex, HEAD.bytes, 0);
    PARAMS.ensure(scriptParamsBound(ex, headEnd));
    return writeScriptParams(ex, HEAD.bytes, headEnd, PARAMS.bytes, 0);
  }

  protected override make(): PooledConnection {
    return new ApplicationConnection(this);
  }

  /** Fails a request whose head the protocol has no room for. */
  private takes(ex: Exchange, caller: UpstreamCaller): boolean {
    const isSmall = this.protocol.bound(scriptParamsBound(ex, caller.requestBound(ex))) <= MAX_PACKET_BYTES;
    if (isSmall) return true;
    // What it writes to may be another buffer afterwards.
    const end = this.paramsOf(ex, caller);
    if (this.protocol.fits(PARAMS.bytes, end)) return true;
    caller.onFailure(ex, TOO_LARGE);
    return false;
  }
}

const TOO_LARGE = {
  fault: Fault.HeadTooLarge,
  detail: FaultDetail.None,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
} as const;

/** Where heads and parameters are written first, one at a time. */
class Scratch {
  bytes: Buffer = Buffer.allocUnsafeSlow(16_384);

  ensure(bytes: number): void {
    if (bytes > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(bytes);
  }
}

const HEAD: Scratch = new Scratch();
const PARAMS: Scratch = new Scratch();

/**
 * A connection to such an application, for one request: that of an HTTP/1.1 origin, but for the head. The response is as that of a script,
 * and ends with its length or with the connection.
 */
class ApplicationConnection extends PooledConnection {
  private readonly application: ApplicationPool;

  constructor(pool: ApplicationPool) {
    super(pool, new CgiResponseParser(pool.settings.maxResponseFields, true));
    this.application = pool;
  }

  protected override writeHead(ex: Exchange, caller: UpstreamCaller, writer: SocketWriter): void {
    const { application } = this;
    const end = application.paramsOf(ex, caller);
    const out = writer.reserve(application.protocol.bound(end));
    writer.commit(application.protocol.write(ex, PARAMS.bytes, end, out, writer.offset));
  }

  protected override isReusable(): boolean {
    return false;
  }
}
