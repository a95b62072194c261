import { offsetBehind } from "../core/bytes.ts";
import type { Exchange } from "../message/exchange.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Framing } from "../message/request-head.ts";
import type { InputBuffer } from "../net/input-buffer.ts";
import { ChunkEvent, ChunkedDecoder } from "../proto/h1/chunked-decoder.ts";
import type { ResponseParser } from "../proto/h1/response-parser.ts";
import { isFramingTrailer } from "../proto/h1/trailer-names.ts";

/** Cuts an answer's body out of an upstream connection's input. RFC 9112 §6.3. */
export class ReplyBody {
  /** The piece that `next` found. */
  from = 0;
  to = 0;
  done = false;
  failed = false;
  /** The origin has ended a body that runs until the connection closes, while the client could not take it. */
  ended = false;
  private framing: Framing = Framing.None;
  private remaining = 0;
  private decoder: ChunkedDecoder | null = null;
  private readonly onBareLf: (() => void) | null;

  /** @param onBareLf hears of line feeds that stand for a line's end within chunks; null refuses them */
  constructor(onBareLf: (() => void) | null = null) {
    this.onBareLf = onBareLf;
  }

  /**
   * Makes ready for a body.
   * @param ahead what has come of it, where that is to be judged before the head goes on, since the client's protocol cannot
   * take back what has not left yet, as HTTP/1.1 can; else null
   * @returns false where it is malformed
   */
  begin(framing: Framing, contentLength: number, ahead: InputBuffer | null = null): boolean {
    this.framing = framing;
    this.remaining = contentLength;
    this.done = false;
    this.failed = false;
    this.ended = false;
    if (framing !== Framing.Chunked) return true;
    this.decoder ??= new ChunkedDecoder(isFramingTrailer, true, this.onBareLf);
    this.decoder.begin(0);
    if (ahead === null) return true;
    const isGood = readAhead(this.decoder, ahead);
    this.decoder.begin(0);
    return isGood;
  }

  /**
   * Takes the next piece off the input.
   * @returns its length in bytes; 0 where only framing was read
   */
  next(input: InputBuffer): number {
    if (this.framing === Framing.Chunked) return this.nextChunk(input);
    this.from = input.from;
    this.to = input.to;
    if (this.framing === Framing.Length) {
      this.to = offsetBehind(input.from, this.remaining, input.to);
      this.remaining -= this.to - this.from;
      this.done = this.remaining === 0;
    }
    input.from = this.to;
    return this.to - this.from;
  }

  /**
   * Hands the piece that `next` found to the client's side.
   * @returns whether it takes more
   */
  handOver(ex: Exchange, input: InputBuffer): boolean {
    const { sink } = ex;
    const isTaken = sink.body(ex, input.bytes, this.from, this.to);
    if (!isTaken || sink.returnsBytes !== true) input.lend();
    return isTaken;
  }

  /** The trailer fields behind a chunked body, or null. @param head knows which of them are not passed on */
  trailers(head: ResponseParser): HeaderBlock | null {
    if (this.framing !== Framing.Chunked || this.decoder!.trailers.count === 0) return null;
    const block = new HeaderBlock();
    block.resetOwn();
    this.decoder!.trailers.appendTo(block);
    head.markTrailers(block);
    return block;
  }

  private nextChunk(input: InputBuffer): number {
    const decoder = this.decoder!;
    const event = decoder.next(input.bytes, input.from, input.to);
    if (event === ChunkEvent.Failed) {
      this.failed = true;
      return 0;
    }
    input.from = decoder.consumed;
    this.done = event === ChunkEvent.Done;
    if (event !== ChunkEvent.Data) return 0;
    this.from = decoder.dataFrom;
    this.to = decoder.dataTo;
    return this.to - this.from;
  }
}

/** @returns whether what has come of a chunked body is well formed so far */
function readAhead(decoder: ChunkedDecoder, { bytes, from, to }: InputBuffer): boolean {
  let event = ChunkEvent.Data;
  for (let at = from; event === ChunkEvent.Data; at = decoder.consumed) event = decoder.next(bytes, at, to);
  return event !== ChunkEvent.Failed;
}
