import { Byte } from "../../core/bytes.ts";
import { DotReading, dotsOf } from "./dot-segments.ts";
import { MAX_DECODING_ROUNDS, percentByte } from "./percent-decoding.ts";

/**
 * Resolves dot segments that show only if a path is decoded again and again, such as `%252e%252e`; segments end at slashes and
 * backslashes of any depth. All else keeps its spelling.
 * @param path one character a byte; it begins with a slash
 * @returns null where escapes are left after MAX_DECODING_ROUNDS
 */
export function resolveDeepDots(path: string): string | null {
  let read: PlacedText = { text: path, places: Array.from({ length: path.length + 1 }, (_, i) => i) };
  for (let round = 0; ; round++) {
    const next = decodePlaced(read);
    if (next === null) break;
    if (round === MAX_DECODING_ROUNDS) return null;
    read = next;
  }
  const { text, places } = read;
  const kept: Segment[] = [];
  for (let from = 0; from < text.length; ) {
    let to = from + 1;
    while (to < text.length && !isSlash(text.charCodeAt(to))) to++;
    const dots = dotsOf(text, from + 1, to, DotReading.Parameters);
    if (dots === 2) kept.pop();
    if (dots === 0) kept.push({ from: places[from]!, name: places[from + 1]!, to: places[to]! });
    else if (to === text.length) kept.push(EMPTY);
    from = to;
  }
  const [first, ...rest] = kept;
  if (first === undefined) return "/";
  const others = rest.map((one) => (one === EMPTY ? "/" : path.slice(one.from, one.to)));
  return `/${path.slice(first.name, first.to)}${others.join("")}`;
}

/** A segment of a path with the slash before it, in whatever spelling: where the slash, the name and anything after them begin. */
interface Segment {
  readonly from: number;
  readonly name: number;
  readonly to: number;
}

/** The empty segment that dots at the end of a path leave. */
const EMPTY: Segment = { from: 0, name: 0, to: 0 };

/** A decoded text, with where each of its characters stood in the path, and the path's end. */
interface PlacedText {
  readonly text: string;
  readonly places: readonly number[];
}

/** Decodes once. @returns null if there is nothing to decode */
function decodePlaced({ text, places }: PlacedText): PlacedText | null {
  const codes: number[] = [];
  const moved: number[] = [];
  for (let at = 0; at < text.length; ) {
    const isEscape = text.charCodeAt(at) === Byte.Percent && at + 2 < text.length;
    const byte = isEscape ? percentByte(text.charCodeAt(at + 1), text.charCodeAt(at + 2)) : -1;
    codes.push(byte < 0 ? text.charCodeAt(at) : byte);
    moved.push(places[at]!);
    at += byte < 0 ? 1 : 3;
  }
  if (codes.length === text.length) return null;
  moved.push(places[text.length]!);
  return { text: Buffer.from(codes).latin1Slice(), places: moved };
}

function isSlash(code: number): boolean {
  return code === Byte.Slash || code === Byte.Backslash;
}
