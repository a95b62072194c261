import { KeptBytes } from "../../../core/kept-bytes.ts";
import { FrameFound, WebSocketFrameReader } from "../../../proto/websocket/frame-reader.ts";
import { CloseCode, encodeClose, encodeWebSocketFrame, Opcode } from "../../../proto/websocket/frames.ts";
import { SendWindow, TakenBytes, WireWord } from "../wire.ts";
import type { UpgradeOptions } from "./context.ts";
import type { ThreadLink } from "./thread-link.ts";

/** Bytes of one message of a client, and bytes that wait for one that does not read. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Bytes that wait for a client from which on no more is read of it, so that one which does not read is answered to this much at most. */
const BEHIND_BYTES = 1024 * 1024;

/** The sockets of responses of `ctx.upgrade()`. */
const sockets: WeakMap<object, ServerSocket> = new WeakMap();

/** The socket that a response of `ctx.upgrade()` is for; null for all others. */
export function takeSocket(response: unknown): ServerSocket | null {
  return typeof response === "object" && response !== null ? (sockets.get(response) ?? null) : null;
}

/** The server's end of a WebSocket, with the interface of the web's. RFC 6455; docs/functions.md#modules */
export class ServerSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;
  readonly url = "";
  readonly extensions = "";
  readonly protocol: string;
  binaryType: "arraybuffer" | "blob" | "nodebuffer" = "arraybuffer";
  readyState = 0;
  bufferedAmount = 0;
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  #link: ThreadLink | null = null;
  #id = 0;
  #onClosed: () => void = () => {};
  readonly #reader: WebSocketFrameReader = new WebSocketFrameReader(MAX_MESSAGE_BYTES, true);
  readonly #window: SendWindow = new SendWindow();
  readonly #waiting: KeptBytes = new KeptBytes();
  readonly #taken: TakenBytes = new TakenBytes();
  #hasClosed = false;

  private constructor(protocol: string) {
    super();
    this.protocol = protocol;
  }

  /** Makes the two for a request. @throws TypeError if it asks for no WebSocket */
  static open(
    request: Request,
    { protocol = "" }: UpgradeOptions = {},
  ): { readonly socket: WebSocket; readonly response: Response } {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket")
      throw new TypeError("ctx.upgrade() needs a request for a WebSocket");
    const offered = (request.headers.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
    if (protocol !== "" && !offered.includes(protocol))
      throw new TypeError(`the client does not offer the protocol ${protocol}`);
    const socket = new ServerSocket(protocol);
    const response = new Response(null, { status: 101 });
    sockets.set(response, socket);
    return { socket: socket as unknown as WebSocket, response };
  }

  /** The connection is there. @param onClosed called once, when it is over */
  attach(link: ThreadLink, id: number, onClosed: () => void): void {
    this.#link = link;
    this.#id = id;
    this.#onClosed = onClosed;
    this.readyState = 1;
    this.#fire(new Event("open"));
  }

  send(data: string | ArrayBuffer | ArrayBufferView | Blob): void {
    if (this.readyState === 0) throw new DOMException("the WebSocket is not open yet", "InvalidStateError");
    if (this.readyState !== 1) return;
    if (data instanceof Blob) void data.arrayBuffer().then((bytes) => this.send(bytes));
    else if (typeof data === "string") this.#write(encodeWebSocketFrame(Opcode.Text, Buffer.from(data, "utf8")));
    else this.#write(encodeWebSocketFrame(Opcode.Binary, viewOf(data)));
  }

  close(code = 1000, reason = ""): void {
    if (code !== 1000 && !(code >= 3000 && code < 5000))
      throw new DOMException("the code of a close is 1000, or 3000 to 4999", "InvalidAccessError");
    if (this.readyState >= 2) return;
    this.readyState = 2;
    this.#write(encodeClose(code, reason));
  }

  // ── the connection ────────────────────────────────────────────────────────────────────────────────────────────

  push(bytes: Uint8Array): void {
    this.#credit(bytes.length);
    if (this.#hasClosed) return;
    this.#reader.push(bytes, 0, bytes.length);
    for (;;) {
      const found = this.#reader.next();
      if (found === FrameFound.Nothing) return;
      if (found === FrameFound.Text) this.#receiveText(this.#reader.payload);
      else if (found === FrameFound.Binary) this.#receiveBinary(this.#reader.payload);
      else if (found === FrameFound.Ping) this.#write(encodeWebSocketFrame(Opcode.Pong, this.#reader.payload));
      else return this.#receiveClose(this.#reader.code, found === FrameFound.Fault);
      if (this.#hasClosed) return;
    }
  }

  taken(bytes: number): void {
    this.#window.taken(bytes);
    while (this.#window.isOpen && this.#waiting.holds) {
      const frames = this.#waiting.nextKept()!;
      this.bufferedAmount -= frames.length;
      this.#post(frames);
    }
    this.#credit(0);
  }

  /** The client is gone. */
  end(): void {
    this.#finish(1006, "", false);
  }

  #receiveText(payload: Uint8Array): void {
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
    } catch {
      return this.#receiveClose(CloseCode.NotText, true);
    }
    this.#fire(new MessageEvent("message", { data: text }));
  }

  #receiveBinary(payload: Uint8Array): void {
    const bytes = Uint8Array.prototype.slice.call(payload);
    const data =
      this.binaryType === "blob"
        ? new Blob([bytes])
        : this.binaryType === "nodebuffer"
          ? Buffer.from(bytes.buffer)
          : bytes.buffer;
    this.#fire(new MessageEvent("message", { data }));
  }

  /** RFC 6455 §5.5.1: a close is answered with the same code, and a fault with what it is. */
  #receiveClose(code: number, isFault: boolean): void {
    if (this.readyState === 1) this.#write(encodeClose(code === CloseCode.None ? CloseCode.Normal : code, ""));
    this.#link?.record(WireWord.End, this.#id);
    this.#finish(code, "", !isFault);
  }

  #write(frame: Buffer): void {
    if (this.#hasClosed || this.#link === null) return;
    if (!this.#waiting.holds && this.#window.isOpen) return this.#post(frame);
    this.bufferedAmount += frame.length;
    if (this.bufferedAmount <= MAX_MESSAGE_BYTES) this.#waiting.keepOwn(frame);
    else {
      // A client that does not read is no reason to keep all that it has not read.
      this.#link.record(WireWord.End, this.#id);
      this.#finish(1006, "", false);
    }
  }

  #post(frame: Uint8Array): void {
    this.#window.sent(frame.length);
    this.#link!.body(this.#id, frame, false);
  }

  #credit(bytes: number): void {
    this.#taken.add(bytes);
    if (this.#link !== null && this.bufferedAmount <= BEHIND_BYTES) this.#taken.tell(this.#link, this.#id);
  }

  #finish(code: number, reason: string, wasClean: boolean): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.readyState = 3;
    this.#waiting.drop();
    this.#onClosed();
    if (!wasClean) this.#fire(new Event("error"));
    this.#fire(new CloseEvent("close", { code, reason, wasClean }));
  }

  #fire(event: Event): void {
    const listener = this[`on${event.type}` as "onopen"];
    if (typeof listener === "function") {
      try {
        listener.call(this, event as never);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    this.dispatchEvent(event);
  }
}

function viewOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
