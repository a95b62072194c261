/** Values of a text and where the entries of its lists stand. */
export interface PlainYaml {
  readonly value: unknown;
  /** Line and column, from 1, of each entry of the list at the top, or of those right below a top key. */
  readonly entries: ReadonlyMap<string, readonly YamlPlace[]>;
}

/** A place in the text; both count from 1. */
export interface YamlPlace {
  readonly line: number;
  readonly col: number;
}

/** Placeholder for a value whose variable or anchor is missing: the fault is noted already, so every check lets it pass. */
export const UNREADABLE: unique symbol = Symbol("unreadable");

/** The key of `entries` for a list that is the whole text. */
export const TOP = "";

/**
 * Reads the plain part of YAML that programs write large files in: block maps and lists, one key or entry a line, values
 * of one word, in quotes, or in brackets on their line. That takes a twentieth of the time and memory of the whole language. With the library alone, a
 * start takes 0.85 s of processor time in place of 0.40 s with 1,000 routes, and 6.6 s in place of 2.7 s with 10,000 routes
 * of 10 targets, where the process grows to 728 MiB in place of 303 MiB (tests/bench/many-routes.md). `Bun.YAML` is as fast
 * as this reader, but tells no places and passes over duplicate keys in silence.
 * @returns null for a text with anything else in it: that is for the library. What both
 *   read, they read alike; tests/property holds them to it.
 */
export function readPlainYaml(text: string): PlainYaml | null {
  // A document's end marker ends the file: anything after it would be another one.
  const end = /\n\.\.\.[ \n]*$/.exec(text)?.index ?? text.length;
  const reader = new PlainReader();
  let line = 1;
  for (let from = 0; from < end; line++) {
    const newline = text.indexOf("\n", from);
    const to = newline < 0 ? end : newline;
    if (!reader.take(text.slice(from, to), line)) return null;
    from = to + 1;
  }
  return reader.result();
}

type PlainMap = Record<string, unknown>;

/** A map or a list that is being read, with the column that its keys or dashes stand in. */
interface Frame {
  readonly indent: number;
  readonly map: PlainMap | null;
  readonly list: unknown[] | null;
  /** The key whose value may follow on the lines below; "" if none may. */
  openKey: string;
}

class PlainReader {
  private readonly stack: Frame[] = [];
  private root: unknown = null;
  private readonly entries: Map<string, YamlPlace[]> = new Map();
  private values = 0;

  result(): PlainYaml {
    return { value: this.root, entries: this.entries };
  }

  /** @returns false if the line is not plain */
  take(line: string, lineNumber: number): boolean {
    if (COMMENT.test(line)) return true;
    if (line.length > MAX_LINE || line.includes("${")) return false;
    const bare = withoutNote(line);
    const parts = (isBracketEnd(bare) ? BRACKETS.exec(bare) : null) ?? LINE.exec(bare);
    if (parts === null) return false;
    const [, spaces = "", dash, quoted, word, rest = ""] = parts;
    const key = quoted ?? word;
    const dashAt = spaces.length;
    const at = dashAt + (dash?.length ?? 0);
    if (++this.values > MAX_VALUES || this.stack.length > MAX_DEPTH) return false;
    if (dash !== undefined) {
      const list = this.listAt(dashAt);
      if (list === null) return false;
      this.noteEntry(lineNumber, at + 1);
      if (key === undefined) return this.addScalar(list, rest);
      const map: PlainMap = {};
      list.push(map);
      this.stack.push({ indent: at, map, list: null, openKey: "" });
    }
    return key !== undefined && this.setKey(at, key, rest);
  }

  private addScalar(list: unknown[], text: string): boolean {
    const value = this.valueOf(text);
    list.push(value);
    return value !== undefined && text !== "";
  }

