import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, Scalar } from "yaml";
import { type ConfigFault, type ConfigPosition, formatKeyPath, type KeyPath, quote } from "./config-fault.ts";
import { type PlainYaml, readPlainYaml, TOP, UNREADABLE, type YamlPlace } from "./plain-yaml.ts";
import { NO_SECRET_FILES, type SecretReader } from "./secret-file.ts";
import { type Environment, expandVariables, hideValues } from "./variable-expansion.ts";
import { looseYaml } from "./yaml-document.ts";
import { explainSyntaxError } from "./yaml-syntax.ts";

/** One configuration file as plain values, with the way back from a value to its place in the text. */
export interface YamlSource {
  readonly file: string;
  /** Maps as plain objects, lists as arrays; `null` for an empty file. Variables are expanded. */
  readonly value: unknown;
  /** False when the text is no YAML: then `value` is `null` and must not be judged. */
  readonly readable: boolean;
  readonly faults: readonly ConfigFault[];
  /** What works and is hardly meant, such as a secret that others can read. */
  readonly warnings: readonly ConfigFault[];
  /** A message with the values of variables replaced by their names, since variables hold secrets. */
  hide(message: string): string;
  /** Place of the value at a path, or of its key; of the nearest enclosing value when nothing is there. */
  position(path: KeyPath, onKey: boolean): ConfigPosition;
  /** Place of a character within the text at a path. */
  within(path: KeyPath, offset: number): ConfigPosition;
}

/**
 * Reads YAML text into plain values: expands `${NAME}` and `${file:NAME}` in values, resolves anchors and `<<` merges, and collects every
 * fault with its place. Duplicate keys, several documents, keys that are no plain words and alias bombs are faults.
 * `file` is only a name for messages. docs/configuration.md#values
 * @param isPlainFirst whether to try the short way first, as for one of many files
 */
export function readYaml(
  file: string,
  text: string,
  environment: Environment,
  secrets: SecretReader = NO_SECRET_FILES,
  isPlainFirst: boolean = text.length >= PLAIN_FROM,
): YamlSource {
  const plain = isPlainFirst ? readPlainYaml(text) : null;
  if (plain !== null) return new PlainSource(file, text, plain);
  return readWhole(file, text, environment, secrets);
}

function readWhole(
  file: string,
  text: string,
  environment: Environment,
  secrets: SecretReader = NO_SECRET_FILES,
): YamlSource {
  const reader = new YamlReader(file, environment, secrets);
  reader.read(text);
  return reader;
}

/** A large file that was read the short way: all that is ever asked of most is where their routes stand. */
class PlainSource implements YamlSource {
  readonly value: unknown;
  readonly readable = true;
  readonly faults: readonly ConfigFault[] = [];
  readonly warnings: readonly ConfigFault[] = [];
  private whole: YamlSource | null = null;
  private lines: string[] | null = null;
  /** The entry that was asked for last, read by the library: faults come entry by entry. */
  private entry: { readonly place: YamlPlace; readonly source: YamlSource } | null = null;

  constructor(
    readonly file: string,
    private readonly text: string,
    private readonly plain: PlainYaml,
  ) {
    this.value = plain.value;
  }

  hide(message: string): string {
    return message;
  }

  position(path: KeyPath, onKey: boolean): ConfigPosition {
    const depth = typeof path[0] === "number" ? 1 : 2;
    const index = path[depth - 1];
    const name = depth === 1 ? TOP : path[0];
    const place =
      typeof index === "number" && typeof name === "string" ? this.plain.entries.get(name)?.[index] : undefined;
    if (place === undefined) {
      // No variables are in it, or it would not be plain.
      this.whole ??= readWhole(this.file, this.text, {});
      return this.whole.position(path, onKey);
    }
    if (path.length === depth) return { file: this.file, ...place };
    const { line, col } = this.entryAt(place).position([0, ...path.slice(depth)], onKey);
    return { file: this.file, line: line + place.line - 1, col };
  }

  within(path: KeyPath, offset: number): ConfigPosition {
    this.whole ??= readWhole(this.file, this.text, {});
    return this.whole.within(path, offset);
  }

