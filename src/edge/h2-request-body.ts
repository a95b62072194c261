import { Fault } from "../core/fault.ts";
import { H2_STREAM_WINDOW_BYTES } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../message/header-block.ts";
import { Framing } from "../message/request-head.ts";
import { RecvFlow, StreamInflow } from "../proto/h2/recv-flow.ts";
import type { Session } from "../proto/h2/session.ts";
import { type BodyRoom, isPassthrough, StoppedBody, takeTrailers } from "./body-intake.ts";

/** The request body of one stream. The connection's window opens with the stream's, so that it bounds what is kept. */
export class H2RequestBody {
  readonly inflow: StreamInflow = new StreamInflow(H2_STREAM_WINDOW_BYTES);
  private session!: Session;
  private readonly stopped: StoppedBody = new StoppedBody();

  /** Makes ready for the body of this request. @param isEnd whether it has none, since its stream has ended */
  begin(ex: Exchange, streamId: number, session: Session, isEnd: boolean): void {
    const { request } = ex;
    this.session = session;
    this.inflow.begin(streamId, session);
    const isDeclared = isEnd || request.headers.find(HeaderId.ContentLength) >= 0;
    this.inflow.declare(isDeclared ? request.contentLength : -1, isEnd);
    ex.bodyDone = isEnd || !request.hasBody();
  }

  /** The stream has ended with trailers. @returns Fault.None, or why they or the body are refused */
  endWithTrailers(ex: Exchange, trailers: HeaderBlock | null, maxFields: number): Fault {
    const outcome = this.inflow.receive(0, 0, true);
    return outcome === RecvFlow.WrongLength ? Fault.LengthMismatch : keepTrailers(ex, trailers, maxFields);
  }

  /** Bytes have been taken: both windows open. */
  credit(flowBytes: number): void {
    this.session.credit(flowBytes);
    this.inflow.credit(flowBytes);
  }

  /** Keeps a piece that its taker has not asked for. @returns Fault.None, or why there is no room for it */
  keep(room: BodyRoom, ex: Exchange, bytes: Uint8Array, from: number, to: number): Fault {
    this.inflow.keep(bytes, from, to);
    return this.stopped.growTo(room, ex, this.inflow.keptRoom);
  }

  /** Takes the next kept piece; null when there is none. */
  nextKept(): Buffer | null {
    const piece = this.inflow.nextKept();
    if (piece !== null) this.stopped.shrinkTo(this.inflow.keptRoom);
    return piece;
  }

  /** Lets go of what is kept; the connection's window gets it back. */
  drop(): void {
    this.stopped.release();
    this.session.credit(this.inflow.drop());
  }
}

/**
 * Trailers have come after a body. Valid ones become request headers; where the head has gone on already, they follow as
 * trailers; where the origin was told the length, they are left out. docs/bodies.md#trailers
 * @param maxFields header fields of a request together with its trailers
 * @returns Fault.None, or why they are refused
 */
export function keepTrailers(ex: Exchange, trailers: HeaderBlock | null, maxFields: number): Fault {
  if (trailers === null) return Fault.None;
  const { request, route } = ex;
  if (trailers.count + request.headers.count > maxFields) return Fault.TrailersTooLarge;
  if (request.framing !== Framing.Chunked) return Fault.None;
  const isHeadSent = isPassthrough(ex) || route?.streamsHttp2 === true;
  return takeTrailers(ex, (block) => appendTo(block, trailers), isHeadSent);
}

function appendTo(block: HeaderBlock, { bytes, spans, count }: HeaderBlock): void {
  for (let s = 0; s < count * 4; s += 4) {
    block.addBytes(bytes, spans[s]!, spans[s + 1]!, spans[s + 2]!, spans[s + 3]!);
  }
}
