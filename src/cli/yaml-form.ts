import { type CST, LineCounter, Parser } from "yaml";
import { trimmedEnd } from "../core/trimming.ts";

/** Blanks of one level. */
const STEP = 2;

type Block = CST.BlockMap | CST.BlockSequence;

/**
 * A text of YAML in one form: two blanks for each level, lists below their key, one blank behind `:` and `-`, one empty line at a stretch, none at
 * the ends of lines. Comments stay, at the level of what they are about; texts of several lines keep their shape.
 * @param text one document without errors
 */
export function inOneForm(text: string): string {
  return new YamlForm(text).result();
}

class YamlForm {
  private readonly lines: readonly string[];
  private readonly counter = new LineCounter();
  /** Of lines that begin a key or an entry: their first column, which was and which will be. */
  private readonly begins: Map<number, { readonly was: number; readonly is: number }> = new Map();
  /** Of lines that go on with a value: by how much they move. */
  private readonly goesOn: Map<number, number> = new Map();
  /** Blanks behind `:` and `-` that are one, by line: offsets in it. */
  private readonly gaps: Map<number, [from: number, to: number][]> = new Map();

  constructor(private readonly text: string) {
    this.lines = text.split("\n");
    for (const token of new Parser(this.counter.addNewLine).parse(text))
      if (token.type === "document" && token.value !== undefined) this.readValue(token.value, 0, 0);
  }

  result(): string {
    const out: string[] = [];
    for (let n = 0; n < this.lines.length; n++) {
      const line = this.lineOf(n);
      if (line === "" && !this.goesOn.has(n) && (out.length === 0 || out.at(-1) === "")) continue;
      out.push(line);
    }
    while (out.at(-1) === "") out.pop();
    return `${out.join("\n")}\n`;
  }

  /** @param column of a block @param shift by how much the lines of another value move */
  private readValue(token: CST.Token, column: number, shift: number): void {
    if (token.type === "block-map" || token.type === "block-seq") this.readBlock(token, column);
    else {
      const [from, to] = [this.lineAt(token.offset), this.lineAt(endOf(token))];
      for (let n = from + 1; n <= to; n++) this.goesOn.set(n, shift);
    }
  }

  private readBlock(block: Block, column: number): void {
    const shift = column - block.indent;
    for (const { start, key, sep, value } of block.items) {
      const mark = start.find(
        ({ type }) => type === "seq-item-ind" || type === "explicit-key-ind" || type === "anchor",
      );
      const first = mark ?? key;
      if (first != null) this.begin(first.offset, column);
      this.narrow(start, value ?? key);
      if (key != null && value !== undefined) this.readValue(key, column, shift);
      if (sep !== undefined) this.narrow(sep, value);
      const child = value ?? (sep === undefined ? key : undefined);
      if (child != null) this.readValue(child, column + STEP, shift);
    }
  }

  private begin(offset: number, column: number): void {
    const { line, col } = this.counter.linePos(offset);
    const was = this.lines[line - 1]!.search(/\S/);
    if (was === col - 1) this.begins.set(line - 1, { was, is: column });
  }

  /** Notes the blanks between a mark and what follows it on its line. */
  private narrow(tokens: readonly CST.SourceToken[], next: CST.Token | null | undefined): void {
    tokens.forEach(({ type, offset, source }, i) => {
      const mark = tokens[i - 1]?.type;
      if (type !== "space" || source.length < 2 || (mark !== "map-value-ind" && mark !== "seq-item-ind")) return;
      const follows = tokens[i + 1] ?? next;
      if (follows == null || follows.type === "comment" || follows.type === "newline") return;
      const { line, col } = this.counter.linePos(offset);
      this.gaps.set(line - 1, [...(this.gaps.get(line - 1) ?? []), [col - 1, col - 1 + source.length]]);
    });
  }

  private lineAt(offset: number): number {
    return this.counter.linePos(Math.min(offset, this.text.length)).line - 1;
  }

  private lineOf(n: number): string {
    const line = this.lines[n]!;
    const begin = this.begins.get(n);
    if (begin !== undefined) {
      const rest = this.narrowed(n).slice(begin.was);
      return " ".repeat(begin.is) + (this.goesOn.has(n + 1) ? rest : rest.trimEnd());
    }
    const shift = this.goesOn.get(n);
    const column = line.search(/\S/);
    if (shift !== undefined) return column < 0 ? line : " ".repeat(Math.max(0, column + shift)) + line.slice(column);
    if (column < 0) return "";
    return line[column] === "#" ? " ".repeat(this.commentColumn(n, column)) + line.trim() : line.trimEnd();
  }

  private narrowed(n: number): string {
    let line = this.lines[n]!;
    for (const [from, to] of (this.gaps.get(n) ?? []).toReversed()) line = `${line.slice(0, from)} ${line.slice(to)}`;
    return line;
  }

  /** A comment belongs to the next line of its column, else to the last one before it that is no deeper. */
  private commentColumn(n: number, column: number): number {
    for (let after = n + 1; after < this.lines.length; after++) {
      const next = this.begins.get(after);
      if (next?.was === column) return next.is;
      if (next !== undefined) break;
    }
    for (let before = n - 1; before >= 0; before--) {
      const last = this.begins.get(before);
      if (last !== undefined && last.was <= column) return column + last.is - last.was;
    }
    return column;
  }
}

/** The offset of the last character of a value. */
function endOf(token: CST.Token): number {
  if (token.type === "flow-collection")
    return token.end.find(({ source }) => /^[\]}]$/.test(source))?.offset ?? token.offset;
  if ("source" in token) return token.offset + Math.max(0, trimmedEnd(token.source, "\n").length - 1) + propsOf(token);
  return token.offset;
}

/** The header of a block scalar stands before its text. */
function propsOf(token: CST.Token): number {
  return token.type === "block-scalar"
    ? token.props.reduce((sum, prop) => sum + ("source" in prop ? prop.source.length : 0), 0)
    : 0;
}