  private setKey(at: number, key: string, rest: string): boolean {
    const frame = this.mapAt(at);
    if (frame === null || Object.hasOwn(frame.map!, key) || RESERVED.has(key)) return false;
    const value = this.valueOf(rest);
    if (value === undefined) return false;
    frame.map![key] = value;
    frame.openKey = rest === "" ? key : "";
    return true;
  }

  /** @returns undefined if that is not plain */
  private valueOf(text: string): unknown {
    const first = text.charCodeAt(0);
    if (first !== BRACKET && first !== BRACE) return scalar(text);
    const brackets = new BracketReader(text);
    const value = brackets.whole();
    this.values += brackets.values;
    return value;
  }

  /** The list whose dashes stand in this column, opened where a key waits for it. */
  private listAt(indent: number): unknown[] | null {
    this.closeBeyond(indent);
    const top = this.stack.at(-1);
    if (top?.list != null && top.indent === indent) return top.list;
    const list: unknown[] = [];
    const isNew = top === undefined ? this.begin(indent, list) : fill(top, list);
    if (!isNew) return null;
    this.stack.push({ indent, map: null, list, openKey: "" });
    return list;
  }

  /** The map whose keys stand in this column, opened where a key waits for it. */
  private mapAt(indent: number): Frame | null {
    this.closeBeyond(indent);
    // A list may stand in the column of the key that it belongs to; the next key ends it.
    if (this.stack.at(-1)?.list != null && this.stack.at(-1)!.indent === indent) this.stack.pop();
    const top = this.stack.at(-1);
    if (top?.map != null && top.indent === indent) return top;
    const map: PlainMap = {};
    const isNew = top === undefined ? this.begin(indent, map) : top.indent < indent && fill(top, map);
    if (!isNew) return null;
    const frame = { indent, map, list: null, openKey: "" };
    this.stack.push(frame);
    return frame;
  }

  private closeBeyond(indent: number): void {
    while (this.stack.length > 0 && this.stack.at(-1)!.indent > indent) this.stack.pop();
  }

  /** The first line says what the text is. */
  private begin(indent: number, root: unknown): boolean {
    if (this.root !== null || indent !== 0) return false;
    this.root = root;
    return true;
  }

  private noteEntry(line: number, col: number): void {
    const depth = this.stack.length;
    const name = depth === 1 ? TOP : depth === 2 && this.stack[0]!.map !== null ? lastKey(this.stack[0]!.map) : null;
    if (name === null) return;
    const places = this.entries.get(name);
    if (places === undefined) this.entries.set(name, [{ line, col }]);
    else places.push({ line, col });
  }
}

/** Reads a list or a map in brackets. */
class BracketReader {
  /** Values so far. */
  values = 0;
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** @returns undefined if it is not plain, or something follows */
  whole(): unknown {
    const value = this.value(0);
    return this.at === this.text.length ? value : undefined;
  }

  private value(depth: number): unknown {
    this.values++;
    if (depth > MAX_DEPTH) return undefined;
    if (this.skips("[")) return this.list(depth);
    if (this.skips("{")) return this.map(depth);
    const text = this.found(BRACKET_WORD);
    return text === null ? undefined : scalar(text[0]);
  }

  private list(depth: number): unknown[] | undefined {
    const list: unknown[] = [];
    if (this.skips("]")) return list;
    do {
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      list.push(value);
    } while (this.skips(","));
    return this.skips("]") ? list : undefined;
  }

  private map(depth: number): PlainMap | undefined {
    const map: PlainMap = {};
    if (this.skips("}")) return map;
    do {
      const [, quoted, word] = this.found(BRACKET_KEY) ?? [];
      const key = quoted ?? word;
      if (key === undefined || Object.hasOwn(map, key) || RESERVED.has(key)) return undefined;
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      map[key] = value;
    } while (this.skips(","));
    return this.skips("}") ? map : undefined;
  }

  /** Passes over a mark and the spaces around it, if it is there. */
  private skips(mark: string): boolean {
    let { at } = this;
    while (this.text[at] === " ") at++;
    if (this.text[at] !== mark) return false;
    do at++;
    while (this.text[at] === " ");
    this.at = at;
    return true;
  }

