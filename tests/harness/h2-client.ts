import type { Socket } from "bun";
import { HpackDecoder } from "../../src/proto/hpack/decoder.ts";
import { LineBuffer } from "../../src/proto/hpack/line-buffer.ts";
import { BYTE_SOCKET_HANDLERS, ByteSocket, PATIENCE_MS } from "./byte-socket.ts";

/** A field, name first. */
export type Field = readonly [name: string, value: string];

/** One frame as it came. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** All that came on one stream. */
export interface StreamReply {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
  /** All lines of the head, those with the same name as well. */
  readonly lines: readonly Field[];
  readonly trailers: ReadonlyMap<string, string>;
  readonly interim: readonly number[];
  readonly body: Buffer;
  readonly text: string;
  /** The code of RST_STREAM; -1 where none came. */
  readonly reset: number;
  readonly isEnded: boolean;
}

/** RFC 9113 §6. */
export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** RFC 9113 §7. */
export const Code = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;

export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** A client that sends exactly the frames it is told to. It opens windows and acknowledges only where that is wanted. */
export class H2Client extends ByteSocket {
  readonly frames: Frame[] = [];
  private rest: Buffer = Buffer.alloc(0);
  private readonly decoder = new HpackDecoder(4096);
  private readonly replies = new Map<number, Draft>();
  private isPolite = true;
  private lastId = -1;

  /** Opens a connection and sends the preface with these settings. @param isPolite opens windows, acknowledges settings */
  static async connect(port: number, settings: readonly Setting[] = [], isPolite = true): Promise<H2Client> {
    const client = new H2Client();
    client.isPolite = isPolite;
    const socket = await Bun.connect<ByteSocket>({
      hostname: "127.0.0.1",
      port,
      allowHalfOpen: true,
      data: client,
      socket: BYTE_SOCKET_HANDLERS,
    });
    client.attach(socket);
    client.send(PREFACE);
    client.frame(Type.settings, 0, 0, settingsPayload(settings));
    return client;
  }

  /**
   * The same over TLS, where ALPN must settle on `h2`. No certificate is checked.
   * @param who own certificate and key, PEM, the name in the ClientHello, and the address
   */
  static async connectTls(
    port: number,
    { hostname = "127.0.0.1", ...who }: { cert?: string; key?: string; serverName?: string; hostname?: string } = {},
  ): Promise<H2Client> {
    const client = new H2Client();
    const ready = Promise.withResolvers<void>();
    await Bun.connect<ByteSocket>({
      hostname,
      port,
      allowHalfOpen: true,
      data: client,
      tls: { rejectUnauthorized: false, ALPNProtocols: Buffer.from("\x02h2"), ...who } as never,
      socket: {
        ...BYTE_SOCKET_HANDLERS,
        open(): void {},
        handshake(socket: Socket<ByteSocket>): void {
          const { alpnProtocol } = socket as unknown as { alpnProtocol: string | false };
          if (alpnProtocol !== "h2") ready.reject(new Error(`ALPN settled on ${String(alpnProtocol)}`));
          client.attach(socket);
          ready.resolve();
        },
      } as never,
    });
    const patience = setTimeout(() => ready.reject(new Error("no handshake in time")), PATIENCE_MS);
    await ready.promise.finally(() => clearTimeout(patience));
    client.send(PREFACE);
    client.frame(Type.settings, 0, 0);
    return client;
  }

  /** Sends one frame. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array | string = ""): void {
    this.send(frameBytes(type, flags, streamId, payload));
  }

  /** Sends HEADERS in one frame. @returns the stream's number, the next one where none is given */
  headers(fields: readonly Field[], isEnd = true, streamId = this.nextId()): number {
    this.frame(Type.headers, END_HEADERS | (isEnd ? END_STREAM : 0), streamId, encode(fields));
    return streamId;
  }

  data(streamId: number, bytes: Uint8Array | string, isEnd = false): void {
    this.frame(Type.data, isEnd ? END_STREAM : 0, streamId, bytes);
  }

  /** Sends a whole request. @returns its answer */
  async request(fields: readonly Field[], body?: Uint8Array | string, patienceMs?: number): Promise<StreamReply> {
    const id = this.headers(fields, body === undefined);
    if (body !== undefined) this.data(id, body, true);
    return this.reply(id, patienceMs);
  }

  /** Waits until the stream has ended or been reset, or the connection is gone. */
  reply(streamId: number, patienceMs?: number): Promise<StreamReply> {
    const probe = (): StreamReply | undefined => {
      const reply = this.seen(streamId);
      return reply.isEnded || reply.reset >= 0 || this.ending !== "open" ? reply : undefined;
    };
    return this.until(`the end of stream ${streamId}`, probe, patienceMs);
  }

