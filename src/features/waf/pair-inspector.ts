import { Byte } from "../../core/ascii.ts";
import { indexOfByte } from "../../core/bytes.ts";
import { isPlainName } from "./match/escaped-scan.ts";
import { Place } from "./match/value-reading.ts";
import type { ValueInspector } from "./value-inspector.ts";

/**
 * Inspects names and values of `a=1&b=2`, as in queries, forms and cookies.
 * @param separator the byte between two pairs
 */
export function inspectPairs(
  inspector: ValueInspector,
  place: Place,
  separator: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  inspector.value.place = place;
  for (let at = from; at < to; ) {
    while (at < to && (bytes[at] === separator || bytes[at] === Byte.Space)) at++;
    let equals = -1;
    let end = at;
    for (; end < to && bytes[end] !== separator; end++) if (equals < 0 && bytes[end] === Byte.Equals) equals = end;
    if (end > at) inspectPair(inspector, bytes, at, equals, end);
    at = end + 1;
  }
}

/** Inspects one pair; what has no equals sign is a name. */
function inspectPair(inspector: ValueInspector, bytes: Uint8Array, from: number, equals: number, to: number): void {
  const { value } = inspector;
  const nameTo = equals < 0 ? to : equals;
  load(inspector, bytes, from, nameTo);
  inspector.setName(value.bytes, 0, value.length);
  if (!isPlainName(bytes, from, nameTo)) {
    value.isName = true;
    inspector.inspect(bytes, from, to);
    value.isName = false;
  }
  if (equals < 0 || equals + 1 === to) return;
  load(inspector, bytes, equals + 1, to);
  inspector.inspect(bytes, from, to);
  if (value.place !== Place.Header || indexOfByte(bytes, Byte.Backslash, equals + 1, to) === to) return;
  load(inspector, bytes, equals + 1, to);
  value.unquote();
  inspector.inspect(bytes, from, to);
}

/** In cookies a plus is a plus. */
function load(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.value.loadEscaped(bytes, from, to, inspector.value.place !== Place.Header);
}