  private found(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }
}

function isBracketEnd(line: string): boolean {
  const last = line.trimEnd().at(-1);
  return last === "]" || last === "}";
}

/** The line without a comment behind its value; as it stands if quotes come before one. */
function withoutNote(line: string): string {
  const at = line.indexOf(" #");
  if (at < 0 || !COMMENT.test(line.slice(at))) return line;
  const value = line.slice(0, at);
  return /["']/.test(value) ? line : value.trimEnd();
}

/** Puts a map or a list where a key waits for its value. */
function fill(frame: Frame, value: unknown): boolean {
  if (frame.openKey === "") return false;
  frame.map![frame.openKey] = value;
  frame.openKey = "";
  return true;
}

function lastKey(map: PlainMap): string {
  return Object.keys(map).at(-1)!;
}

/** The value of a word, as YAML 1.2 reads it; undefined if that is not plain. */
function scalar(text: string): unknown {
  if (text === "") return null;
  const first = text.charCodeAt(0);
  if (first === QUOTE || first === APOSTROPHE) return text.slice(1, -1);
  if (first >= ZERO && first <= NINE && !text.includes(" ")) {
    if (/^(?:0|[1-9]\d{0,14})$/.test(text)) return Number(text);
    return NUMBER_LIKE.test(text) ? undefined : text;
  }
  // A colon with a space after it begins a map.
  if (text.includes(": ")) return undefined;
  if (text === "true") return true;
  if (text === "false") return false;
  return KEYWORD.test(text) ? undefined : text;
}

/** Nothing but spaces, and a comment with any letters. */
const COMMENT = /^ *(?:#[^\0-\x1f\x7f\x85\u2028\u2029\ufeff]*)?$/;
/** Indentation, at most one dash, and a key (in quotes or a word) with or without a value, or a value alone. */
const LINE =
  /^( *)(- +)?(?:(?:"([A-Za-z0-9][\w -]*)"|([A-Za-z_][\w-]*)):(?: +(?="|'|[A-Za-z0-9/]|\.{1,2}\/)|$)|(?=[A-Za-z0-9/"']|\.{1,2}\/))("[ !#-[\]-~]*"|'[ -&(-~]*'|(?:[A-Za-z0-9/]|\.{1,2}\/)(?:[\w./:+@=~,;*()[\]|$^?!\\ -]*[\w./+@=~,;*()[\]|$^?!\\-])?|) *$/;
/** The same with a list or a map in brackets. */
const BRACKETS = /^( *)(- +)?(?:(?:"([A-Za-z0-9][\w -]*)"|([A-Za-z_][\w-]*)): +)?((?:\[[ -~]*\]|\{[ -~]*\})) *$/;
/** A value in brackets: a word without spaces, or in quotes. A colon within a word has a letter behind it. */
const BRACKET_WORD =
  /"[ !#-[\]-~]*"|'[ -&(-~]*'|(?:[A-Za-z0-9/]|\.{1,2}\/)[\w./+=~*()|$^?!\\@-]*(?::[\w./+=~*()|$^?!\\@-]+)*(?= *[,\]}])/y;
const BRACKET_KEY = /(?:"([A-Za-z0-9][\w -]*)"|([A-Za-z_][\w-]*)): +/y;
/** Octal, hexadecimal and floating-point numbers, and integers that lead with 0 or are too long. */
const NUMBER_LIKE = /^(?:0[xo].*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)$/;
/** Other spellings of the values that are no text. */
const KEYWORD = /^(?:null|true|false)$/i;
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
const QUOTE = 0x22;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const APOSTROPHE = 0x27;
const ZERO = 0x30;
const NINE = 0x39;
const MAX_LINE = 1000;
const MAX_DEPTH = 16;
/** The library's own bound is for the fault that it reports; see MAX_NODES in yaml-source. */
const MAX_VALUES = 400_000;
