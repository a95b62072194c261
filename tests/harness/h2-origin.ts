import { createServer, type Server, type Socket } from "node:net";
import { HpackDecoder } from "../../src/proto/hpack/decoder.ts";
import { LineBuffer } from "../../src/proto/hpack/line-buffer.ts";
import {
  ACK,
  Code,
  END_HEADERS,
  END_STREAM,
  encode,
  type Field,
  frameBytes,
  settingsPayload,
  Type,
  uint32,
} from "./h2-client.ts";

/** SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_INITIAL_WINDOW_SIZE. RFC 9113 §6.5.2. */
export const MAX_STREAMS = 3;
export const INITIAL_WINDOW = 4;

/** What an origin does, frame by frame. Everything is optional: without a script it answers nothing. */
export interface H2Script {
  /** SETTINGS of each connection, or null where the script sends them itself. */
  readonly settings?: readonly (readonly [number, number])[] | null;
  /** Whether windows open as DATA comes; true without it. */
  readonly opensWindows?: boolean;
  onOpen?(connection: H2OriginConnection): void;
  onHead?(stream: H2OriginStream): void;
  onData?(stream: H2OriginStream, bytes: Buffer): void;
  /** The request is complete: END_STREAM has come. */
  onEnd?(stream: H2OriginStream): void;
  /** The gateway has reset the stream. */
  onReset?(stream: H2OriginStream): void;
}

/** A cleartext origin of HTTP/2 that does what its script says, however wrong. */
export class H2Origin {
  readonly connections: H2OriginConnection[] = [];
  private readonly server: Server;

  private constructor(readonly script: { current: H2Script }) {
    this.server = createServer((socket) => {
      this.connections.push(new H2OriginConnection(socket, this.script.current, this.connections.length));
    });
  }

  static async start(script: H2Script = {}): Promise<H2Origin> {
    const origin = new H2Origin({ current: script });
    await new Promise<void>((resolve) => origin.server.listen(0, "127.0.0.1", resolve));
    return origin;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  get url(): string {
    return `h2c://127.0.0.1:${this.port}`;
  }

  /** Every stream of every connection, in order. */
  get streams(): H2OriginStream[] {
    return this.connections.flatMap((connection) => [...connection.streams.values()]);
  }

  /** Cuts all connections and begins anew with this script, once the gateway will have noticed. */
  async play(script: H2Script): Promise<void> {
    this.script.current = script;
    const open = this.connections.splice(0).filter(({ isClosed }) => !isClosed);
    for (const connection of open) connection.cut();
    if (open.length > 0) await Bun.sleep(NOTICED_MS);
  }

  stop(): void {
    for (const connection of this.connections) connection.cut();
    this.server.close();
  }
}

/** One stream as the origin sees it. */
export class H2OriginStream {
  readonly body: Buffer[] = [];
  length = 0;
  /** Whether the request has come whole, the origin has ended its side, or either side has reset the stream. */
  isEnded = false;
  isAnswered = false;
  reset = -1;

  constructor(
    readonly connection: H2OriginConnection,
    readonly id: number,
    readonly fields: ReadonlyMap<string, string>,
  ) {}

  get path(): string {
    return this.fields.get(":path") ?? "";
  }

  get isOver(): boolean {
    return this.isAnswered || this.reset >= 0;
  }

  /** Answers with a whole body. */
  answer(body: string, status = 200): void {
    if (this.isOver) return;
    this.isAnswered = true;
    this.head([[":status", `${status}`]]);
    this.connection.frame(Type.data, END_STREAM, this.id, body);
  }

  head(fields: readonly Field[], flags = END_HEADERS): void {
    this.connection.frame(Type.headers, flags, this.id, encode(fields));
  }

  /** Resets the stream. */
  refuse(code: number = Code.refused): void {
    if (this.isOver) return;
    this.reset = code;
    this.connection.frame(Type.reset, 0, this.id, uint32(code));
  }
}

/** One connection of the gateway to the origin. */
export class H2OriginConnection {
  readonly streams: Map<number, H2OriginStream> = new Map();
  isClosed = false;
  /** Most streams that were open at a time. */
  mostOpen = 0;
  /** Resets that the gateway has sent, and those of streams that had no answer. */
  resets = 0;
  earlyResets = 0;
  private unread: Buffer = Buffer.alloc(0);
  private isGreeted = false;
  private hasSettings = false;
  private readonly early: Buffer[] = [];
  private readonly decoder = new HpackDecoder(4096);

