import type { ByteSocket } from "./byte-socket.ts";

/** The peer's bytes break HTTP/1.1 where the harness reads them. */
export class HttpSyntaxError extends Error {}

/** Header or trailer fields in the order and case of the wire. */
export class Fields {
  constructor(readonly list: readonly (readonly [string, string])[]) {}

  /** All values of a name, in order. */
  all(name: string): string[] {
    const wanted = name.toLowerCase();
    return this.list.filter(([each]) => each.toLowerCase() === wanted).map(([, value]) => value);
  }

  /** The value of a name, several joined with `, `; null when it is absent. */
  get(name: string): string | null {
    const values = this.all(name);
    return values.length === 0 ? null : values.join(", ");
  }

  has(name: string): boolean {
    return this.all(name).length > 0;
  }

  /** Lower-case names in the order of the wire. */
  get names(): string[] {
    return this.list.map(([name]) => name.toLowerCase());
  }

  /** Lower-case name to value; a repeated name gives a list. */
  toObject(): Record<string, string | string[]> {
    const object: Record<string, string | string[]> = {};
    for (const name of this.names) {
      const values = this.all(name);
      object[name] = values.length === 1 ? values[0]! : values;
    }
    return object;
  }
}

export interface MessageHead {
  readonly startLine: string;
  readonly fields: Fields;
  /** The head as it came, with its empty line. */
  readonly raw: string;
}

export interface MessageBody {
  readonly bytes: Buffer;
  readonly trailers: Fields;
  readonly framing: "none" | "length" | "chunked" | "close";
  /** Number of chunks with data. */
  readonly chunks: number;
}

const MAX_HEAD_BYTES = 256 * 1024;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NO_FIELDS = new Fields([]);
const NO_BODY: MessageBody = { bytes: Buffer.alloc(0), trailers: NO_FIELDS, framing: "none", chunks: 0 };

/** Reads one head, strictly: CRLF only, token names, no folding, no control characters. */
export async function readHead(socket: ByteSocket, patienceMs?: number): Promise<MessageHead> {
  const raw = (await socket.takeUntil("\r\n\r\n", MAX_HEAD_BYTES, patienceMs)).toString("latin1");
  const lines = raw.slice(0, -4).split("\r\n");
  return { startLine: lines[0]!, fields: parseFields(lines.slice(1)), raw };
}

/** Reads the body that a head announces; `untilClose` says what a head without framing means. */
export async function readBody(
  socket: ByteSocket,
  fields: Fields,
  untilClose: boolean,
  patienceMs?: number,
): Promise<MessageBody> {
  const encodings = fields.all("transfer-encoding");
  const lengths = fields.all("content-length");
  if (encodings.length > 0) {
    if (lengths.length > 0) throw new HttpSyntaxError("Content-Length beside Transfer-Encoding");
    if (encodings.length > 1 || encodings[0]!.toLowerCase() !== "chunked") {
      throw new HttpSyntaxError(`Transfer-Encoding ${JSON.stringify(encodings)}`);
    }
    return readChunked(socket, patienceMs);
  }
  if (lengths.length > 0) {
    if (lengths.length > 1 || !/^\d+$/.test(lengths[0]!)) {
      throw new HttpSyntaxError(`Content-Length ${JSON.stringify(lengths)}`);
    }
    const bytes = await socket.take(Number(lengths[0]), patienceMs);
    return { ...NO_BODY, bytes, framing: "length" };
  }
  if (!untilClose) return NO_BODY;
  return { ...NO_BODY, bytes: await socket.takeRest(patienceMs), framing: "close" };
}

async function readChunked(socket: ByteSocket, patienceMs?: number): Promise<MessageBody> {
  const parts: Buffer[] = [];
  for (;;) {
    const line = (await socket.takeUntil("\r\n", 1024, patienceMs)).toString("latin1").slice(0, -2);
    const size = /^([0-9a-fA-F]{1,16})(?:;[^\r\n]*)?$/.exec(line);
    if (size === null) throw new HttpSyntaxError(`chunk size line ${JSON.stringify(line)}`);
    const length = Number.parseInt(size[1]!, 16);
    if (length === 0) break;
    parts.push(await socket.take(length, patienceMs));
    const delimiter = (await socket.take(2, patienceMs)).toString("latin1");
    if (delimiter !== "\r\n") throw new HttpSyntaxError(`chunk data followed by ${JSON.stringify(delimiter)}`);
  }
  const lines: string[] = [];
  for (;;) {
    const line = (await socket.takeUntil("\r\n", MAX_HEAD_BYTES, patienceMs)).toString("latin1").slice(0, -2);
    if (line === "") break;
    lines.push(line);
  }
  return { bytes: Buffer.concat(parts), trailers: parseFields(lines), framing: "chunked", chunks: parts.length };
}

function parseFields(lines: readonly string[]): Fields {
  return new Fields(
    lines.map((line) => {
      const colon = line.indexOf(":");
      const name = line.slice(0, Math.max(0, colon));
      const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "");
      if (!TOKEN.test(name)) throw new HttpSyntaxError(`field line ${JSON.stringify(line)}`);
      if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) throw new HttpSyntaxError(`field value ${JSON.stringify(line)}`);
      return [name, value] as const;
    }),
  );
}
