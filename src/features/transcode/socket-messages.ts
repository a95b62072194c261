import type { Exchange } from "../../message/exchange.ts";
import type { ReadJson } from "../../proto/grpc/json-text.ts";
import { FrameFound, WebSocketFrameReader } from "../../proto/websocket/frame-reader.ts";
import type { CloseCode } from "../../proto/websocket/frames.ts";
import type { LargeText, MessageSource } from "./message-pump.ts";
import { messageText } from "./message-sources.ts";
import { BadInput, RefusedMessage } from "./request-input.ts";

/** Who learns of frames that are no messages. */
export interface SocketListener {
  onPing(payload: Uint8Array): void;
  /** The client closes. */
  onPeerClose(code: CloseCode | number): void;
  /** The client breaks the protocol, or a bound. */
  onProtocolFault(code: CloseCode | number): void;
  /** All that has come has been read. */
  onDrained(): void;
}

/** The messages of a WebSocket: a JSON text each. An empty one says that no more will come. */
export class SocketMessages implements MessageSource {
  lastBytes = 0;
  isOver = false;
  private readonly ex: Exchange;
  private readonly reader: WebSocketFrameReader;
  private readonly listener: SocketListener;

  /** @param maxBytes of one message */
  constructor(ex: Exchange, maxBytes: number, listener: SocketListener) {
    this.ex = ex;
    this.reader = new WebSocketFrameReader(maxBytes);
    this.listener = listener;
  }

  get isEmpty(): boolean {
    return this.reader.isEmpty;
  }

  push(bytes: Uint8Array, from: number, to: number): void {
    this.reader.push(bytes, from, to);
  }

  next(): ReadJson | LargeText | null {
    if (this.isOver) return null;
    const found = this.read();
    if (found !== FrameFound.Text) return null;
    const { payload } = this.reader;
    if (payload.length === 0) {
      this.isOver = true;
      return null;
    }
    // No firewall sees a tunnel: it is asked here, as it is about a body.
    const { messages } = this.ex.pipeline;
    if (messages !== null) {
      const fault = messages.judgeMessage(this.ex, payload);
      if (fault !== 0) throw new RefusedMessage(fault);
    }
    this.lastBytes = payload.length;
    return messageText(payload);
  }

  more(): void {
    this.listener.onDrained();
  }

  /** Reads anything after the last message: there may be none. @throws BadInput */
  readRest(): void {
    if (this.read() === FrameFound.Text) throw new BadInput("a message came after the last one");
    if (this.isEmpty) this.listener.onDrained();
  }

  /** Drops what still comes, but for a close. */
  dropRest(): void {
    while (this.read() === FrameFound.Text);
  }

  private read(): FrameFound {
    for (;;) {
      const found = this.reader.next();
      if (found === FrameFound.Ping) this.listener.onPing(this.reader.payload);
      else {
        if (found === FrameFound.Close) this.listener.onPeerClose(this.reader.code);
        if (found === FrameFound.Fault) this.listener.onProtocolFault(this.reader.code);
        return found;
      }
    }
  }
}
