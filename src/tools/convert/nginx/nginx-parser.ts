import { ConvertFault, MAX_DEPTH, MAX_STATEMENTS, Statement } from "../statement.ts";

/** Gives the files that an include means, with their texts; null if it names one that is not there. */
type IncludeReader = (pattern: string, from: string) => readonly { file: string; text: string }[] | null;

/** A word or a sign of the file. `isQuoted` words are never signs. */
interface Token {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly line: number;
}

/** What is being read: how many directives there are, and the includes that could not be read. */
interface Reading {
  count: number;
  readonly include: IncludeReader;
  readonly missing: Statement[];
}

/** A file of nginx, with its includes in their places. */
export interface NginxFile {
  readonly statements: Statement[];
  /** Includes that name a file which is not there. */
  readonly missing: readonly Statement[];
}

/**
 * Reads a configuration of nginx: words, quotes, escapes, comments, blocks, blocks of Lua, and includes in the place where they are.
 * docs/migrate-nginx.md
 * @throws ConvertFault where nginx would refuse it as well
 */
export function parseNginx(file: string, text: string, include: IncludeReader): NginxFile {
  const reading: Reading = { count: 0, include, missing: [] };
  const statements = parseFile(file, text, null, reading, 0);
  return { statements, missing: reading.missing };
}

function parseFile(file: string, text: string, parent: Statement | null, reading: Reading, depth: number): Statement[] {
  const tokens = new Tokens(file, text);
  const statements = parseBlock(tokens, parent, reading, depth);
  const end = tokens.next();
  if (end !== null) throw new ConvertFault({ file, line: end.line }, 'unexpected "}"');
  return statements;
}

/** Reads until a closing brace, which stays, or the end. */
function parseBlock(tokens: Tokens, parent: Statement | null, reading: Reading, depth: number): Statement[] {
  const { file } = tokens;
  const statements: Statement[] = [];
  for (;;) {
    const first = tokens.next();
    if (first === null) return statements;
    if (isSign(first, "}")) {
      tokens.back(first);
      return statements;
    }
    if (isSign(first, ";") || isSign(first, "{"))
      throw new ConvertFault({ file, line: first.line }, `unexpected "${first.text}"`);
    if (depth > MAX_DEPTH)
      throw new ConvertFault({ file, line: first.line }, "blocks and includes are nested too deep");
    if (++reading.count > MAX_STATEMENTS) throw new ConvertFault({ file, line: first.line }, "too many directives");
    statements.push(...parseStatement(tokens, first, parent, { reading, depth }));
  }
}

function parseStatement(
  tokens: Tokens,
  first: Token,
  parent: Statement | null,
  { reading, depth }: { readonly reading: Reading; readonly depth: number },
): Statement[] {
  const { file } = tokens;
  const place = { file, line: first.line };
  const words = [first.text];
  for (;;) {
    const token = tokens.next();
    if (token === null || isSign(token, "}"))
      throw new ConvertFault(place, `"${first.text}" is not ended by ";" or a block`);
    if (isSign(token, ";")) return ended(new Statement(place, words, parent, false), reading, depth);
    if (isSign(token, "{")) break;
    words.push(token.text);
  }
  if (first.text.endsWith("_by_lua_block")) {
    words.push(tokens.skipLua());
    return [new Statement(place, words, parent, false)];
  }
  const statement = new Statement(place, words, parent, true);
  statement.block!.push(...parseBlock(tokens, statement, reading, depth + 1));
  if (tokens.next() === null) throw new ConvertFault(place, `the block of "${first.text}" is not closed`);
  return [statement];
}

/** A directive without a block; of an include, what it includes. */
function ended(statement: Statement, reading: Reading, depth: number): Statement[] {
  const [pattern] = statement.args;
  if (statement.name !== "include" || pattern === undefined) return [statement];
  const files = reading.include(pattern, statement.file);
  if (files === null) {
    reading.missing.push(statement);
    return [statement];
  }
  const own = files.flatMap(({ file, text }) => parseFile(file, text, statement.parent, reading, depth + 1));
  return [statement, ...own];
}

function isSign(token: Token, sign: string): boolean {
  return !token.isQuoted && token.text === sign;
}

