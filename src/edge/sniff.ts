import type { InputBuffer } from "../net/input-buffer.ts";

/** Whether a client begins with a TLS handshake record: 0x16 0x03. RFC 8446 §5.1. */
export function isTlsRecord(input: InputBuffer): boolean {
  return input.length >= 2 && input.bytes[input.from] === 0x16 && input.bytes[input.from + 1] === 0x03;
}
