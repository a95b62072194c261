import { Byte, equalsLower, latin1, table } from "../../core/ascii.ts";
import { indexOfByte } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { Method } from "../../message/method.ts";
import { type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { Authority, judgeAuthority } from "./authority.ts";

/** See TargetFlag.Mark. */
const MARKS = "$<{'\"(;|&`*!+";

/**
 * What each byte of a target means; 0 is refused. Visible ASCII is let through, so that the WAF and the origin judge
 * odd characters; control bytes, space, DEL and raw non-ASCII bytes are not (RFC 3986 §2 allows none of them).
 */
export const TARGET_CLASS: Uint8Array = table((byte) => {
  if (byte <= Byte.Space || byte >= Byte.Del) return 0;
  switch (byte) {
    case Byte.Percent:
    case Byte.Backslash:
      return TargetFlag.Valid | TargetFlag.Percent;
    case Byte.Dot:
      return TargetFlag.Valid | TargetFlag.Dot;
    case Byte.Slash:
      return TargetFlag.Valid | TargetFlag.Slash;
    case Byte.Question:
      return TargetFlag.Valid | TargetFlag.Question;
    case Byte.Hash:
      return TargetFlag.Valid | TargetFlag.Hash;
    default:
      return MARKS.includes(String.fromCharCode(byte)) ? TargetFlag.Valid | TargetFlag.Mark : TargetFlag.Valid;
  }
});

/**
 * Finds authority, path and query within a target whose bytes have been checked.
 * RFC 9112 §3.2: origin-form, absolute-form, authority-form (CONNECT alone), asterisk-form (OPTIONS alone).
 * @returns Fault.None or Fault.BadTarget
 */
export function locateTarget(bytes: Uint8Array, head: RequestHead): Fault {
  const from = head.targetFrom;
  const to = head.targetTo;
  // A path after CONNECT is malformed, but no two readers take it in two ways: it gets the 405 of CONNECT.
  if (head.method === Method.Connect && bytes[from] !== Byte.Slash) return locateAuthorityForm(bytes, head);
  if (bytes[from] === Byte.Slash) {
    locatePath(bytes, head, from, to);
    return Fault.None;
  }
  if (bytes[from] === Byte.Star && to === from + 1 && head.method === Method.Options) {
    locatePath(bytes, head, from, to);
    return Fault.None;
  }
  const authorityFrom = behindScheme(bytes, from, to);
  if (authorityFrom < 0) return Fault.BadTarget;
  let at = authorityFrom;
  while (at < to && bytes[at] !== Byte.Slash && bytes[at] !== Byte.Question && bytes[at] !== Byte.Hash) at++;
  if (judgeAuthority(bytes, authorityFrom, at) === Authority.Bad) return Fault.BadTarget;
  head.authorityFrom = authorityFrom;
  head.authorityTo = at;
  locatePath(bytes, head, at, to);
  return Fault.None;
}

function locateAuthorityForm(bytes: Uint8Array, head: RequestHead): Fault {
  if (judgeAuthority(bytes, head.targetFrom, head.targetTo) === Authority.Bad) return Fault.BadTarget;
  head.authorityFrom = head.targetFrom;
  head.authorityTo = head.targetTo;
  locatePath(bytes, head, head.targetTo, head.targetTo);
  return Fault.None;
}

function locatePath(bytes: Uint8Array, head: RequestHead, from: number, to: number): void {
  let queryTo = to;
  if ((head.targetFlags & TargetFlag.Hash) !== 0) queryTo = indexOfByte(bytes, Byte.Hash, from, to);
  head.pathFrom = from;
  head.queryTo = queryTo;
  const hasQuery = (head.targetFlags & TargetFlag.Question) !== 0;
  head.pathTo = hasQuery ? indexOfByte(bytes, Byte.Question, from, queryTo) : queryTo;
}

/** Offset behind `http://` or `https://`, or -1. */
function behindScheme(bytes: Uint8Array, from: number, to: number): number {
  if (equalsLower(bytes, from, Math.min(to, from + HTTP.length), HTTP)) return from + HTTP.length;
  return equalsLower(bytes, from, Math.min(to, from + HTTPS.length), HTTPS) ? from + HTTPS.length : -1;
}

const HTTP: Uint8Array = latin1("http://");
const HTTPS: Uint8Array = latin1("https://");
