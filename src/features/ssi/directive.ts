/** A directive of a page: `<!--#name key="value" -->`. */
export interface PageDirective {
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
}

/** Values of one directive. */
const MAX_VALUES = 8;

/** Reads the text between `<!--#` and `-->`, one character a byte. @returns null if it is no directive */
export function readDirective(text: string): PageDirective | null {
  let at = wordEnd(text, 0);
  const name = text.slice(0, at);
  const values = new Map<string, string>();
  if (name === "") return null;
  for (;;) {
    const from = spaceEnd(text, at);
    if (from === text.length) return { name, values };
    const to = wordEnd(text, from);
    if (from === at || to === from || values.size === MAX_VALUES) return null;
    const equals = spaceEnd(text, to);
    const open = spaceEnd(text, equals + 1);
    const quote = text[open];
    if (text[equals] !== "=" || (quote !== '"' && quote !== "'")) return null;
    const close = text.indexOf(quote, open + 1);
    const key = text.slice(from, to);
    // Two would be two readings.
    if (close < 0 || values.has(key)) return null;
    values.set(key, text.slice(open + 1, close));
    at = close + 1;
  }
}

function wordEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at]! >= "a" && text[at]! <= "z") at++;
  return at;
}

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= SPACE) at++;
  return at;
}

const SPACE = 0x20;

/** Puts the values of `$name` and `${name}` into a text; `\$` is a dollar. @param lookUp gives "" for an unknown name */
export function withVariables(text: string, lookUp: (name: string) => string): string {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const dollar = text.indexOf("$", at);
    if (dollar < 0) return out + text.slice(at);
    if (text[dollar - 1] === "\\" && dollar > at) {
      out += `${text.slice(at, dollar - 1)}$`;
      at = dollar + 1;
      continue;
    }
    const isBraced = text[dollar + 1] === "{";
    const from = dollar + (isBraced ? 2 : 1);
    let to = from;
    while (to < text.length && isNameCharacter(text.charCodeAt(to))) to++;
    out += text.slice(at, dollar) + (to > from ? lookUp(text.slice(from, to)) : "$");
    at = to > from ? to + (isBraced && text[to] === "}" ? 1 : 0) : dollar + 1;
  }
  return out;
}

function isNameCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || (code >= 0x61 && code <= 0x7a)
  );
}

/** Judges `$a`, `$a = text` and `$a != text`; null for any other expression. */
export function isTrue(expression: string, lookUp: (name: string) => string): boolean | null {
  const text = expression.trim();
  const equals = text.indexOf("=");
  if (equals < 0) return withVariables(text, lookUp) !== "";
  const isNot = text[equals - 1] === "!";
  const left = withVariables(text.slice(0, isNot ? equals - 1 : equals).trim(), lookUp);
  const right = text.slice(equals + 1).trim();
  if (right.startsWith("/") && right.length > 1 && right.endsWith("/")) return null;
  const isQuoted = right.length > 1 && right.startsWith("'") && right.endsWith("'");
  const value = withVariables(isQuoted ? right.slice(1, -1) : right, lookUp);
  return (left === value) !== isNot;
}
