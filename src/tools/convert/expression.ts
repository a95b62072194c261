/** A text as an expression that fits it alone. */
export function escapedRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/**
 * An expression of PCRE as one of RE2, which the routes have (docs/routing.md#expressions); null if the two read it otherwise, or
 * RE2 does not have it. One pass from left to right.
 * @param isRefusal whether it must take every text that the other one takes: `$` then takes a line break at the end, as there
 */
export function expressionOf(pcre: string, isRefusal: boolean): string | null {
  let out = "";
  for (let at = 0; at < pcre.length; ) {
    const piece = pieceAt(pcre, at, isRefusal);
    if (piece === null) return null;
    out += piece.text;
    at = piece.end;
  }
  return out;
}

/**
 * An expression of PCRE over bytes as one that takes the very same paths, so that a route with it may give something; null if none is
 * known to. `$` takes a line break at the end, and a dot takes none.
 */
export function contentExpressionOf(pcre: string): string | null {
  let out = "";
  if (looksAround(pcre) || /[^ -~]/.test(pcre)) return null;
  for (let at = 0; at < pcre.length; ) {
    const piece = pieceAt(pcre, at, true);
    if (piece === null) return null;
    // One byte there is one character here, of several bytes.
    if (ANY_SIGN.test(piece.text) && !"*+".includes(pcre[piece.end] ?? "^")) return null;
    out += piece.text === "." ? "[^\\n]" : piece.text;
    at = piece.end;
  }
  return out;
}

