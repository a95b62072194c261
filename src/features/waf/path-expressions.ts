import { Byte, HEX_VALUE, LOWER, table } from "../../core/ascii.ts";
import { type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { Place } from "./match/value-reading.ts";
import type { ValueInspector } from "./value-inspector.ts";

/**
 * Whether the path holds, plain or escaped, what an expression, a tag or a line of a head begins with. A path without
 * escapes costs one look at the flags.
 */
export function mayHoldExpression(head: RequestHead): boolean {
  if ((head.targetFlags & (TargetFlag.Opener | TargetFlag.Percent)) === 0) return false;
  const { bytes, pathTo } = head;
  for (let at = head.pathFrom; at < pathTo; at++) {
    const byte = bytes[at]!;
    if (OPENERS[byte] === 1) return true;
    if (byte !== Byte.Percent || at + 2 >= pathTo) continue;
    if (LOWER[bytes[at + 1]!] === LOWER_U) return true;
    const decoded = HEX_VALUE[bytes[at + 1]!]! * 16 + HEX_VALUE[bytes[at + 2]!]!;
    // An escape of an escape may be any of them.
    if (decoded < 0x80 && (OPENERS[decoded] === 1 || decoded === Byte.Percent)) return true;
  }
  return false;
}

/** Inspects the path as one value: what loggers, templates and pages make something of, wherever it stands. */
export function inspectExpressions(inspector: ValueInspector, head: RequestHead): void {
  const { bytes, pathFrom, pathTo } = head;
  inspector.nameNothing();
  inspector.value.place = Place.Path;
  inspector.value.loadEscaped(bytes, pathFrom, pathTo, false);
  inspector.inspect(bytes, pathFrom, pathTo);
}

/** `$ { <` and line breaks. */
const OPENERS: Uint8Array = table((byte) =>
  byte === 0x24 || byte === 0x3c || byte === 0x7b || byte === Byte.Lf || byte === Byte.Cr ? 1 : 0,
);
const LOWER_U = 0x75;
