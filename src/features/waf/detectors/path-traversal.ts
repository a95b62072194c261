import { Byte, byteTable, classOf, HEX_VALUE } from "../../../core/bytes.ts";
import { type RequestHead, TargetFlag } from "../../../message/request-head.ts";
import { canonicalise } from "../../../proto/target/canonical-path.ts";
import {
  beforeDotSegments,
  climbsAboveRoot,
  DotReading,
  dotsOf,
  hasEndlessSegment,
  mergeSlashes,
} from "../../../proto/target/dot-segments.ts";
import { LenientPath, Mark } from "../../../proto/target/lenient-path.ts";
import { decodeFully } from "../../../proto/target/percent-decoding.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type WafRule } from "../rule.ts";

/** How a dot-dot segment is spelt, one bit a rule. */
export const enum DotDot {
  /** `..` in literal dots, ended by something else than a plain slash, or left over by a filter. */
  Literal = 1,
  /** A dot of `..` is percent-encoded once, or hidden by an encoded control byte. */
  Encoded = 2,
  /** A dot of `..`, or the separator beside it, is encoded twice or deeper. */
  Nested = 4,
  /** A dot of `..`, or the separator beside it, is spelt so that only lenient decoders see it. */
  Overlong = 8,
  /** `..` in literal dots between plain slashes: routes decide whether that is an attack. */
  Plain = 16,
}

/** A rule on the path, and the spelling that it is about. */
interface TraversalRule extends WafRule {
  readonly spelling: DotDot;
}

/** The rules on the path of the target, which has no keywords: `maySpellDotDot` calls the scan. */
export const TRAVERSAL_RULES: readonly TraversalRule[] = [
  {
    id: "TRAVERSAL-001",
    crs: [930110, 930100],
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "literal dot-dot segment that leaves its route",
    spelling: DotDot.Literal,
  },
  {
    id: "TRAVERSAL-002",
    crs: [930100, 930110],
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "percent-encoded dot-dot segment",
    spelling: DotDot.Encoded,
  },
  {
    id: "TRAVERSAL-003",
    crs: [930100],
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "multiply percent-encoded dot-dot segment",
    spelling: DotDot.Nested,
  },
  {
    id: "TRAVERSAL-004",
    crs: [930100],
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "dot-dot segment in overlong UTF-8, %u escapes or look-alike characters",
    spelling: DotDot.Overlong,
  },
];

/** What the rule on relative paths must know of the routes. Paths are canonical, one character a byte. */
export interface RouteFacts {
  /** Tells exact routes apart by path and host, whatever the method; -1 if the path is none. */
  exactId(path: string, head: RequestHead): number;
  /** Tells prefix routes apart in the same way; -1 if the path falls to none. */
  prefixId(path: string, head: RequestHead): number;
}

/**
 * Whether the literal dot segments of a path are harmless: it does not climb above "/", and it leads to an exact route, or
 * stays with the route of the part before its first dot segment. That must hold of the path as it came and percent-decoded to
 * the end, and of both with repeated slashes as they came and merged. Beyond that, no segment may be longer than a file name
 * can be: dot segments after such a one are padding against naive resolvers. docs/waf.md#traversal
 * @param raw the raw path, one character a byte
 */
export function isHarmless(raw: string, head: RequestHead, routes: RouteFacts): boolean {
  const decoded = decodeFully(raw);
  if (decoded.tooDeep) return false;
  const readings = new Set([raw, mergeSlashes(raw), decoded.text, mergeSlashes(decoded.text)]);
  for (const reading of readings) {
    if (!isHarmlessReading(reading, head, routes)) return false;
  }
  return true;
}

function isHarmlessReading(path: string, head: RequestHead, routes: RouteFacts): boolean {
  if (climbsAboveRoot(path) || hasEndlessSegment(path)) return false;
  const destination = canonicalise(path).canonical;
  if (routes.exactId(destination, head) >= 0) return true;
  const home = routes.prefixId(canonicalise(beforeDotSegments(path)).canonical, head);
  return home >= 0 && home === routes.prefixId(destination, head);
}

/** What a look at the path says: bits. */
export const enum PathSign {
  /** A dot-dot segment may hide in it. */
  Climb = 1,
  /**
   * A segment begins with a dot, a folder ends in F as META-INF does, a letter of a name is escaped, or the extension is none of those
   * that nearly all files of a site have.
   */
  Hidden = 2,
}

/**
 * Whether a dot-dot segment or a hidden file may be in the path. A path with neither dots nor escapes costs one look at the flags; the
 * others cost one scan, which finds no climb unless two dots are side by side or an escape is broken or stands for something that
 * dots are made of.
 * @returns PathSign bits
 */