/** What takes characters beyond ASCII. */
const ANY_SIGN = /^(?:\.|\[\^.*|\\[DW])$/s;

/** The next part of an expression as RE2 has it. */
interface Piece {
  readonly text: string;
  readonly end: number;
}

function pieceAt(pcre: string, at: number, isRefusal: boolean): Piece | null {
  const char = pcre[at]!;
  const end = at + 1;
  if (char === "\\") return escapeAt(pcre, at, false);
  if (char === "[") return classAt(pcre, at);
  if (char === "(") return isRefusal && AROUND.test(pcre.slice(at, at + 4)) ? aroundAt(pcre, at) : groupAt(pcre, at);
  if (char === "$") return { text: isRefusal ? "\\n?$" : "$", end };
  // Repetitions that give nothing back.
  if (char === "+" && at > 0 && isRepetition(pcre, at - 1)) return null;
  return { text: char, end };
}

/** Whether an unescaped `*`, `+`, `?` or `}` is here. */
function isRepetition(pcre: string, at: number): boolean {
  if (!"*+?}".includes(pcre[at]!)) return false;
  let slashes = 0;
  while (pcre[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 0;
}

/** What looks around itself takes away from what fits: without it, an expression takes no less. */
function aroundAt(pcre: string, at: number): Piece | null {
  let depth = 0;
  for (let end = at; end < pcre.length; end++) {
    const char = pcre[end];
    if (char === "\\") end++;
    else if (char === "[") {
      const close = classAt(pcre, end);
      if (close === null) return null;
      end = close.end - 1;
    } else if (char === "(") depth++;
    else if (char === ")" && --depth === 0)
      return "*+?{".includes(pcre[end + 1] ?? "^") ? null : { text: "", end: end + 1 };
  }
  return null;
}

/** The beginnings of groups that look ahead or back. */
const AROUND = /^\(\?(?:[=!]|<[=!])/;

/** Whether an expression has such a group. */
export function looksAround(pcre: string): boolean {
  return /\(\?(?:[=!]|<[=!])/.test(pcre);
}

function groupAt(pcre: string, at: number): Piece | null {
  const next = pcre[at + 1];
  if (next === "*") return null;
  if (next !== "?") return { text: "(", end: at + 1 };
  for (const start of ["(?:", "(?i)", "(?i:", "(?P<"])
    if (pcre.startsWith(start, at)) return { text: start, end: at + start.length };
  // A name, and no look behind.
  const isName = pcre.startsWith("(?<", at) && /[A-Za-z_]/.test(pcre[at + 3] ?? "");
  return isName ? { text: "(?P<", end: at + 3 } : null;
}

/** Letters that mean the same in both, behind a backslash. */
const SAME_ESCAPES = "dDwWtnrfazb";

function escapeAt(pcre: string, at: number, isInClass: boolean): Piece | null {
  const char = pcre[at + 1];
  if (char === undefined) return null;
  const end = at + 2;
  if (char === "s") return { text: isInClass ? "\\s\\x0b" : "[\\s\\x0b]", end };
  if (char === "S") return isInClass ? null : { text: "[^\\s\\x0b]", end };
  if (char === "A" && !isInClass) return { text: "\\A", end };
  if (char === "B" && !isInClass) return { text: "\\B", end };
  if (isInClass && (char === "b" || char === "z")) return null;
  if (char === "x")
    return /^[\da-fA-F]{2}$/.test(pcre.slice(end, end + 2)) ? { text: pcre.slice(at, end + 2), end: end + 2 } : null;
  if (/[A-Za-z0-9]/.test(char)) return SAME_ESCAPES.includes(char) ? { text: `\\${char}`, end } : null;
  // RE2 has no escapes for what is beyond ASCII, nor for spaces.
  return { text: /[!-/:-@[-`{-~]/.test(char) ? `\\${char}` : char, end };
}

/** `[…]`, with the closing bracket as a member where it comes first. */
function classAt(pcre: string, at: number): Piece | null {
  let out = "[";
  let end = at + 1;
  if (pcre[end] === "^") {
    out += "^";
    end++;
  }
  for (let isFirst = true; ; isFirst = false) {
    const char = pcre[end];
    if (char === undefined) return null;
    if (char === "]" && !isFirst) return { text: `${out}]`, end: end + 1 };
    if (char === "\\") {
      const piece = escapeAt(pcre, end, true);
      if (piece === null) return null;
      out += piece.text;
      end = piece.end;
    } else if (char === "[" && pcre[end + 1] === ":") {
      const close = pcre.indexOf(":]", end + 2);
      if (close < 0 || !NAMED_CLASSES.has(pcre.slice(end + 2, close))) return null;
      out += pcre.slice(end, close + 2);
      end = close + 2;
    } else {
      out += char === "[" || char === "]" ? `\\${char}` : char;
      end++;
    }
  }
}

const NAMED_CLASSES: ReadonlySet<string> = new Set(
  "alpha digit alnum upper lower space blank punct print graph cntrl xdigit word".split(" "),
);

/** Whether an expression of RE2 may take the empty text: a field that is not there has it in other gateways. */
export function takesNothing(regex: string): boolean {
  return emptiness(regex, 0, 0).isEmpty;
}

/** Reads alternatives up to the end of a group, or of the text. */
function emptiness(regex: string, from: number, depth: number): { readonly isEmpty: boolean; readonly end: number } {
  let at = from;
  let isAnyEmpty = false;
  let isEmpty = true;
  if (depth > MAX_GROUPS) return { isEmpty: true, end: regex.length };
  while (at < regex.length && regex[at] !== ")") {
    const char = regex[at]!;
    let takesText = true;
    if ("*+?{".includes(char)) {
      const close = char === "{" ? regex.indexOf("}", at) : at;
      at = close < 0 ? regex.length : close + 1;
      continue;
    }
    if (char === "|") {
      isAnyEmpty ||= isEmpty;
      isEmpty = true;
      at++;
      continue;
    }
    if (char === "(") {
      const start = regex[at + 1] === "?" ? regex.slice(at, at + 200).search(/[:)>]/) + 1 : 1;
      if (regex[at + start - 1] === ")") {
        at += start;
        continue;
      }
      const inner = emptiness(regex, at + Math.max(1, start), depth + 1);
      takesText = !inner.isEmpty;
      at = inner.end + 1;
    } else if (char === "[") {
      at = classAt(regex, at)?.end ?? regex.length;
    } else if (char === "\\") {
      takesText = !/[bBAz]/.test(regex[at + 1] ?? "");
      at += 2;
    } else {
      takesText = char !== "^" && char !== "$";
      at++;
    }
    // What may be left out takes nothing for certain.
    if (takesText && !"*?{".includes(regex[at] ?? "^")) isEmpty = false;
  }
  return { isEmpty: isEmpty || isAnyEmpty, end: at };
}

const MAX_GROUPS = 100;
