import { Byte } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { LineBuffer } from "../hpack/line-buffer.ts";

/**
 * Makes one Cookie field of several, as required outside of HTTP/2. RFC 9113 §8.2.3.
 * @param lines holds the fields of `headers`, with nothing but other lines after them
 */
export function joinCookies(lines: LineBuffer, headers: HeaderBlock): void {
  const first = headers.find(HeaderId.Cookie);
  if (first < 0 || headers.find(HeaderId.Cookie, first + 1) < 0) return;
  let length = LINE_EXTRA;
  for (let i = first; i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
    length += headers.valueLength(i) + SEPARATOR_BYTES;
  }
  const out = lines.reserve(length);
  headers.bytes = out;
  const nameFrom = lines.end;
  const nameTo = headers.copyName(first, out, nameFrom);
  out[nameTo] = Byte.Colon;
  out[nameTo + 1] = Byte.Space;
  const valueFrom = nameTo + 2;
  let at = valueFrom;
  for (let i = first; i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
    if (at > valueFrom) {
      out[at++] = Byte.Semicolon;
      out[at++] = Byte.Space;
    }
    at = headers.copyValue(i, out, at);
  }
  // Thousands of crumbs fit into a head: one pass, not one each.
  headers.removeAll(HeaderId.Cookie);
  out[at] = Byte.Cr;
  out[at + 1] = Byte.Lf;
  lines.end = at + 2;
  headers.push(HeaderId.Cookie, nameFrom, nameTo, valueFrom, at);
}

/** The name, colon, space, CR and LF. */
const LINE_EXTRA = 16;
const SEPARATOR_BYTES = 2;
