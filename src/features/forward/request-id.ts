import { table } from "../../core/ascii.ts";
import { copyBytes } from "../../core/bytes.ts";
import { MAX_REQUEST_ID_BYTES } from "../../core/limits.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-id.ts";
import type { RequestNamer } from "../../message/ports.ts";
import { REQUEST_ID_FROM } from "../../message/reply-head.ts";

const HEX_PAIRS: Uint8Array = Uint8Array.from({ length: 512 }, (_, i) => {
  const digit = i & 1 ? (i >> 1) & 15 : i >> 5;
  return digit < 10 ? 0x30 + digit : 0x57 + digit;
});
/** Random bytes are taken from the system by the page: one call serves some four hundred ids. */
const POOL_BYTES = 4096;
const RANDOM_PER_ID = 10;
const ID_CHARACTER: Uint8Array = table((byte) => (/[A-Za-z0-9._-]/.test(String.fromCharCode(byte)) ? 1 : 0));

/** Gives every forwarded request its X-Request-Id. docs/upstreams.md#fields-that-are-sent */
export class RequestIds implements RequestNamer {
  private readonly random: Uint8Array = new Uint8Array(POOL_BYTES);
  private used = POOL_BYTES;
  private readonly now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * Puts the line `X-Request-Id: …` into the reply's own lines: a valid client value of 1 to 128 characters is kept,
   * any other gives way to a new UUIDv7 (RFC 9562 §5.7). The same bytes go upstream. A request that has one keeps it.
   */
  assign(ex: Exchange): void {
    if (ex.reply.requestIdEnd > 0) return;
    const line = ex.reply.requestIdLine;
    let at = REQUEST_ID_FROM;
    const headers = ex.request.headers;
    const index = headers.find(HeaderId.XRequestId);
    const from = index < 0 ? 0 : headers.spans[index * 4 + 2]!;
    const to = index < 0 ? 0 : headers.spans[index * 4 + 3]!;
    if (isValid(headers.bytes, from, to)) at = copyBytes(line, at, headers.bytes, from, to);
    else at = this.writeUuid(line, at);
    line[at++] = 0x0d;
    line[at++] = 0x0a;
    ex.reply.requestIdEnd = at;
  }

  /** See RequestNamer: for the log lines of requests that are refused, which are named for nothing else. */
  idOf(ex: Exchange): string {
    this.assign(ex);
    return ex.reply.requestId();
  }

  private writeUuid(out: Buffer, start: number): number {
    if (this.used + RANDOM_PER_ID > POOL_BYTES) {
      crypto.getRandomValues(this.random);
      this.used = 0;
    }
    const random = this.random;
    const r = this.used;
    this.used += RANDOM_PER_ID;
    const now = this.now();
    const high = Math.floor(now / 0x100000000);
    const low = now >>> 0;
    let at = pair(out, start, (high >>> 8) & 255);
    at = pair(out, at, high & 255);
    at = pair(out, at, low >>> 24);
    at = pair(out, at, (low >>> 16) & 255);
    out[at++] = DASH;
    at = pair(out, at, (low >>> 8) & 255);
    at = pair(out, at, low & 255);
    out[at++] = DASH;
    at = pair(out, at, 0x70 | (random[r]! & 15));
    at = pair(out, at, random[r + 1]!);
    out[at++] = DASH;
    at = pair(out, at, 0x80 | (random[r + 2]! & 63));
    at = pair(out, at, random[r + 3]!);
    out[at++] = DASH;
    for (let i = 4; i < RANDOM_PER_ID; i++) at = pair(out, at, random[r + i]!);
    return at;
  }
}

function isValid(bytes: Uint8Array, from: number, to: number): boolean {
  if (to === from || to - from > MAX_REQUEST_ID_BYTES) return false;
  for (let i = from; i < to; i++) if (ID_CHARACTER[bytes[i]!] !== 1) return false;
  return true;
}

function pair(out: Buffer, at: number, byte: number): number {
  out[at] = HEX_PAIRS[byte * 2]!;
  out[at + 1] = HEX_PAIRS[byte * 2 + 1]!;
  return at + 2;
}

const DASH = 0x2d;