/** Cuts a file into words and the signs `{`, `}` and `;`, as nginx does. */
class Tokens {
  readonly file: string;
  private readonly text: string;
  private at = 0;
  private line = 1;
  private pushed: Token | null = null;
  /** Ends of long texts of Lua that are not in the rest of the file. */
  private readonly absent: Set<string> = new Set();

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text.replace(/^\uFEFF/, "");
  }

  back(token: Token): void {
    this.pushed = token;
  }

  next(): Token | null {
    const { pushed } = this;
    this.pushed = null;
    if (pushed !== null) return pushed;
    this.skipSpace();
    const char = this.text[this.at];
    if (char === undefined) return null;
    const { line } = this;
    if (char === "{" || char === "}" || char === ";") {
      this.at++;
      return { text: char, isQuoted: false, line };
    }
    if (char === '"' || char === "'") return { text: this.quoted(char), isQuoted: true, line };
    return { text: this.word(), isQuoted: false, line };
  }

  /** The text of a block of Lua up to its closing brace: braces in strings and comments do not count. */
  skipLua(): string {
    const from = this.at;
    const start = this.line;
    for (let open = 1; open > 0; ) {
      const piece = this.luaPiece();
      if (piece === undefined) throw new ConvertFault({ file: this.file, line: start }, "a block of Lua is not closed");
      this.advance(piece.length);
      if (piece === "{") open++;
      else if (piece === "}") open--;
    }
    return this.text.slice(from, this.at - 1);
  }

  /** The next string, comment, brace or other text of Lua; undefined if a string is not closed. */
  private luaPiece(): string | undefined {
    LUA_OPENING.lastIndex = this.at;
    const opening = LUA_OPENING.exec(this.text);
    if (opening !== null) {
      const close = `]${opening[1] ?? ""}]`;
      const from = this.at + opening[0].length;
      // What is not found once is not there later: it is searched for once.
      const end = this.absent.has(close) ? -1 : this.text.indexOf(close, from);
      if (end >= 0) return this.text.slice(this.at, end + close.length);
      this.absent.add(close);
    }
    LUA_PIECE.lastIndex = this.at;
    return LUA_PIECE.exec(this.text)?.[0];
  }

  private skipSpace(): void {
    for (;;) {
      SPACE.lastIndex = this.at;
      const length = SPACE.exec(this.text)![0].length;
      if (length === 0) return;
      this.advance(length);
    }
  }

  private quoted(quote: string): string {
    const start = this.line;
    let out = "";
    for (this.at++; ; ) {
      const char = this.text[this.at];
      if (char === undefined) throw new ConvertFault({ file: this.file, line: start }, `a ${quote} is not closed`);
      this.advance(1);
      if (char === quote) return out;
      out += char === "\\" ? this.escape() : char;
    }
  }

  private word(): string {
    let out = "";
    for (;;) {
      const char = this.text[this.at];
      if (char === undefined || /[\s;]/.test(char)) return out;
      // `${name}` is a part of the word, as nginx has it.
      if (char === "{") {
        if (!out.endsWith("$")) return out;
        const end = this.text.indexOf("}", this.at);
        if (end < 0) return out;
        out += this.text.slice(this.at, end + 1);
        this.advance(end + 1 - this.at);
        continue;
      }
      this.advance(1);
      out += char === "\\" ? this.escape() : char;
    }
  }

  /** What a backslash and the character after it mean: quotes and itself lose it, all others keep it for expressions. */
  private escape(): string {
    const char = this.text[this.at];
    if (char === undefined) return "\\";
    this.advance(1);
    if (char === '"' || char === "'" || char === "\\") return char;
    const control = CONTROLS.get(char);
    return control ?? `\\${char}`;
  }

  private advance(length: number): void {
    for (let i = this.at; i < this.at + length; i++) if (this.text.charCodeAt(i) === 10) this.line++;
    this.at += length;
  }
}

const SPACE = /(?:\s+|#[^\n]*)?/y;
/** A long comment or text. */
const LUA_OPENING = /(?:--)?\[(=*)\[/y;
const LUA_PIECE = /--[^\n]*|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|[{}]|[^{}"'[-]+|[[-]/y;
const CONTROLS: ReadonlyMap<string, string> = new Map([
  ["t", "\t"],
  ["r", "\r"],
  ["n", "\n"],
]);
