import { ConvertFault, MAX_DEPTH, MAX_STATEMENTS, Statement } from "../statement.ts";
import { type Token, tokensOf } from "./caddy-words.ts";

/** Gives the files that an import means; null if it names one that is not there. @param from the file with the import */
type ImportReader = (pattern: string, from: string) => readonly { file: string; text: string }[] | null;

/** What a Caddyfile holds. */
export interface Caddyfile {
  /** As the user named it. */
  readonly file: string;
  /** The block of global options, or null. */
  readonly options: Statement | null;
  /** The words of each are its addresses. */
  readonly sites: readonly Statement[];
  /** Imports, snippets and named routes, and what could not be read of them. */
  readonly others: readonly { readonly statement: Statement; readonly fault: string; readonly isLost?: boolean }[];
}

/** What is being read. */
interface Reading {
  readonly snippets: Map<string, { readonly tokens: readonly Token[]; readonly statement: Statement; isUsed: boolean }>;
  readonly read: ImportReader;
  readonly others: { statement: Statement; fault: string; isLost?: boolean }[];
  count: number;
  imports: number;
}

/**
 * Reads a Caddyfile: words, quotes, backquotes, heredocs, comments, variables of the environment, snippets and imports with
 * arguments, sites with and without braces. docs/migrate-caddy.md
 * @throws ConvertFault where Caddy would refuse it as well
 */
export function parseCaddyfile(file: string, text: string, read: ImportReader): Caddyfile {
  const reading: Reading = { snippets: new Map(), read, others: [], count: 0, imports: 0 };
  const tokens = tokensOf(file, text);
  const sites: Statement[] = [];
  let options: Statement | null = null;
  const cursor = new Cursor(tokens);
  if (isSign(cursor.peek(), "{")) {
    options = blockOf(cursor, ["{"], cursor.peek()!, reading);
  }
  topLevel(cursor, sites, reading, 0);
  for (const { statement, isUsed } of reading.snippets.values())
    if (!isUsed) reading.others.push({ statement, fault: "nothing imports it" });
  return { file, options, sites, others: reading.others };
}

function topLevel(cursor: Cursor, sites: Statement[], reading: Reading, depth: number): void {
  for (let token = cursor.peek(); token !== null; token = cursor.peek()) {
    if (isSign(token, "}")) throw new ConvertFault(token, 'unexpected "}"');
    if (depth > MAX_DEPTH) throw new ConvertFault(token, "imports are nested too deep");
    if (token.text === "import" && !token.isQuoted) {
      const imported = importOf(cursor, reading, null);
      topLevel(new Cursor(imported), sites, reading, depth + 1);
      continue;
    }
    const name = /^&?\(([^)]+)\)$/.exec(token.text)?.[1];
    if (name !== undefined && !token.isQuoted) {
      cursor.next();
      const statement = new Statement(token, [token.text], null, true);
      reading.snippets.set(name, { tokens: cursor.block(), statement, isUsed: false });
      continue;
    }
    sites.push(siteOf(cursor, reading));
  }
}

/** A site: its addresses up to a brace, or, without one, to the end of the line; then the rest of the file is the site. */
function siteOf(cursor: Cursor, reading: Reading): Statement {
  const first = cursor.peek()!;
  const addresses: string[] = [];
  for (;;) {
    const token = cursor.peek();
    if (token === null || isSign(token, "{")) break;
    if (token.isFirst && token !== first && !addresses.at(-1)!.endsWith(",")) break;
    addresses.push(cursor.next()!.text);
  }
  const words = addresses.flatMap((word) => word.split(",")).filter((word) => word !== "");
  if (isSign(cursor.peek(), "{")) return blockOf(cursor, words.length === 0 ? [""] : words, first, reading);
  const site = new Statement(first, words, null, true);
  fill(cursor, site, reading, 0);
  if (cursor.peek() !== null) throw new ConvertFault(cursor.peek()!, 'unexpected "}"');
  return site;
}

function blockOf(cursor: Cursor, words: readonly string[], at: Token, reading: Reading): Statement {
  const statement = new Statement(at, words, null, true);
  const open = cursor.next()!;
  fill(cursor, statement, reading, 0);
  if (cursor.next() === null) throw new ConvertFault(open, "a block is not closed");
  return statement;
}

/** Reads directives into a block until its closing brace, which stays, or the end. */
function fill(cursor: Cursor, into: Statement, reading: Reading, depth: number): void {
  for (let first = cursor.peek(); first !== null && !isSign(first, "}"); first = cursor.peek()) {
    if (depth > MAX_DEPTH) throw new ConvertFault(first, "blocks and imports are nested too deep");
    if (++reading.count > MAX_STATEMENTS) throw new ConvertFault(first, "too many directives");
    if (isSign(first, "{")) throw new ConvertFault(first, 'unexpected "{"');
    if (first.text === "import" && !first.isQuoted) {
      const imported = importOf(cursor, reading, into);
      fill(new Cursor(imported), into, reading, depth + 1);
      continue;
    }
    const words = cursor.line();
    const hasBlock = isSign(cursor.peek(), "{") && !cursor.peek()!.isFirst;
    const statement = new Statement(
      first,
      words.map(({ text }) => text),
      into,
      hasBlock,
    );
    into.block!.push(statement);
    if (!hasBlock) continue;
    const open = cursor.next()!;
    fill(cursor, statement, reading, depth + 1);
    if (cursor.next() === null) throw new ConvertFault(open, "a block is not closed");
  }
}

