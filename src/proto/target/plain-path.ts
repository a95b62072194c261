import { Byte } from "../../core/ascii.ts";
import { type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { hasDotSegment } from "./dot-segments.ts";

/**
 * Whether the raw path is its own canonical form: no escape, no backslash, no `.` or `..` segment, no two slashes side by
 * side.
 * For most requests that is one look at the flags, and one scan of the path where a dot stands in the target.
 */
export function isPlainPath(head: RequestHead): boolean {
  const flags = head.targetFlags;
  if ((flags & (TargetFlag.Percent | TargetFlag.DoubleSlash | TargetFlag.Dot)) === 0) return true;
  const from = head.pathFrom;
  const to = head.pathTo;
  // The flags speak of the whole target: what they announce may stand in the query.
  if ((flags & (TargetFlag.Percent | TargetFlag.DoubleSlash)) !== 0 && hasEscapeOrSlashes(head.bytes, from, to)) {
    return false;
  }
  return (flags & TargetFlag.Dot) === 0 || !hasDotSegment(head.bytes, from, to);
}

function hasEscapeOrSlashes(bytes: Uint8Array, from: number, to: number): boolean {
  let previous = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Percent || byte === Byte.Backslash) return true;
    if (byte === Byte.Slash && previous === Byte.Slash) return true;
    previous = byte;
  }
  return false;
}
