/** A word, or a brace. Words of quotes and heredocs are never braces. */
export interface Token {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly file: string;
  readonly line: number;
  /** Whether it is the first of its line. */
  readonly isFirst: boolean;
}

/** Cuts a Caddyfile into words, in time with its length. */
export function tokensOf(file: string, whole: string): Token[] {
  return new WordReader(file, withEnvironment(whole.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"))).read();
}

class WordReader {
  private readonly file: string;
  private readonly text: string;
  private readonly tokens: Token[] = [];
  private at = 0;
  private line = 1;
  /** The line that the last word ends on: words of one line stay together over a quoted text with line ends. */
  private lastLine = 0;
  /** Where lines begin with a word that may end a heredoc, by the word; null until one is searched for. */
  private ends: ReadonlyMap<string, readonly number[]> | null = null;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }

  read(): Token[] {
    while (this.at < this.text.length) {
      const char = this.text[this.at]!;
      if (char === "\\" && this.text[this.at + 1] === "\n") {
        // An escaped line end keeps words on one line.
        if (this.lastLine === this.line) this.lastLine++;
        this.move(2);
      } else if (/\s/.test(char)) this.move(1);
      else if (char === "#") this.move(this.lineEnd() - this.at);
      else this.word(char);
    }
    return this.tokens;
  }

  private word(char: string): void {
    const heredoc = char === "<" ? this.heredoc() : null;
    if (heredoc !== null) this.put(heredoc.text, true, heredoc.end);
    else if (char === '"') {
      const end = this.quoteEnd();
      this.put(this.text.slice(this.at + 1, end).replaceAll('\\"', '"'), true, end + 1);
    } else if (char === "`") {
      const found = this.text.indexOf("`", this.at + 1);
      const end = found < 0 ? this.text.length : found;
      this.put(this.text.slice(this.at + 1, end), true, end + 1);
    } else {
      let end = this.at;
      while (end < this.text.length && !/\s/.test(this.text[end]!)) {
        if (this.text[end] === "\\" && this.text[end + 1] === "\n") break;
        end += this.text[end] === "\\" && /\S/.test(this.text[end + 1] ?? " ") ? 2 : 1;
      }
      this.put(unescaped(this.text.slice(this.at, end)), false, end);
    }
  }

  private put(text: string, isQuoted: boolean, end: number): void {
    this.tokens.push({ text, isQuoted, file: this.file, line: this.line, isFirst: this.line !== this.lastLine });
    this.move(Math.min(end, this.text.length) - this.at);
    this.lastLine = this.line;
  }

  private move(count: number): void {
    const to = this.at + count;
    for (; this.at < to; this.at++) if (this.text[this.at] === "\n") this.line++;
  }

  private lineEnd(): number {
    const end = this.text.indexOf("\n", this.at);
    return end < 0 ? this.text.length : end;
  }

  /** Where the quoted text ends that begins here; one that is not closed ends with the file. */
  private quoteEnd(): number {
    for (let end = this.at + 1; end < this.text.length; end++) {
      if (this.text[end] === '"') return end;
      if (this.text[end] === "\\") end++;
    }
    return this.text.length;
  }

  /** `<<WORD`, and the lines up to one that begins with the word; null if there is none. */
  private heredoc(): { readonly text: string; readonly end: number } | null {
    // A word is no longer than this, so that a line is not read again for each sign in it.
    const mark = /^<<([\w-]+)\n/.exec(this.text.slice(this.at, this.at + MAX_MARK))?.[1];
    if (mark === undefined) return null;
    const lineEnd = this.at + 2 + mark.length;
    this.ends ??= lineStarts(this.text);
    const starts = this.ends.get(mark) ?? [];
    const start = starts[firstFrom(starts, lineEnd + 1)];
    if (start === undefined) return null;
    const end = this.text.indexOf(mark, start);
    return { text: dedented(this.text.slice(lineEnd + 1, end)), end: end + mark.length };
  }
}

const MAX_MARK = 256;

/** Where lines begin that begin with a word, by the word. */
function lineStarts(text: string): Map<string, number[]> {
  const starts = new Map<string, number[]>();
  let at = 0;
  for (const line of text.split("\n")) {
    const word = /^[ \t]*([\w-]+)/.exec(line)?.[1];
    const known = word === undefined ? undefined : starts.get(word);
    if (known !== undefined) known.push(at);
    else if (word !== undefined) starts.set(word, [at]);
    at += line.length + 1;
  }
  return starts;
}

/** The place of the first of ascending numbers that is not below another. */
function firstFrom(numbers: readonly number[], from: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

function unescaped(word: string): string {
  return word.replace(/\\(["#{}])/g, "$1");
}

function dedented(text: string): string {
  const lines = text.split("\n");
  const indent = lines.pop() ?? "";
  return lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join("\n");
}

/** `{$NAME}` and `{$NAME:default}`, as Caddy puts them in before it reads a word. */
function withEnvironment(text: string): string {
  let out = "";
  let from = 0;
  for (let start = text.indexOf("{$"); start >= 0; start = text.indexOf("{$", from)) {
    const end = text.indexOf("}", start);
    if (end < 0) break;
    // The last one that begins before the brace has a name; what is before it is text.
    const begin = text.lastIndexOf("{$", end);
    const [, name, fallback] = /^([^}:\s]+)(?::([^}]*))?$/.exec(text.slice(begin + 2, end)) ?? [];
    out += text.slice(from, begin);
    out += name === undefined ? text.slice(begin, end + 1) : (process.env[name] ?? fallback ?? "");
    from = end + 1;
  }
  return out + text.slice(from);
}