  /** What has come on a stream so far. */
  seen(streamId: number): StreamReply {
    const draft = this.replies.get(streamId) ?? new Draft();
    const body = Buffer.concat(draft.body);
    const { status, fields, lines, trailers, interim, reset, isEnded } = draft;
    return { status, fields, lines, trailers, interim, body, text: body.toString("utf8", 0, 65536), reset, isEnded };
  }

  /** Waits for a frame for which `matches` holds. */
  frameWhere(what: string, matches: (frame: Frame) => boolean, patienceMs?: number): Promise<Frame> {
    return this.until(what, () => this.frames.find(matches), patienceMs);
  }

  /** Waits for a GOAWAY with another code than 0, or any, and gives its code. */
  async goAway(patienceMs?: number): Promise<number> {
    const frame = await this.frameWhere("GOAWAY", ({ type }) => type === Type.goAway, patienceMs);
    return frame.payload.readUInt32BE(4);
  }

  /** The number of the next stream. */
  nextId(): number {
    this.lastId += 2;
    return this.lastId;
  }

  protected override onReceived(chunk: Uint8Array): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (this.rest.length - at >= 9) {
      const length = this.rest.readUIntBE(at, 3);
      if (this.rest.length - at < 9 + length) break;
      const streamId = this.rest.readUInt32BE(at + 5) & 0x7fffffff;
      const payload = this.rest.subarray(at + 9, at + 9 + length);
      this.takeFrame({ type: this.rest[at + 3]!, flags: this.rest[at + 4]!, streamId, payload });
      at += 9 + length;
    }
    this.rest = this.rest.subarray(at);
  }

  private takeFrame(frame: Frame): void {
    const { type, flags, streamId, payload } = frame;
    if (type !== Type.data) this.frames.push({ ...frame, payload: Buffer.from(payload) });
    if (type === Type.settings && (flags & ACK) === 0 && this.isPolite) this.frame(Type.settings, ACK, 0);
    if (streamId === 0) return;
    const draft = this.replies.get(streamId) ?? new Draft();
    this.replies.set(streamId, draft);
    if (type === Type.headers) draft.takeHeaders(this.decode(payload), (flags & END_STREAM) !== 0);
    if (type === Type.reset) draft.reset = payload.readUInt32BE(0);
    if (type !== Type.data) return;
    draft.body.push(Buffer.from(payload));
    if ((flags & END_STREAM) !== 0) draft.isEnded = true;
    if (payload.length > 0 && this.isPolite) {
      this.frame(Type.windowUpdate, 0, 0, uint32(payload.length));
      if (!draft.isEnded) this.frame(Type.windowUpdate, 0, streamId, uint32(payload.length));
    }
  }

  private decode(block: Buffer): Field[] {
    const lines = new LineBuffer();
    const fields: Field[] = [];
    const { decoder } = this;
    decoder.begin(block, 0, block.length);
    while (decoder.next(lines) === 0) {
      const { nameFrom, nameTo, valueFrom, valueTo } = decoder;
      fields.push([lines.bytes.latin1Slice(nameFrom, nameTo), lines.bytes.latin1Slice(valueFrom, valueTo)]);
    }
    return fields;
  }
}

/** A setting and its value. */
type Setting = readonly [id: number, value: number];

/** The usual head of a request. */
export function head(method: string, path: string, more: readonly Field[] = []): Field[] {
  return [[":method", method], [":scheme", "http"], [":path", path], [":authority", "gw.test"], ...more];
}

/** Fields as literals that are not indexed, in plain bytes. RFC 7541 §6.2.2. */
export function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]));
}

/** One frame's bytes. */
export function frameBytes(type: number, flags: number, streamId: number, payload: Uint8Array | string = ""): Buffer {
  const bytes = typeof payload === "string" ? Buffer.from(payload, "latin1") : payload;
  const header = Buffer.alloc(9);
  header.writeUIntBE(bytes.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, bytes]);
}

/** The payload of SETTINGS. */
export function settingsPayload(settings: readonly (readonly [number, number])[]): Buffer {
  const out = Buffer.alloc(settings.length * 6);
  settings.forEach(([id, value], i) => {
    out.writeUInt16BE(id, i * 6);
    out.writeUInt32BE(value, i * 6 + 2);
  });
  return out;
}

/** 32 bits. */
export function uint32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

/** A string literal, not Huffman-coded. */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [0x7f];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push(0x80 | (rest & 0x7f));
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

class Draft {
  status = 0;
  fields = new Map<string, string>();
  lines: readonly Field[] = [];
  trailers = new Map<string, string>();
  readonly interim: number[] = [];
  readonly body: Buffer[] = [];
  reset = -1;
  isEnded = false;

  takeHeaders(fields: readonly Field[], isEnd: boolean): void {
    const map = new Map(fields);
    const status = Number(map.get(":status") ?? 0);
    if (status >= 100 && status < 200) this.interim.push(status);
    else if (this.status > 0) this.trailers = map;
    else {
      this.status = status;
      this.fields = map;
      this.lines = fields;
    }
    if (isEnd) this.isEnded = true;
  }
}
