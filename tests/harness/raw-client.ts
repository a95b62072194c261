import { BYTE_SOCKET_HANDLERS, ByteSocket } from "./byte-socket.ts";
import { Fields, HttpSyntaxError, type MessageBody, type MessageHead, readBody, readHead } from "./http-message.ts";

/** One final answer, with the interim ones before it. */
export interface Reply {
  readonly status: number;
  readonly reason: string;
  readonly version: string;
  readonly fields: Fields;
  readonly body: Buffer;
  readonly text: string;
  readonly trailers: Fields;
  readonly framing: MessageBody["framing"];
  readonly interim: readonly InterimReply[];
}

export interface InterimReply {
  readonly status: number;
  readonly fields: Fields;
}

/** A client that sends exactly the bytes it is told to, and reads answers strictly. */
export class RawClient extends ByteSocket {
  /** Opens a connection to a loopback port. */
  static async connect(port: number, hostname = "127.0.0.1"): Promise<RawClient> {
    const client = new RawClient();
    const socket = await Bun.connect<ByteSocket>({
      hostname,
      port,
      allowHalfOpen: true,
      data: client,
      socket: BYTE_SOCKET_HANDLERS,
    });
    client.attach(socket);
    return client;
  }

  /** Reads the next answer. `method` is that of the request: a HEAD has no body. */
  async reply(method = "GET", patienceMs?: number): Promise<Reply> {
    const interim: InterimReply[] = [];
    for (;;) {
      const head = await readHead(this, patienceMs);
      const { status, reason, version } = parseStatusLine(head);
      if (status < 200 && status !== 101) {
        interim.push({ status, fields: head.fields });
        continue;
      }
      const bodiless = method === "HEAD" || status === 101 || status === 204 || status === 304;
      const body = bodiless ? NO_BODY : await readBody(this, head.fields, true, patienceMs);
      const { bytes, trailers, framing } = body;
      const text = bytes.byteLength <= MAX_TEXT_BYTES ? bytes.toString("utf8") : "";
      return { status, reason, version, fields: head.fields, body: bytes, text, trailers, framing, interim };
    }
  }

  /** Reads one interim answer that the server sends by itself, such as 100. */
  async interim(patienceMs?: number): Promise<InterimReply> {
    const head = await readHead(this, patienceMs);
    const { status } = parseStatusLine(head);
    if (status >= 200) throw new HttpSyntaxError(`wanted an interim answer, got ${head.startLine}`);
    return { status, fields: head.fields };
  }

  /** Sends a request and reads its answer. */
  async exchange(request: string | Uint8Array, method?: string): Promise<Reply> {
    this.send(request);
    return this.reply(method ?? methodOf(request));
  }
}

/** One request on a connection of its own, which is closed afterwards. */
export async function exchangeOnce(port: number, request: string | Uint8Array, method?: string): Promise<Reply> {
  const client = await RawClient.connect(port);
  try {
    return await client.exchange(request, method);
  } finally {
    client.close();
  }
}

/**
 * Builds a request: `request("POST /node/echo", ["X-A: 1"], "hello")`. Host is added where no line names it, and
 * Content-Length where there is a body and no line frames it. A start line without a version gets HTTP/1.1.
 */
export function request(start: string, lines: readonly string[] = [], body?: string | Uint8Array): Buffer {
  const startLine = start.includes(" HTTP/") ? start : `${start} HTTP/1.1`;
  const all = [...lines];
  if (!names(all, "host")) all.unshift("Host: gw.test");
  if (body !== undefined && !names(all, "content-length") && !names(all, "transfer-encoding")) {
    all.push(`Content-Length: ${typeof body === "string" ? Buffer.byteLength(body, "latin1") : body.byteLength}`);
  }
  const head = Buffer.from([startLine, ...all, "", ""].join("\r\n"), "latin1");
  if (body === undefined) return head;
  return Buffer.concat([head, typeof body === "string" ? Buffer.from(body, "latin1") : body]);
}

/** Encodes bytes as a chunked body with chunks of `size` bytes and optional trailer lines. */
export function chunked(body: string | Uint8Array, size = 1024, trailers: readonly string[] = []): Buffer {
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : Buffer.from(body);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += size) {
    const data = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${data.byteLength.toString(16)}\r\n`, "latin1"), data, Buffer.from("\r\n", "latin1"));
  }
  parts.push(Buffer.from(["0", ...trailers, "", ""].join("\r\n"), "latin1"));
  return Buffer.concat(parts);
}

/** The answer's body as JSON. */
export function json<T = Record<string, unknown>>(reply: Reply): T {
  return JSON.parse(reply.text) as T;
}

const MAX_TEXT_BYTES = 1024 * 1024;
const NO_BODY: MessageBody = { bytes: Buffer.alloc(0), trailers: new Fields([]), framing: "none", chunks: 0 };

function names(lines: readonly string[], name: string): boolean {
  return lines.some((line) => line.toLowerCase().startsWith(`${name}:`));
}

function methodOf(request: string | Uint8Array): string {
  const text = typeof request === "string" ? request : Buffer.from(request.subarray(0, 32)).toString("latin1");
  return /^[A-Z]+/.exec(text)?.[0] ?? "GET";
}

function parseStatusLine(head: MessageHead): { status: number; reason: string; version: string } {
  const match = /^(HTTP\/1\.[01]) (\d{3}) ([\t\x20-\x7e\x80-\xff]*)$/.exec(head.startLine);
  if (match === null) throw new HttpSyntaxError(`status line ${JSON.stringify(head.startLine)}`);
  return { version: match[1]!, status: Number(match[2]), reason: match[3]! };
}
