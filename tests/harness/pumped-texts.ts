// Texts that are worst for a regular expression: its own characters, each of them repeated where it stands.

const CLASSES: Readonly<Record<string, string>> = {
  d: "0",
  w: "a",
  s: " ",
  S: "x",
  D: "x",
  W: "-",
  n: "\n",
  r: "\r",
  t: "\t",
};
/** What most expressions do not end with. */
const END = "\0";
const MAX_PLACES = 40;
/** How a group begins that looks around, has a name or no number. */
const GROUP = /^\(\?(?:[:=!]|<[=!]|<\w+>)/;

/** Characters that an expression is about, in order: a set of them is its first, a group is what is in it. @param source without slashes */
export function skeletonOf(source: string): string {
  let out = "";
  for (let at = 0; at < source.length; at++) {
    if (/^\(\?<?!/.test(source.slice(at, at + 4))) at = endOfGroup(source, at) + 1;
    const sign = source[at] ?? "";
    if (sign === "\\") {
      at++;
      const escaped = source[at]!;
      const hex = /^(?:x([\da-f]{2})|u([\da-f]{4})|([pP])\{[^}]*\})/i.exec(source.slice(at, at + 40));
      if (hex !== null) {
        out += hex[3] === undefined ? String.fromCharCode(Number.parseInt(hex[1] ?? hex[2]!, 16)) : "a";
        at += hex[0].length - 1;
      } else if (!/[bB1-9k]/.test(escaped)) out += CLASSES[escaped] ?? escaped;
    } else if (sign === "[") {
      const [member, end] = firstOfSet(source, at);
      out += member;
      at = end;
    } else if (sign === "{" && /^\{\d/.test(source.slice(at))) at = source.indexOf("}", at);
    else if (sign === "(" && source[at + 1] === "?") at += GROUP.exec(source.slice(at, at + 40))![0].length - 1;
    else if (sign === ".") out += "a";
    else if (!/[()|*+?^$]/.test(sign)) out += sign;
  }
  return out;
}

/** Where a group ends that says what is not there. */
function endOfGroup(source: string, from: number): number {
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "[") at = firstOfSet(source, at)[1];
    else if (source[at] === "(") depth++;
    else if (source[at] === ")" && --depth === 0) return at;
  }
  return source.length;
}

/** A character of a set, and where the set ends. */
function firstOfSet(source: string, from: number): [string, number] {
  let at = from + 1;
  const isNot = source[at] === "^";
  if (isNot) at++;
  let member = source[at]!;
  if (member === "\\") {
    const escaped = source[at + 1]!;
    member =
      CLASSES[escaped] ??
      (escaped === "x" ? String.fromCharCode(Number.parseInt(source.slice(at + 2, at + 4), 16)) : escaped);
  }
  for (let isFirst = true; isFirst || source[at] !== "]"; at++, isFirst = false) if (source[at] === "\\") at++;
  return [isNot ? (member === "x" ? "y" : "x") : member, at];
}

/** Each place of what the expression is about, with one to three characters that end there repeated to the length. */
export function* pumpedTexts(source: string, length: number): Generator<string> {
  const skeleton = skeletonOf(source).slice(0, MAX_PLACES);
  for (let at = 1; at <= skeleton.length; at++) {
    for (let size = 1; size <= Math.min(3, at); size++) {
      const unit = skeleton.slice(at - size, at);
      const text = skeleton.slice(0, at) + unit.repeat(Math.ceil(length / size)).slice(0, length) + END;
      yield text;
      if (at === size) yield END + text;
    }
  }
  if (skeleton !== "") yield skeleton.repeat(Math.ceil(length / skeleton.length)).slice(0, length) + END;
}