  /** One entry as a list of its own: the lines from its dash to the next that is no deeper. */
  private entryAt(place: YamlPlace): YamlSource {
    if (this.entry?.place === place) return this.entry.source;
    this.lines ??= this.text.split("\n");
    const first = place.line - 1;
    const indent = indentOf(this.lines[first]!);
    let end = first + 1;
    for (; end < this.lines.length; end++) {
      const line = this.lines[end]!;
      if (indentOf(line) <= indent && !/^ *(#|$)/.test(line)) break;
    }
    const source = readWhole(this.file, this.lines.slice(first, end).join("\n"), {});
    this.entry = { place, source };
    return source;
  }
}

function indentOf(line: string): number {
  return /^ */.exec(line)![0].length;
}

class YamlReader implements YamlSource {
  value: unknown = null;
  readable = true;
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];
  private readonly lines = new LineCounter();
  private readonly places = new Map<string, { key: number; value: number }>();
  private readonly anchors = new Map<string, ParsedNode>();
  private readonly expanded = new Map<string, string>();
  private nodesLeft = MAX_NODES;
  private text = "";
  /** Above 0 while a `<<` is read: places that the map's own keys have set stay then. */
  private merging = 0;

  constructor(
    readonly file: string,
    private readonly environment: Environment,
    private readonly secrets: SecretReader,
  ) {}

  hide(message: string): string {
    return hideValues(message, this.expanded);
  }

  read(text: string): void {
    this.text = text;
    const document = looseYaml(text, this.lines);
    this.places.set("", { key: 0, value: document.contents?.range[0] ?? 0 });
    this.takeSyntaxErrors(document, text);
    if (!this.readable) return;
    try {
      if (document.contents !== null) this.value = this.convert(document.contents as ParsedNode, []);
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      this.value = null;
      this.readable = false;
      this.faultAt(error.offset, error.path, error.message);
    }
  }

  within(path: KeyPath, offset: number): ConfigPosition {
    const at = this.places.get(placeName(path))?.value ?? -1;
    const first = at < 0 ? "" : this.text[at]!;
    // A text over several lines is indented there.
    if (first === "" || first === "|" || first === ">") return this.position(path, false);
    return this.linePosition(at + offset + (first === '"' || first === "'" ? 1 : 0));
  }

  position(path: KeyPath, onKey: boolean): ConfigPosition {
    for (let length = path.length; length >= 0; length--) {
      const place = this.places.get(placeName(path.slice(0, length)));
      if (place !== undefined) return this.linePosition(onKey && length === path.length ? place.key : place.value);
    }
    return { file: this.file, line: 1, col: 1 };
  }

  private takeSyntaxErrors(document: Document, text: string): void {
    const errors = [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_FAULTS);
    for (const error of errors) {
      this.readable = false;
      const isDeeperLine = errors.some(
        (other) => other.code === "MULTILINE_IMPLICIT_KEY" && other.pos[0] === error.pos[0],
      );
      const deeperAt = isDeeperLine ? deeperLineAt(text, error.pos[0]) : -1;
      if (deeperAt < 0)
        this.faultAt(Math.min(error.pos[0], text.length), [], explainSyntaxError(error.code, error.message));
      else if (error.code === "MULTILINE_IMPLICIT_KEY") this.faultAt(deeperAt, [], TOO_DEEP);
    }
  }

  private convert(node: ParsedNode | null, path: KeyPath): unknown {
    if (node === null) return null;
    if (--this.nodesLeft < 0) throw new TooMuch(node.range[0], path, "too many values: aliases multiply this file");
    if (path.length > MAX_DEPTH)
      throw new TooMuch(node.range[0], path.slice(0, 8), `nested deeper than ${MAX_DEPTH} levels`);
    if (isAlias(node)) {
      const target = this.anchors.get(node.source);
      if (target !== undefined) return this.convert(target, path);
      this.faultAt(
        node.range[0],
        path,
        "no anchor of this name comes before this alias: put the value in quotes if it is text",
      );
      return UNREADABLE;
    }
    if (node.anchor !== undefined) this.anchors.set(node.anchor, node);
    if (isScalar(node)) return this.convertScalar(node as Scalar.Parsed, path);
    if (isSeq<ParsedNode>(node)) {
      return node.items.map((item, index) => {
        const at = item?.range[0] ?? node.range[0];
        this.place([...path, index], at, at);
        return this.convert(item, [...path, index]);
      });
    }
    return isMap<ParsedNode, ParsedNode | null>(node) ? this.convertMap(node.items, path) : null;
  }

  private convertMap(pairs: { key: ParsedNode; value: ParsedNode | null }[], path: KeyPath): unknown {
    const map: Record<string, unknown> = {};
    const written = new Set<string>();
    const merged: { key: ParsedNode; value: ParsedNode | null }[] = [];
    for (const pair of pairs) {
      const name = this.keyName(pair.key, path);
      if (name === null) continue;
      if (name === "<<" && isScalar(pair.key) && pair.key.type === Scalar.PLAIN) {
        merged.push(pair);
        continue;
      }
      if (written.has(name)) {
        this.faultAt(pair.key.range[0], [...path, name], "this key occurs twice: keep one of them");
        continue;
      }
      written.add(name);
      this.place([...path, name], pair.key.range[0], pair.value?.range[0] ?? pair.key.range[0]);
      map[name] = this.convert(pair.value, [...path, name]);
    }
    for (const pair of merged) this.merge(map, pair, path);
    return map;
  }

  /** `<<: *anchor` or a list of them: what the map says itself wins, then the earlier of the list. */
  private merge(
    into: Record<string, unknown>,
    pair: { key: ParsedNode; value: ParsedNode | null },
    path: KeyPath,
  ): void {
    const parts = pair.value !== null && isSeq<ParsedNode>(pair.value) ? pair.value.items : [pair.value];
    for (const part of parts) {
      this.merging++;
      const value = this.convert(part, path);
      this.merging--;
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        this.faultAt(pair.key.range[0], [...path, "<<"], "expected an alias of a section, such as <<: *name");
        continue;
      }
      for (const [name, inner] of Object.entries(value)) if (!Object.hasOwn(into, name)) into[name] = inner;
    }
  }