/** What an import is replaced by. */
function importOf(cursor: Cursor, reading: Reading, into: Statement | null): Token[] {
  const words = cursor.line();
  if (++reading.imports > MAX_IMPORTS) throw new ConvertFault(words[0]!, "too many imports");
  const hasBlock = isSign(cursor.peek(), "{") && !cursor.peek()!.isFirst;
  const block = hasBlock ? cursor.block() : [];
  const [, name, ...args] = words;
  const statement = new Statement(
    words[0]!,
    words.map(({ text }) => text),
    into,
    false,
  );
  if (into === null) reading.others.push({ statement, fault: "" });
  else into.block!.push(statement);
  const snippet = reading.snippets.get(name?.text ?? "");
  if (snippet !== undefined) {
    snippet.isUsed = true;
    noteUnused(block, snippet.tokens, statement, reading);
    return withArguments(withBlock(snippet.tokens, block), args);
  }
  const files = name === undefined ? null : reading.read(name.text, words[0]!.file);
  if (files === null) {
    // What it says may be what keeps clients out.
    const lost = { statement, fault: "the file is not there: its routes are closed", isLost: into === null };
    reading.others.push(lost);
    if (into !== null) into.block!.splice(-1, 1, lostImport(statement));
    return [];
  }
  const tokens = files.flatMap(({ file, text }) => tokensOf(file, text));
  noteUnused(block, tokens, statement, reading);
  return withArguments(withBlock(tokens, block), args);
}

/** An import of a file that is not there, as a directive: it has a block, unlike all others. */
function lostImport(one: Statement): Statement {
  return new Statement(one, [one.name, ...one.args], one.parent, true);
}

/** Whether an import is of a file that is not there. */
export function isLostImport({ name, block }: Statement): boolean {
  return name === "import" && block !== null;
}

/** Notes parts of an import's block that what is imported has no place for. */
function noteUnused(block: readonly Token[], tokens: readonly Token[], statement: Statement, reading: Reading): void {
  const places = tokens.filter(({ isQuoted }) => !isQuoted).map(({ text }) => text);
  if (block.length === 0 || places.includes("{block}")) return;
  const cursor = new Cursor(block);
  for (let token = cursor.peek(); token !== null; token = cursor.peek()) {
    cursor.line();
    if (isSign(cursor.peek(), "{") && !cursor.peek()!.isFirst) cursor.block();
    if (places.includes(`{blocks.${token.text}}`)) continue;
    reading.others.push({ statement, fault: `what it imports has no place for ${token.text} of its block` });
  }
}

/** Puts the block of an import in the place of `{block}`, and the parts of it that have a name in that of `{blocks.name}`. */
function withBlock(tokens: readonly Token[], block: readonly Token[]): Token[] {
  return tokens.flatMap((token) => {
    const name = token.isQuoted ? null : /^\{blocks?(?:\.([\w.-]+))?\}$/.exec(token.text);
    if (name === null) return [token];
    return name[1] === undefined ? [...block] : namedPart(block, name[1]);
  });
}

function namedPart(block: readonly Token[], name: string): Token[] {
  const cursor = new Cursor(block);
  for (let token = cursor.peek(); token !== null; token = cursor.peek()) {
    const words = cursor.line();
    if (!isSign(cursor.peek(), "{") || cursor.peek()!.isFirst) continue;
    const inner = cursor.block();
    if (words.length === 1 && words[0]!.text === name) return inner;
  }
  return [];
}

function withArguments(tokens: readonly Token[], args: readonly Token[]): Token[] {
  return tokens.flatMap((token) => {
    if (/^\{args\[\d*:\d*\]\}$/.test(token.text)) {
      const [from, to] = token.text.slice(6, -2).split(":");
      const chosen = args.slice(from === "" ? 0 : Number(from), to === "" ? undefined : Number(to));
      return chosen.map((one) => ({ ...one, isFirst: false }));
    }
    const text = token.text.replace(
      /\{args(?:\[(\d+)\]|\.(\d+))\}/g,
      (whole, a?: string, b?: string) => args[Number(a ?? b)]?.text ?? whole,
    );
    return [{ ...token, text }];
  });
}

function isSign(token: Token | null, sign: string): boolean {
  return token !== null && !token.isQuoted && token.text === sign;
}

class Cursor {
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  peek(): Token | null {
    return this.tokens[this.at] ?? null;
  }

  next(): Token | null {
    return this.tokens[this.at++] ?? null;
  }

  /** The words up to the end of the line, or to a brace that opens a block. */
  line(): Token[] {
    const words = [this.next()!];
    for (let token = this.peek(); token !== null && !token.isFirst; token = this.peek()) {
      if (isSign(token, "{") || isSign(token, "}")) break;
      words.push(token);
      this.at++;
    }
    return words;
  }

  /** The words between the braces that follow. */
  block(): Token[] {
    const open = this.next();
    if (!isSign(open, "{")) throw new ConvertFault(open ?? { file: this.tokens[0]!.file, line: 0 }, 'expected "{"');
    const from = this.at;
    for (let depth = 1; depth > 0; ) {
      const token = this.next();
      if (token === null) throw new ConvertFault(open!, "a block is not closed");
      if (isSign(token, "{")) depth++;
      else if (isSign(token, "}")) depth--;
    }
    return this.tokens.slice(from, this.at - 1);
  }
}

/** Some for each of 20,000 sites: snippets that import each other twice multiply. */
const MAX_IMPORTS = 100_000;
