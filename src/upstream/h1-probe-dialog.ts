import { FaultDetail } from "../core/fault-detail.ts";
import { MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Framing, Method } from "../message/request-head.ts";
import { InputBuffer } from "../net/socket-buffers.ts";
import { ChunkEvent, ChunkedDecoder } from "../proto/h1/chunked-decoder.ts";
import { LenientResponseParser } from "../proto/h1/lenient-response-parser.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { ResponseParser } from "../proto/h1/response-parser.ts";
import { isFramingTrailer } from "../proto/h1/trailer-names.ts";
import { headDetail, latenessDetail, lossDetail } from "./failure-detail.ts";
import { ProbeBody } from "./probe-body.ts";
import { type ProbeDialog, ProbeFailure } from "./probe-dialog.ts";

/** A probe's request and response by HTTP/1.1. */
export class H1ProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly parser: ResponseParser;
  private readonly headers = new HeaderBlock();
  private readonly method: Method;
  private readonly wanted: ProbeBody | null;
  private readonly chunks: ChunkedDecoder;
  private received: Buffer = Buffer.alloc(0);
  private hasHead = false;
  /** Bytes of the body to come, if its length is known. */
  private left = 0;

  /** @param readsBody whether the probe reads the body */
  constructor(head: Buffer, isHead: boolean, readsBody: boolean, isLenient: boolean, maxFields: number) {
    this.request = head;
    this.method = isHead ? Method.Head : Method.Get;
    this.wanted = readsBody ? new ProbeBody() : null;
    // Only the responses to requests are counted.
    this.parser = isLenient ? new LenientResponseParser(maxFields, () => {}) : new ResponseParser(maxFields);
    this.chunks = new ChunkedDecoder(isFramingTrailer, isLenient, isLenient ? () => {} : null);
    this.beginHead(0);
  }

  body(): string {
    return this.wanted?.text() ?? "";
  }

  take(chunk: Buffer): number {
    if (this.hasHead) return this.takeBody(chunk, 0);
    this.received = Buffer.concat([this.received, chunk]);
    for (;;) {
      const outcome = this.parser.parse(this.received, this.received.length, this.headers, this.method);
      if (outcome === NEED_MORE) return 0;
      if (outcome < 0) return -1;
      if (this.parser.status >= 200) return this.endHead(outcome);
      this.beginHead(outcome);
      if (this.received.length > MAX_RESPONSE_HEAD_BYTES) return -1;
    }
  }

  close(): number {
    return this.hasHead && this.parser.framing === Framing.UntilClose ? this.parser.status : 0;
  }

  causeOf(failure: ProbeFailure): FaultDetail {
    const input = new InputBuffer();
    input.append(this.received);
    if (failure === ProbeFailure.Late) return latenessDetail(this.hasHead, this.received.length > 0);
    if (failure !== ProbeFailure.Malformed)
      return lossDetail(input, this.parser.detail, this.hasHead, failure === ProbeFailure.Reset);
    return this.hasHead ? FaultDetail.BadChunk : headDetail(input, this.parser.detail || FaultDetail.HeadTooLarge);
  }

  /** The head of the final response ends at an offset. */
  private endHead(at: number): number {
    const { parser } = this;
    if (this.wanted === null || parser.framing === Framing.None) return parser.status;
    this.hasHead = true;
    this.left = parser.contentLength;
    this.chunks.begin(0);
    return this.takeBody(this.received, at);
  }

  private takeBody(bytes: Buffer, from: number): number {
    const { parser, wanted } = this;
    if (wanted === null) return parser.status;
    if (parser.framing === Framing.Chunked) return this.takeChunks(bytes, from, wanted);
    const isKnown = parser.framing === Framing.Length;
    const to = isKnown ? Math.min(bytes.length, from + this.left) : bytes.length;
    this.left -= to - from;
    const isFull = wanted.take(bytes, from, to);
    return isFull || (isKnown && this.left <= 0) ? parser.status : 0;
  }

  private takeChunks(bytes: Buffer, from: number, wanted: ProbeBody): number {
    const { chunks, parser } = this;
    for (let at = from; ; at = chunks.consumed) {
      const event = chunks.next(bytes, at, bytes.length);
      if (event === ChunkEvent.NeedMore) return 0;
      if (event === ChunkEvent.Failed) return -1;
      if (event === ChunkEvent.Done || wanted.take(bytes, chunks.dataFrom, chunks.dataTo)) return parser.status;
    }
  }

  private beginHead(from: number): void {
    this.parser.begin(from);
    this.headers.reset(this.received);
  }
}
