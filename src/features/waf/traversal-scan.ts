import { Byte, HEX_VALUE, table } from "../../core/ascii.ts";
import { type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { FoldedPath, Mark } from "../../proto/target/folded-path.ts";
import { TraversalSign } from "./traversal-rules.ts";

/**
 * Whether a dot-dot segment may hide in the path. A path with neither dots nor escapes costs one look at the flags; the
 * others cost one scan, which ends with "no" unless two dots stand side by side or an escape is broken or stands for
 * something that dots are made of.
 */
export function maySpellDotDot(head: RequestHead): boolean {
  if ((head.targetFlags & (TargetFlag.Dot | TargetFlag.Percent)) === 0) return false;
  const bytes = head.bytes;
  const to = head.pathTo;
  let previous = 0;
  for (let at = head.pathFrom; at < to; at++) {
    let byte = bytes[at]!;
    if (byte === Byte.Percent) {
      if (at + 2 >= to) return true;
      const high = HEX_VALUE[bytes[at + 1]!]!;
      const low = HEX_VALUE[bytes[at + 2]!]!;
      if (high === NO_DIGIT || low === NO_DIGIT) return true;
      byte = high * 16 + low;
      if (SUSPECT[byte] === 1) return true;
      at += 2;
    }
    if (byte === Byte.Dot && previous === Byte.Dot) return true;
    previous = byte;
  }
  return false;
}

/** Looks for dot-dot segments in a path as the most lenient decoder would read it. One object a worker. */
export class TraversalScan {
  /** Offset in the path of the first dot-dot segment found; 0 where there is none. */
  firstAt = 0;
  private readonly path: FoldedPath = new FoldedPath();

  /** @returns TraversalSign bits of the path in `bytes[from, to)` */
  scan(bytes: Uint8Array, from: number, to: number): number {
    const path = this.path;
    this.firstAt = -1;
    path.load(bytes, from, to);
    let signs = path.tooDeep ? TraversalSign.Nested : 0;
    signs |= this.scanSegments(false);
    if (hasThreeDots(path)) {
      path.stripParents();
      // What a filter leaves over is never plain, however it is written.
      const left = this.scanSegments(true);
      signs |= (left & TraversalSign.Plain) === 0 ? left : (left & ~TraversalSign.Plain) | TraversalSign.Literal;
    }
    this.firstAt = Math.max(this.firstAt, 0);
    return signs;
  }

  /** @param followed whether only segments with a separator behind them count */
  private scanSegments(followed: boolean): number {
    const path = this.path;
    let signs = 0;
    let from = 0;
    for (let at = 0; at <= path.length; at++) {
      if (at < path.length && !path.isSeparator(at)) continue;
      if (isDotDot(path, from, at) && (!followed || at < path.length)) {
        signs |= this.signsOf(from, at);
        if (this.firstAt < 0) this.firstAt = path.origins[from]!;
      }
      from = at + 1;
    }
    return signs;
  }

  /** The signs of the dot-dot segment at `from`, which the separator at `to` (or the end) ends. */
  private signsOf(from: number, to: number): number {
    const { bytes, marks, length, endMark } = this.path;
    const first = marks[from]!;
    const second = marks[from + 1]!;
    const before = from > 0 ? marks[from - 1]! : 0;
    const end = to < length ? marks[to]! : endMark;
    const after = (from + 2 < length ? marks[from + 2]! : endMark) | end;
    let signs = 0;
    if (isOnce(first) || isOnce(second)) signs |= TraversalSign.Encoded;
    if (isNested(first) || isNested(second) || isNested(before) || isNested(after)) signs |= TraversalSign.Nested;
    if (((first | second | before | after) & Mark.Lookalike) !== 0) signs |= TraversalSign.Overlong;
    if ((first | second) !== 0) return signs;
    const isPlain =
      (before | after) === 0 &&
      from + 2 === to &&
      (from === 0 || bytes[from - 1] === Byte.Slash) &&
      (to === length || bytes[to] === Byte.Slash);
    return signs | (isPlain ? TraversalSign.Plain : TraversalSign.Literal);
  }
}

/**
 * Whether the segment is `..`, be it with parameters (`..;x`), with what a second parser takes for a query behind it, or
 * with spaces, which Windows cuts off at the end of a name.
 */
function isDotDot(path: FoldedPath, from: number, to: number): boolean {
  const bytes = path.bytes;
  if (to - from < 2 || bytes[from] !== Byte.Dot || bytes[from + 1] !== Byte.Dot) return false;
  let at = from + 2;
  while (at < to && bytes[at] === Byte.Space) at++;
  const next = bytes[at];
  return at === to || next === Byte.Semicolon || next === Byte.Question || next === Byte.Hash;
}

function hasThreeDots(path: FoldedPath): boolean {
  let run = 0;
  for (let at = 0; at < path.length; at++) {
    run = path.bytes[at] === Byte.Dot ? run + 1 : 0;
    if (run === 3) return true;
  }
  return false;
}

function isOnce(mark: number): boolean {
  return mark === 1;
}

function isNested(mark: number): boolean {
  return (mark & Mark.Rounds) >= 2;
}

const NO_DIGIT = 255;
/**
 * 1 for bytes that an escape of an innocent path rarely stands for: control bytes, the dot, the percent sign, and bytes
 * that lead overlong forms or look-alikes (U+0800, U+2000, U+E000 and U+F000 onwards).
 */
const SUSPECT: Uint8Array = table((byte) => {
  if (byte < 0x20 || byte === Byte.Del || byte === Byte.Dot || byte === Byte.Percent) return 1;
  return byte === 0xc0 || byte === 0xc1 || byte === 0xe0 || byte === 0xe2 || byte >= 0xee ? 1 : 0;
});
