import { EMPTY_BYTES } from "../../core/bytes.ts";
import { MAX_INTERIM_RESPONSES } from "../../core/limits.ts";
import { HeaderBlock } from "../../message/header-block.ts";
import { Framing, type Method } from "../../message/request-head.ts";
import { ChunkEvent, ChunkedDecoder } from "../../proto/h1/chunked-decoder.ts";
import { NEED_MORE } from "../../proto/h1/outcome.ts";
import { ResponseParser } from "../../proto/h1/response-parser.ts";

/** How far a response has come. */
export const enum ResponseState {
  Head = 0,
  Body,
  /** All of it has arrived. */
  Done,
  /** It is no valid HTTP/1.1, or there was more than one. */
  Malformed,
}

/** Reads one response after the other off a connection, as strictly as the gateway reads its upstreams. */
export class ResponseReader {
  state: ResponseState = ResponseState.Head;
  /** Of the final response; 0 until its head is read. */
  status = 0;
  /** After Done: whether the connection may be used again. */
  keepAlive = false;
  private readonly parser = new ResponseParser();
  private readonly headers = new HeaderBlock();
  private readonly decoder = new ChunkedDecoder();
  /** Bytes of a head that is not complete. */
  private held: Uint8Array = EMPTY_BYTES;
  private interims = 0;
  private remaining = 0;

  constructor(private method: Method) {}

  /** Makes ready for the response to the next request. @param method of that request, if it is another one */
  begin(method: Method = this.method): void {
    this.method = method;
    this.state = ResponseState.Head;
    this.status = 0;
    this.held = EMPTY_BYTES;
    this.interims = 0;
    this.beginHead(0);
  }

  /** Takes what has arrived. */
  receive(chunk: Uint8Array): ResponseState {
    let bytes = chunk;
    let from = 0;
    if (this.state === ResponseState.Head) {
      if (this.held.length > 0) bytes = Buffer.concat([this.held, chunk]);
      from = this.readHeads(bytes);
    }
    if (this.state === ResponseState.Body) from = this.readBody(bytes, from);
    // What is after a complete response was not asked for.
    if (this.state === ResponseState.Done && from < bytes.length) this.state = ResponseState.Malformed;
    return this.state;
  }

  /** Takes the end of the stream, which completes a response without length. */
  receiveEnd(): ResponseState {
    const isWhole = this.state === ResponseState.Body && this.parser.framing === Framing.UntilClose;
    if (isWhole) this.state = ResponseState.Done;
    return this.state;
  }

  private readHeads(bytes: Uint8Array): number {
    for (;;) {
      const outcome = this.parser.parse(bytes, bytes.length, this.headers, this.method);
      if (outcome === NEED_MORE) {
        this.held = bytes;
        return bytes.length;
      }
      if (outcome < 0 || this.parser.status === 101) return this.refuse(bytes);
      if (this.parser.status >= 200) {
        this.beginBody();
        return outcome;
      }
      if (++this.interims > MAX_INTERIM_RESPONSES) return this.refuse(bytes);
      this.beginHead(outcome);
    }
  }

  private beginHead(from: number): void {
    this.parser.begin(from);
    this.headers.reset(EMPTY_BYTES);
  }

  private beginBody(): void {
    const { status, framing, contentLength, keepAlive } = this.parser;
    this.status = status;
    this.keepAlive = keepAlive;
    this.remaining = contentLength;
    this.held = EMPTY_BYTES;
    this.state = framing === Framing.None ? ResponseState.Done : ResponseState.Body;
    if (framing === Framing.Chunked) this.decoder.begin(0);
  }

  private readBody(bytes: Uint8Array, from: number): number {
    if (this.parser.framing === Framing.UntilClose) return bytes.length;
    if (this.parser.framing === Framing.Length) {
      const taken = Math.min(bytes.length - from, this.remaining);
      this.remaining -= taken;
      if (this.remaining === 0) this.state = ResponseState.Done;
      return from + taken;
    }
    let at = from;
    for (;;) {
      const event = this.decoder.next(bytes, at, bytes.length);
      if (event === ChunkEvent.Failed) return this.refuse(bytes);
      at = this.decoder.consumed;
      if (event === ChunkEvent.Done) this.state = ResponseState.Done;
      if (event !== ChunkEvent.Data) return at;
    }
  }

  private refuse(bytes: Uint8Array): number {
    this.state = ResponseState.Malformed;
    return bytes.length;
  }
}
