import { type FieldTag, tagOf } from "./field-kind.ts";

/** RFC 7541 Appendix A: 61 entries, `name` or `name: value`; names with the same spelling stand together. */
const ENTRIES: readonly (readonly [name: string, value: string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

/** Number of entries; the dynamic table's first one comes after them. */
export const STATIC_ENTRIES: number = ENTRIES.length;

/** One line `name: value` with CRLF an entry. */
export const STATIC_LINES: Buffer = Buffer.from(ENTRIES.map(([name, value]) => `${name}: ${value}\r\n`).join(""));
/** Where each entry's line begins, the lengths of its name and value, and its tag: four numbers an entry, from 1 on. */
export const STATIC_SPANS: Int32Array = spans();

/** Index of the first entry with this name, or 0. */
export function staticNameIndex(name: string): number {
  return ENTRIES.findIndex((entry) => entry[0] === name) + 1;
}

/** Index of the entry with this name and value, or 0. */
export function staticIndex(name: string, value: string): number {
  return ENTRIES.findIndex((entry) => entry[0] === name && entry[1] === value) + 1;
}

function spans(): Int32Array {
  const out = new Int32Array((ENTRIES.length + 1) * 4);
  let at = 0;
  ENTRIES.forEach(([name, value], i) => {
    out.set([at, name.length, value.length, tagAt(at, name.length, value.length)], (i + 1) * 4);
    at += name.length + value.length + 4;
  });
  return out;
}

function tagAt(at: number, nameLength: number, valueLength: number): FieldTag {
  const valueFrom = at + nameLength + 2;
  return tagOf(STATIC_LINES, at, at + nameLength, valueFrom, valueFrom + valueLength);
}
