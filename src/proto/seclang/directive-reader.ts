import { PlacedText, type RuleFault, SourceText } from "./placed-text.ts";

/** One directive of a file. */
export interface Directive {
  readonly name: PlacedText;
  /** Its arguments without the quotes around them. */
  readonly words: readonly PlacedText[];
  /** Behind the last of them. */
  readonly end: PlacedText;
}

/**
 * Takes a file apart into directives: a line each, which a backslash at its end goes on in the next one. Blank lines and lines that
 * begin with `#` are nothing, in the middle of a directive, too.
 * @param fault takes the fault
 */
export function readDirectives(file: string, text: string, fault: (fault: RuleFault) => void): Directive[] {
  const source = new SourceText(file, text);
  const directives: Directive[] = [];
  for (const whole of wholeLines(source, fault)) {
    const directive = directiveOf(whole, fault);
    if (directive !== null) directives.push(directive);
  }
  return directives;
}

function* wholeLines(source: SourceText, fault: (fault: RuleFault) => void): Generator<PlacedText> {
  const { text } = source;
  let joined = "";
  let offsets: number[] = [];
  for (let from = 0; from <= text.length; ) {
    const newline = text.indexOf("\n", from);
    const to = newline < 0 ? text.length : newline;
    const line = text.slice(from, to);
    const trimmed = line.trim();
    const first = from + line.length - line.trimStart().length;
    from = to + 1;
    if (trimmed === "" || trimmed[0] === "#") continue;
    const goesOn = trimmed.endsWith("\\");
    const part = goesOn ? trimmed.slice(0, -1) : trimmed;
    joined += part;
    for (let at = 0; at < part.length; at++) offsets.push(first + at);
    if (goesOn) continue;
    yield new PlacedText(source, joined, [...offsets, first + part.length]);
    joined = "";
    offsets = [];
  }
  if (joined.trim() === "") return;
  fault({
    ...source.placeOf(offsets[0]!),
    message: "the file ends within this directive: take the backslash off its last line",
  });
}

/** @returns null where something is wrong with its quotes */
function directiveOf(whole: PlacedText, fault: (fault: RuleFault) => void): Directive | null {
  const words: PlacedText[] = [];
  const { text } = whole;
  for (let at = 0; at < text.length; ) {
    if (text[at] === " " || text[at] === "\t") {
      at++;
      continue;
    }
    const quote = text[at]!;
    if (quote !== '"' && quote !== "'") {
      const blank = text.slice(at).search(/[ \t]/);
      const end = blank < 0 ? text.length : at + blank;
      words.push(whole.slice(at, end));
      at = end;
      continue;
    }
    const end = closingQuote(text, at);
    if (end < 0) {
      fault({ ...whole.placeOf(at), message: `this ${quote} is not closed: add one at the end of the argument` });
      return null;
    }
    words.push(whole.slice(at + 1, end).unescaped(quote));
    at = end + 1;
  }
  return { name: words[0]!, words: words.slice(1), end: whole.slice(text.length) };
}

/** The quote that closes the one at `from`, with an even number of backslashes in front of it; -1 for none. */
function closingQuote(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === text[from]) return at;
  }
  return -1;
}
