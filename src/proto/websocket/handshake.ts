import { createHash } from "node:crypto";

/** The value of `Sec-WebSocket-Accept` that proves that a key has been understood. RFC 6455 §4.2.2. */
export function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}${GUID}`).digest("base64");
}

/** Whether a text is a `Sec-WebSocket-Key`: 16 bytes in base64. RFC 6455 §4.1. */
export function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{21}[AQgw]==$/.test(text);
}

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
