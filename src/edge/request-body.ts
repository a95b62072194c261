import { offsetBehind } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { PASSTHROUGH_BYTES } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import { Framing } from "../message/request-head.ts";
import type { InputBuffer } from "../net/input-buffer.ts";
import { ChunkEvent, ChunkedDecoder } from "../proto/h1/chunked-decoder.ts";
import { isForbiddenTrailer } from "../proto/h1/trailer-names.ts";
import { isPassthrough, takeTrailers } from "./request-trailers.ts";

/** More than any input holds. */
const ALL_BYTES = 0x7fffffff;

/** Cuts a request's body out of a connection's input and hands it to whoever takes it. RFC 9112 §6. */
export class RequestBody {
  /** Body bytes that are still to come where the length is declared; -1 for a chunked body. */
  remaining = 0;
  private wireBytes = 0;
  private drainFrom = -1;
  private readonly decoder: ChunkedDecoder = new ChunkedDecoder(isForbiddenTrailer);
  private decoding = false;
  /** Bytes that the decoder sees at a time. */
  private windowBytes = 0;
  private readonly maxFields: number;

  /** @param maxFields header fields of a request together with its trailers */
  constructor(maxFields: number) {
    this.maxFields = maxFields;
  }

  /** Makes ready for the body of this request. */
  begin(ex: Exchange): void {
    this.remaining = ex.request.framing === Framing.Chunked ? -1 : ex.request.contentLength;
    this.wireBytes = 0;
    this.drainFrom = -1;
    this.decoding = false;
    ex.bodyDone = !ex.request.hasBody();
  }

  /** What comes from here on is thrown away, and counted. */
  beginDrain(): void {
    if (this.drainFrom < 0) this.drainFrom = this.wireBytes;
  }

  /** Bytes thrown away, framing included. */
  get drainedBytes(): number {
    return this.drainFrom < 0 ? 0 : this.wireBytes - this.drainFrom;
  }

  /**
   * Reads one piece: at most one `onBody` or one `onBodyEnd`, so that the caller can see what its taker did.
   * @returns Fault.None, or why the body is refused
   */
  readPiece(input: InputBuffer, ex: Exchange): Fault {
    return this.remaining < 0 ? this.readChunked(input, ex, input.from) : this.readCounted(input, ex);
  }

  private readCounted(input: InputBuffer, ex: Exchange): Fault {
    const from = input.from;
    const to = offsetBehind(from, this.remaining, input.to);
    input.from = to;
    this.remaining -= to - from;
    this.wireBytes += to - from;
    ex.bodyBytes += to - from;
    if (this.remaining === 0) ex.bodyDone = true;
    handOver(input, ex, from, to);
    return Fault.None;
  }

  private readChunked(input: InputBuffer, ex: Exchange, from: number): Fault {
    const decoder = this.decoder;
    // The limit is known only when the route is: the decoder begins with the first byte.
    if (!this.decoding) {
      decoder.begin(ex.maxBodyBytes);
      this.windowBytes = isPassthrough(ex) ? PASSTHROUGH_BYTES : ALL_BYTES;
    }
    this.decoding = true;
    const event = decoder.next(input.bytes, from, offsetBehind(from, this.windowBytes, input.to));
    if (event === ChunkEvent.Failed) return decoder.fault;
    input.from = decoder.consumed;
    this.wireBytes += decoder.consumed - from;
    if (event === ChunkEvent.Data) {
      ex.bodyBytes += decoder.dataTo - decoder.dataFrom;
      handOver(input, ex, decoder.dataFrom, decoder.dataTo);
    } else if (event === ChunkEvent.Done) {
      if (decoder.trailers.count + ex.request.headers.count > this.maxFields) return Fault.TrailersTooLarge;
      if (decoder.trailers.count > 0) {
        const fault = takeTrailers(ex, (block) => decoder.trailers.appendTo(block), isPassthrough(ex));
        if (fault !== Fault.None) return fault;
      }
      ex.bodyDone = true;
    }
    return Fault.None;
  }
}

function handOver(input: InputBuffer, ex: Exchange, from: number, to: number): void {
  const { body } = ex;
  body.onBody(ex, input.bytes, from, to);
  if (body.keepsNothing !== true) input.lend();
}