  private keyName(key: ParsedNode, path: KeyPath): string | null {
    const at = key.range[0];
    if (!isScalar(key)) {
      this.faultAt(at, path, "expected a plain word as the key");
      return null;
    }
    // Keys such as `200:` are numbers to YAML and words to us.
    const name = key.value === null ? "" : String(key.source ?? key.value);
    if (name === "") this.faultAt(at, path, "a key is missing before the colon");
    else if (RESERVED_KEYS.has(name)) this.faultAt(at, path, `unknown key ${quote(name)}`);
    else return name;
    return null;
  }

  private convertScalar(node: Scalar.Parsed, path: KeyPath): unknown {
    const value: unknown = node.value;
    // A number in another spelling than its own, such as 127. and 1.10, is the text that it may be meant as.
    if (typeof value === "number" && node.source !== undefined && node.source !== String(value)) return node.source;
    if (typeof value !== "string" || !value.includes("${")) return value;
    const expansion = expandVariables(value, this.environment, this.secrets);
    if (!expansion.ok) {
      this.faultAt(node.range[0], path, expansion.message);
      return UNREADABLE;
    }
    for (const [name, text] of expansion.used) this.expanded.set(name, text);
    for (const message of expansion.warnings)
      this.warnings.push({ ...this.linePosition(node.range[0]), path: formatKeyPath(path), message });
    // An unquoted value that expands to nothing reads like a key without a value: not set.
    return expansion.text === "" && node.type === Scalar.PLAIN ? null : expansion.text;
  }

  private place(path: KeyPath, key: number, value: number): void {
    const name = placeName(path);
    if (this.merging === 0 || !this.places.has(name)) this.places.set(name, { key, value });
  }

  private faultAt(offset: number, path: KeyPath, message: string): void {
    this.faults.push({ ...this.linePosition(offset), path: formatKeyPath(path), message });
  }

  private linePosition(offset: number): ConfigPosition {
    const { line, col } = this.lines.linePos(offset);
    return { file: this.file, line: Math.max(1, line), col: Math.max(1, col) };
  }
}

/** Thrown within one walk only, and caught by `read`. */
class TooMuch extends Error {
  constructor(
    readonly offset: number,
    readonly path: KeyPath,
    message: string,
  ) {
    super(message);
  }
}

/** Where the line below begins, when it is indented deeper than the one that has a value at `valueAt`; else -1. */
function deeperLineAt(text: string, valueAt: number): number {
  const above = text.slice(text.lastIndexOf("\n", valueAt) + 1, valueAt);
  const next = text.indexOf("\n", valueAt);
  if (next < 0 || !/^[\s-]*[^\s#-][^\s#]*: *$/.test(above)) return -1;
  const indent = /^ */.exec(text.slice(next + 1))![0].length;
  return indent > /^[ -]*/.exec(above)![0].length ? next + 1 + indent : -1;
}

const TOO_DEEP = "indented deeper than the line above, which has its value already: begin both in the same column";

function placeName(path: KeyPath): string {
  return path.join("\u0000");
}

/** Assigning to these on a plain object would reach the prototype. */
const RESERVED_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const MAX_DEPTH = 32;
/** Characters from which on a file is worth a look whether it is plain. */
const PLAIN_FROM = 65_536;
/** Far above any real file: a thousand routes are some fifty thousand values. */
const MAX_NODES = 500_000;
const MAX_SYNTAX_FAULTS = 20;