  constructor(
    private readonly socket: Socket,
    private readonly script: H2Script,
    readonly number: number,
  ) {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.isClosed = true;
    });
    socket.on("data", (chunk: Buffer) => this.take(chunk));
    if (script.settings !== null) this.settings(script.settings ?? []);
    script.onOpen?.(this);
  }

  get openStreams(): number {
    let open = 0;
    for (const stream of this.streams.values()) if (!stream.isOver) open++;
    return open;
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array | string = ""): void {
    const bytes = frameBytes(type, flags, streamId, payload);
    // RFC 9113 §3.4: nothing comes before the SETTINGS.
    if (!this.hasSettings) this.early.push(bytes);
    else if (!this.isClosed) this.socket.write(bytes);
  }

  settings(list: readonly (readonly [number, number])[]): void {
    this.hasSettings = true;
    // What has waited leaves in the same segment.
    const bytes = Buffer.concat([frameBytes(Type.settings, 0, 0, settingsPayload(list)), ...this.early.splice(0)]);
    if (!this.isClosed) this.socket.write(bytes);
  }

  goAway(lastId: number, code: number = Code.none): void {
    this.frame(Type.goAway, 0, 0, Buffer.concat([uint32(lastId), uint32(code)]));
  }

  /** Ends the connection in order, behind what was written. */
  finish(): void {
    this.socket.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.isClosed = true;
    this.socket.resetAndDestroy();
  }

  private take(chunk: Buffer): void {
    this.unread = Buffer.concat([this.unread, chunk]);
    if (!this.isGreeted) {
      if (this.unread.length < PREFACE_BYTES) return;
      this.unread = this.unread.subarray(PREFACE_BYTES);
      this.isGreeted = true;
    }
    while (this.unread.length >= 9) {
      const length = this.unread.readUIntBE(0, 3);
      if (this.unread.length < 9 + length) return;
      const [type, flags] = [this.unread[3]!, this.unread[4]!];
      const payload = this.unread.subarray(9, 9 + length);
      const id = this.unread.readUInt32BE(5) & 0x7fffffff;
      this.unread = this.unread.subarray(9 + length);
      this.takeFrame(type, flags, id, payload);
    }
  }

  private takeFrame(type: number, flags: number, id: number, payload: Buffer): void {
    if (type === Type.settings && (flags & ACK) === 0) this.frame(Type.settings, ACK, 0);
    else if (type === Type.ping && (flags & ACK) === 0) this.frame(Type.ping, ACK, 0, payload);
    else if (type === Type.headers) this.takeHead(flags, id, payload);
    else if (type === Type.data) this.takeData(flags, id, payload);
    else if (type === Type.reset) {
      this.resets++;
      const stream = this.streams.get(id);
      if (stream === undefined || stream.reset >= 0) return;
      stream.reset = payload.readUInt32BE(0);
      if (!stream.isAnswered) this.earlyResets++;
      this.script.onReset?.(stream);
    }
  }

  private takeHead(flags: number, id: number, block: Buffer): void {
    const fields = this.decode(block);
    const known = this.streams.get(id);
    const stream = known ?? new H2OriginStream(this, id, new Map(fields));
    this.streams.set(id, stream);
    this.mostOpen = Math.max(this.mostOpen, this.openStreams);
    if (known === undefined) this.script.onHead?.(stream);
    if ((flags & END_STREAM) !== 0) this.end(stream);
  }

  private takeData(flags: number, id: number, bytes: Buffer): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    if (bytes.length > 0 && this.script.opensWindows !== false) {
      this.frame(Type.windowUpdate, 0, 0, uint32(bytes.length));
      if (!stream.isOver) this.frame(Type.windowUpdate, 0, id, uint32(bytes.length));
    }
    stream.body.push(Buffer.from(bytes));
    stream.length += bytes.length;
    this.script.onData?.(stream, bytes);
    if ((flags & END_STREAM) !== 0) this.end(stream);
  }

  private end(stream: H2OriginStream): void {
    stream.isEnded = true;
    this.script.onEnd?.(stream);
  }

  private decode(block: Buffer): Field[] {
    const lines = new LineBuffer();
    const fields: Field[] = [];
    this.decoder.begin(block, 0, block.length);
    while (this.decoder.next(lines) === 0) {
      const { nameFrom, nameTo, valueFrom, valueTo } = this.decoder;
      fields.push([lines.bytes.latin1Slice(nameFrom, nameTo), lines.bytes.latin1Slice(valueFrom, valueTo)]);
    }
    return fields;
  }
}

const PREFACE_BYTES = 24;
const NOTICED_MS = 50;
