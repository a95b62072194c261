import { Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import { type Exchange, ExchangeState, type Handler, type ResponseSink, Verdict } from "../../message/exchange.ts";
import { GivenBody } from "../../message/given-body.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { NowMs } from "../../message/ports.ts";
import { Framing, Method } from "../../message/request-head.ts";
import { isLateFault, isOverdue, OVERDUE } from "../../proto/grpc/call-deadline.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import { decodeText, FrameWalk, trailersFrame } from "../../proto/grpc/web-frames.ts";
import { refuseCall } from "./json-response.ts";
import { WholeBody, type WholeBodyTaker } from "./whole-body.ts";

interface GrpcWebPorts {
  /** Room for bodies that are gathered, to be decoded. */
  readonly bodies: BodyBudget;
  readonly turn: NowMs;
}

/**
 * Before the handler of an upstream route: calls of gRPC-Web, which browsers can make, go on as gRPC, and the responses come back
 * with their trailers as the last frame of the body. All other requests go on as they are. docs/transcoder.md#grpc-web
 */
export class GrpcWebHandler implements Handler, WholeBodyTaker {
  readonly name = "grpcWeb";
  private readonly inner: Handler;
  private readonly ports: GrpcWebPorts;

  constructor(inner: Handler, ports: GrpcWebPorts) {
    this.inner = inner;
    this.ports = ports;
  }

  handle(ex: Exchange): Verdict {
    const { request } = ex;
    const { headers } = request;
    const at = headers.find(HeaderId.ContentType);
    const type = at < 0 ? null : WEB_TYPE.exec(headers.valueText(at));
    if (type === null || request.method !== Method.Post) return this.inner.handle(ex);
    const isText = type[1] !== undefined;
    // What the client takes is what it sends, unless it says otherwise.
    const accept = headers.valueOf(HeaderId.Accept).toLowerCase();
    const wantsText = accept.includes(WEB) ? accept.includes(WEB_TEXT) : isText;
    headers.setValueOf(HeaderId.ContentType, `application/grpc${type[2]}`);
    headers.removeAll(HeaderId.Te);
    headers.add("TE", "trailers");
    ex.sink = new GrpcWebSink(ex.sink, wantsText, this.ports.turn);
    if (!isText || !request.hasBody()) return this.inner.handle(ex);
    ex.body = new WholeBody(this, this.ports.bodies);
    ex.sink.wantBody(ex);
    return Verdict.Done;
  }

  /** A request of gRPC-Web is one message. */
  onWholeBody(ex: Exchange, text: Buffer): void {
    const bytes = decodeText(text);
    if (bytes === null) return refuseCall(ex, 400, "the body is not base64");
    const body = new GivenBody(bytes);
    body.replace(ex);
    this.inner.handle(ex);
    body.deliver(ex);
  }
}

/**
 *   Waiting ──head: gRPC──▶ Messages ──end: a frame of trailers──▶ (over)
 *      └──head: anything else──▶ Passing
 */
class GrpcWebSink extends PassingSink {
  private readonly isText: boolean;
  private readonly turn: NowMs;
  private readonly walk: FrameWalk = new FrameWalk();
  private isGrpc = false;
  /** The status and its companions, if the head had them: a response without messages has nothing but a head. */
  private headStatus: readonly Field[] = [];

  constructor(inner: ResponseSink, isText: boolean, turn: NowMs) {
    super(inner);
    this.isText = isText;
    this.turn = turn;
  }

  override head(ex: Exchange): void {
    const { response } = ex;
    const at = response.headers.find(HeaderId.ContentType);
    const type = at < 0 ? null : GRPC_TYPE.exec(response.headers.valueText(at));
    this.isGrpc = type !== null && response.status === 200 && !response.withoutBody;
    if (this.isGrpc) {
      // A client need not look for them in two places, and a page sees no field that CORS does not name.
      this.headStatus = takeStatus(response.headers);
      response.headers.setValueOf(HeaderId.ContentType, `${this.isText ? WEB_TEXT : WEB}${type?.[1] ?? "+proto"}`);
      response.headers.removeAll(HeaderId.ContentLength);
      response.framing = Framing.Chunked;
      response.contentLength = 0;
    }
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (!this.isGrpc) return this.inner.body(ex, bytes, from, to);
    this.walk.pass(bytes, from, to);
    return this.isText ? this.write(ex, bytes.subarray(from, to)) : this.inner.body(ex, bytes, from, to);
  }

  override end(ex: Exchange): void {
    if (this.isGrpc) {
      const { trailers } = ex.response;
      const last = trailers === null ? [] : fieldsOf(trailers);
      // The end has the last word: the status of a head is that of a response without messages.
      const fields = last.some(isStatus) ? last : [...this.headStatus, ...last];
      ex.response.trailers = null;
      this.write(ex, trailersFrame(fields.some(isStatus) ? fields.filter(isFirst) : NO_STATUS));
    }
    this.inner.end(ex);
  }

  /** Between two messages a client can learn why there are no more. */
  override abort(ex: Exchange, fault: Fault): void {
    const isLate = isLateFault(fault);
    if (isLate && ex.state === ExchangeState.Open) {
      ex.fault = fault;
      ex.attempt.grpcFailed = true;
      return this.inner.fixed(ex, this.isText ? OVERDUE.webText : OVERDUE.web);
    }
    if (
      !this.isGrpc ||
      ex.state !== ExchangeState.Replying ||
      fault === Fault.Cancelled ||
      !this.walk.isBetweenMessages
    )
      return this.inner.abort(ex, fault);
    ex.fault = fault;
    const isOver = isLate || isOverdue(ex.request.headers, this.turn.nowMs - ex.startedMs);
    const code = isOver ? GrpcCode.DeadlineExceeded : GrpcCode.Unavailable;
    this.write(
      ex,
      trailersFrame([
        [STATUS, String(code)],
        ["grpc-message", faultRow(fault).label],
      ]),
    );
    ex.response.trailers = null;
    this.inner.end(ex);
  }

  /** Every piece is padded, since it leaves at once. gRPC-Web, "Text-encoded (response) streams". */
  private write(ex: Exchange, bytes: Uint8Array): boolean {
    const piece = this.isText
      ? Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"), "latin1")
      : bytes;
    return this.inner.body(ex, piece, 0, piece.length);
  }
}

type Field = readonly [name: string, value: string];

function isStatus([name]: Field): boolean {
  return name === STATUS;
}

/** A status counts once, by its first field, as in the log: clients would differ on two. */
function isFirst([name]: Field, i: number, fields: readonly Field[]): boolean {
  return !STATUS_FIELDS.includes(name) || fields.findIndex((one) => one[0] === name) === i;
}

/** Takes the status out of a head. */
function takeStatus(headers: HeaderBlock): Field[] {
  const found: Field[] = [];
  headers.removeWhere((_, i) => {
    const name = headers.nameText(i).toLowerCase();
    const isStatus = STATUS_FIELDS.includes(name);
    if (isStatus) found.push([name, headers.valueText(i)]);
    return isStatus;
  });
  return found;
}

function fieldsOf(trailers: HeaderBlock): Field[] {
  const fields: Field[] = [];
  for (let i = 0; i < trailers.count; i++) fields.push([trailers.nameText(i).toLowerCase(), trailers.valueText(i)]);
  return fields;
}

const WEB = "application/grpc-web";
const WEB_TEXT = "application/grpc-web-text";
const WEB_TYPE = /^application\/grpc-web(-text)?((?:\+[\w.-]+)?(?:\s*;.*)?)$/i;
const GRPC_TYPE = /^application\/grpc(\+[\w.-]+)?(?:\s*;.*)?$/i;
const STATUS = "grpc-status";
const STATUS_FIELDS: readonly string[] = [STATUS, "grpc-message", "grpc-status-details-bin"];
const NO_STATUS: readonly Field[] = [
  [STATUS, String(GrpcCode.Unknown)],
  ["grpc-message", "the upstream gave no status"],
];