export function pathSigns(head: RequestHead): number {
  if ((head.targetFlags & (TargetFlag.Dot | TargetFlag.Percent)) === 0) return 0;
  const bytes = head.bytes;
  const to = head.pathTo;
  let signs = 0;
  let previous = 0;
  for (let at = head.pathFrom; at < to; at++) {
    let byte = bytes[at]!;
    if (byte === Byte.Percent) {
      if (at + 2 >= to) return BOTH;
      const high = HEX_VALUE[bytes[at + 1]!]!;
      const low = HEX_VALUE[bytes[at + 2]!]!;
      if (high === NO_HEX_DIGIT || low === NO_HEX_DIGIT) return BOTH;
      byte = high * 16 + low;
      if (SUSPECT[byte] === 1) return BOTH;
      if (NAME[byte] === 1) signs |= PathSign.Hidden;
      at += 2;
    }
    if (byte === Byte.Dot) {
      if (previous === Byte.Dot) return BOTH;
      if (previous === Byte.Slash) signs |= PathSign.Hidden;
    } else if (byte === Byte.Slash && (previous === UPPER_F || previous === LOWER_F)) signs |= PathSign.Hidden;
    previous = byte;
  }
  return signs === 0 && hasOddExtension(bytes, head.pathFrom, to) ? PathSign.Hidden : signs;
}

function hasOddExtension(bytes: Uint8Array, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && bytes[at] !== Byte.Dot && bytes[at] !== Byte.Slash) at--;
  return bytes[at] === Byte.Dot && USUAL.valueOf(bytes, at + 1, to) === 0;
}

/** Looks for dot-dot segments in a path as the most lenient decoder would read it. One object a worker. */
export class TraversalScan {
  /** Offset in the path of the first dot-dot segment found; 0 if there is none. */
  firstAt = 0;
  private readonly path: LenientPath = new LenientPath();

  /** @returns DotDot bits of the path in `bytes[from, to)` */
  scan(bytes: Uint8Array, from: number, to: number): number {
    const path = this.path;
    this.firstAt = -1;
    path.load(bytes, from, to);
    let spellings = path.tooDeep ? DotDot.Nested : 0;
    spellings |= this.scanSegments(false);
    if (hasThreeDots(path)) {
      path.stripParents();
      // What a filter leaves over is never plain, however it is written.
      const left = this.scanSegments(true);
      spellings |= (left & DotDot.Plain) === 0 ? left : (left & ~DotDot.Plain) | DotDot.Literal;
    }
    this.firstAt = Math.max(this.firstAt, 0);
    return spellings;
  }

  /** @param followed whether only segments with a separator after them count */
  private scanSegments(followed: boolean): number {
    const path = this.path;
    let spellings = 0;
    let from = 0;
    for (let at = 0; at <= path.length; at++) {
      if (at < path.length && !path.isSeparator(at)) continue;
      const isDotDot = path.bytes[from] === Byte.Dot && dotsOf(path.bytes, from, at, AS_LENIENT) === 2;
      if (isDotDot && (!followed || at < path.length)) {
        spellings |= this.spellingOf(from, at);
        if (this.firstAt < 0) this.firstAt = path.origins[from]!;
      }
      from = at + 1;
    }
    return spellings;
  }

  /** The spelling of the dot-dot segment at `from`, which the separator at `to` (or the end) ends. */
  private spellingOf(from: number, to: number): number {
    const { bytes, marks, length, endMark } = this.path;
    const first = marks[from]!;
    const second = marks[from + 1]!;
    const before = from > 0 ? marks[from - 1]! : 0;
    const end = to < length ? marks[to]! : endMark;
    const after = (from + 2 < length ? marks[from + 2]! : endMark) | end;
    let spellings = 0;
    if (isOnce(first) || isOnce(second)) spellings |= DotDot.Encoded;
    if (isNested(first) || isNested(second) || isNested(before) || isNested(after)) spellings |= DotDot.Nested;
    if (((first | second | before | after) & Mark.Lookalike) !== 0) spellings |= DotDot.Overlong;
    if ((first | second) !== 0) return spellings;
    const isPlain =
      (before | after) === 0 &&
      from + 2 === to &&
      (from === 0 || bytes[from - 1] === Byte.Slash) &&
      (to === length || bytes[to] === Byte.Slash);
    return spellings | (isPlain ? DotDot.Plain : DotDot.Literal);
  }
}

function hasThreeDots(path: LenientPath): boolean {
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

/** `..;x`, what a second parser takes for a query after the dots, and spaces. */
const AS_LENIENT: DotReading = DotReading.Parameters | DotReading.Suffix | DotReading.Blanks;
const NO_HEX_DIGIT = 255;
const USUAL: WordSet = new WordSet([
  [
    1,
    "js css html htm png jpg jpeg gif svg webp avif ico woff woff2 ttf json xml txt map mjs mp4 webm mp3 pdf wasm php aspx jsp do",
  ],
]);
const BOTH: number = PathSign.Climb | PathSign.Hidden;
const UPPER_F = 0x46;
const LOWER_F = 0x66;
/** What names of files have, and the slash. */
const NAME: Uint8Array = classOf("a-zA-Z0-9_~/\\-");
/**
 * 1 for bytes that an escape of an innocent path rarely stands for: control bytes, the dot, the percent sign, and bytes
 * that lead overlong forms or look-alikes (U+0800, U+2000, U+E000 and U+F000 onwards).
 */
const SUSPECT: Uint8Array = byteTable((byte) => {
  if (byte < 0x20 || byte === Byte.Del || byte === Byte.Dot || byte === Byte.Percent) return 1;
  return byte === 0xc0 || byte === 0xc1 || byte === 0xe0 || byte === 0xe2 || byte >= 0xee ? 1 : 0;
});
