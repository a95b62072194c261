import { equalsLower, LOWER, latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

/**
 * Marks the fields by which an origin has the server before it send a file, or tells it how to send: they name paths that no client
 * is to know, and go no further, as hop-by-hop fields do not. X-Accel-Buffering stays: it names nothing, and a server before the
 * gateway may need it. docs/upstreams.md#fields-for-the-server-before-it
 */
export function markInternalFields(headers: HeaderBlock): void {
  for (let i = 0; i < headers.count; i++) if (headers.ids[i] === HeaderId.Other) markInternalField(headers, i);
}

/** The same for one field that has no identity of its own. */
export function markInternalField(headers: HeaderBlock, index: number): void {
  const { bytes, ids } = headers;
  const from = headers.nameFrom(index);
  if (LOWER[bytes[from]!] !== LOWER_X) return;
  if (isInternal(bytes, from, headers.nameTo(index))) ids[index] = HeaderId.NamedByConnection;
}

function isInternal(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > ACCEL.length && equalsLower(bytes, from, from + ACCEL.length, ACCEL)) return true;
  return NAMES.some((name) => equalsLower(bytes, from, to, name));
}

const LOWER_X = 0x78;
/** Of nginx. X-Accel-Buffering has an identity of its own. */
const ACCEL: Uint8Array = latin1("x-accel-");
/** Of Apache and lighttpd, and of Perlbal. */
const NAMES: readonly Uint8Array[] = [
  "x-sendfile",
  "x-sendfile2",
  "x-lighttpd-send-file",
  "x-lighttpd-send-tempfile",
  "x-reproxy-url",
  "x-reproxy-file",
].map(latin1);
