import { Byte } from "../../core/ascii.ts";
import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import { TargetFlag } from "../../message/request-head.ts";
import { percentByte } from "../../proto/target/percent-decoding.ts";

/**
 * Refuses a path with a `%` that two hexadecimal digits do not follow (RFC 3986 §2.1), and one with `%00`: decoders behind
 * the gateway differ on both. The WAF and the prefix guard come first, whose 403 says more. The query is left alone.
 */
export class PathEscapesPhase implements Phase {
  readonly name = "pathEscapes";

  run(ex: Exchange): Verdict {
    const head = ex.request;
    if ((head.targetFlags & TargetFlag.Percent) === 0) return Verdict.Next;
    if (areEscapesSound(head.bytes, head.pathFrom, head.pathTo)) return Verdict.Next;
    ex.sink.abort(ex, Fault.BadTarget);
    return Verdict.Done;
  }
}

function areEscapesSound(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] !== Byte.Percent) continue;
    // -1 for a broken one, 0 for NUL.
    if (at + 2 >= to || percentByte(bytes[at + 1]!, bytes[at + 2]!) <= 0) return false;
    at += 2;
  }
  return true;
}
