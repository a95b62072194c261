import type { Clock } from "../core/clock.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";
import type { ResponseHead } from "../message/request-head.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { Flag, FRAME_HEADER_BYTES } from "../proto/h2/frame.ts";
import { commitHeaders } from "../proto/h2/header-frames.ts";
import {
  blockBound,
  encodeFixedBlock,
  encodeInterimBlock,
  encodeResponseBlock,
  encodeTrailerBlock,
  fixedBlockBound,
  responseBlockBound,
} from "../proto/h2/response-block.ts";
import type { Session } from "../proto/h2/session.ts";
import { HpackEncoder } from "../proto/hpack/encoder.ts";

/** A stream, as what writes its heads sees it. */
export interface HeadStream {
  readonly id: number;
  readonly exchange: { readonly response: ResponseHead };
  readonly out: { isEnded: boolean };
  readonly connection: { readonly session: Session };
}

/** Writes HEADERS of responses, and CONTINUATION where a block is too large for one frame. RFC 9113 §6.2, §8.1. */
export class H2HeadWriter {
  readonly encoder: HpackEncoder = new HpackEncoder();
  private readonly writer: SocketWriter;
  private readonly clock: Clock;

  constructor(writer: SocketWriter, clock: Clock) {
    this.writer = writer;
    this.clock = clock;
  }

  /** The head in the stream's `response`. @param isEnd whether no body follows */
  head(stream: HeadStream, isEnd: boolean): void {
    const { response } = stream.exchange;
    const out = this.writer.reserve(FRAME_HEADER_BYTES + responseBlockBound(response));
    const at = this.writer.offset + FRAME_HEADER_BYTES;
    this.frame(stream, isEnd, out, encodeResponseBlock(this.encoder, out, at, response, this.clock.dateBytes));
  }

  /** The head of a prebuilt response. */
  fixed(stream: HeadStream, fixed: PrebuiltResponse, isEnd: boolean): void {
    const { response } = stream.exchange;
    const out = this.writer.reserve(FRAME_HEADER_BYTES + fixedBlockBound(fixed, response));
    const at = this.writer.offset + FRAME_HEADER_BYTES;
    this.frame(stream, isEnd, out, encodeFixedBlock(this.encoder, out, at, fixed, response, this.clock.dateBytes));
  }

  /** An interim response with these fields. */
  interim(stream: HeadStream, status: number, headers: HeaderBlock): void {
    const out = this.writer.reserve(FRAME_HEADER_BYTES + INTERIM_BOUND + blockBound(headers));
    const at = this.writer.offset + FRAME_HEADER_BYTES;
    this.frame(stream, false, out, encodeInterimBlock(this.encoder, out, at, status, headers));
  }

  /** `100 Continue`. RFC 9110 §15.2.1. */
  continue(stream: HeadStream): void {
    const out = this.writer.reserve(FRAME_HEADER_BYTES + INTERIM_BOUND);
    this.encoder.begin(out, this.writer.offset + FRAME_HEADER_BYTES);
    this.encoder.status(100);
    this.frame(stream, false, out, this.encoder.end());
  }

  /** Trailers, which end the stream. */
  trailers(stream: HeadStream, trailers: HeaderBlock): void {
    const out = this.writer.reserve(FRAME_HEADER_BYTES + blockBound(trailers));
    const at = this.writer.offset + FRAME_HEADER_BYTES;
    this.frame(stream, true, out, encodeTrailerBlock(this.encoder, out, at, trailers));
  }

  /** Puts the frame's header before the block that ends at `end`. */
  private frame(stream: HeadStream, isEnd: boolean, out: Buffer, end: number): void {
    if (isEnd) stream.out.isEnded = true;
    stream.connection.session.noteSent(1);
    commitHeaders(this.writer, out, end, stream.id, isEnd ? Flag.EndStream : Flag.None);
  }
}

/** Bytes of a status and of what begins a block. */
const INTERIM_BOUND = 32;
