import { Byte, equalsLower, latin1 } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { hashBytes, hashText } from "./hash.ts";

/** What a hashing policy goes by. */
export interface HashKey {
  /** @returns 0 to 2^32-1, or -1 when the request has no such key */
  hashOf(ex: Exchange): number;
}

/** The address of the client, as the trusted proxies tell it. */
export class ClientHashKey implements HashKey {
  hashOf(ex: Exchange): number {
    return hashText(ex.clientIp);
  }
}

/** Path and query as they came. */
export class TargetHashKey implements HashKey {
  hashOf({ request }: Exchange): number {
    return hashBytes(request.bytes, request.pathFrom, request.queryTo);
  }
}

/** The value of the first header field with a name. */
export class HeaderHashKey implements HashKey {
  private readonly id: HeaderId;
  private readonly lowerName: Uint8Array;

  constructor(name: string) {
    this.id = headerIdFromName(name);
    this.lowerName = latin1(name.toLowerCase());
  }

  hashOf({ request: { headers } }: Exchange): number {
    for (let i = headers.find(this.id); i >= 0; i = headers.find(this.id, i + 1)) {
      const at = i * 4;
      const { bytes, spans } = headers;
      if (this.id !== HeaderId.Other || equalsLower(bytes, spans[at]!, spans[at + 1]!, this.lowerName)) {
        return hashBytes(bytes, spans[at + 2]!, spans[at + 3]!);
      }
    }
    return -1;
  }
}

/** The value of the first cookie with a name. RFC 6265 §4.2.1; HTTP/2 may bring a Cookie field for each. */
export class CookieHashKey implements HashKey {
  private readonly name: Uint8Array;

  constructor(name: string) {
    this.name = latin1(name);
  }

  hashOf({ request: { headers } }: Exchange): number {
    for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
      const hash = this.hashIn(headers.bytes, headers.spans[i * 4 + 2]!, headers.spans[i * 4 + 3]!);
      if (hash >= 0) return hash;
    }
    return -1;
  }

  private hashIn(bytes: Uint8Array, start: number, end: number): number {
    for (let from = start; from < end; ) {
      let to = from;
      while (to < end && bytes[to] !== Byte.Semicolon) to++;
      const value = this.valueFrom(bytes, from, to);
      if (value >= 0) return hashBytes(bytes, value, withoutSpace(bytes, value, to));
      from = to + 1;
      while (from < end && bytes[from] === Byte.Space) from++;
    }
    return -1;
  }

  /** Where the value begins, when `bytes[from, to)` is a pair with our name; else -1. */
  private valueFrom(bytes: Uint8Array, from: number, to: number): number {
    const { name } = this;
    const at = from + name.length;
    if (at >= to || bytes[at] !== Byte.Equals) return -1;
    for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return -1;
    return at + 1;
  }
}

function withoutSpace(bytes: Uint8Array, from: number, to: number): number {
  let end = to;
  while (end > from && bytes[end - 1] === Byte.Space) end--;
  return end;
}
