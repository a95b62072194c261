import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseAllDocuments } from "yaml";
import { ConvertFault, MAX_DEPTH, MAX_STATEMENTS, Statement } from "../statement.ts";

/**
 * Reads a file of Traefik's file provider, YAML or TOML: a key is a directive, its section a block, its values the words. Each entry of
 * a list of sections is a directive `-`. docs/migrate.md#traefik
 * @throws ConvertFault where the file is neither
 */
export function readTraefik(file: string, text: string): Statement[] {
  const isToml = file.endsWith(".toml") || (!/\.ya?ml$/.test(file) && /^\s*\[+[\w."-]+\]+\s*$/m.test(text));
  return isToml ? fromToml(file, text) : fromYaml(file, text);
}

function fromYaml(file: string, text: string): Statement[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: false });
  if (!Array.isArray(documents)) return [];
  const made: Statement[] = [];
  const reading = { file, count: 0, line: (node: Node): number => lines.linePos(node.range?.[0] ?? 0).line };
  for (const document of documents) {
    const [fault] = document.errors;
    if (fault !== undefined)
      throw new ConvertFault(
        { file, line: fault.linePos?.[0].line ?? 0 },
        fault.message.split("\n")[0]!.replace(/ at line.*$/, ""),
      );
    if (isMap(document.contents))
      made.push(...pairsOf(document.contents.items as Pair<Node, Node | null>[], null, reading, 0));
  }
  return made;
}

interface Reading {
  readonly file: string;
  count: number;
  line(node: Node): number;
}

function pairsOf(
  pairs: readonly Pair<Node, Node | null>[],
  parent: Statement | null,
  reading: Reading,
  depth: number,
): Statement[] {
  return pairs.map(({ key, value }) => {
    const place = { file: reading.file, line: reading.line(key) };
    if (depth > MAX_DEPTH || ++reading.count > MAX_STATEMENTS)
      throw new ConvertFault(place, "too many keys, or too deep");
    const name = isScalar(key) ? String(key.value) : String(key);
    if (isMap(value)) {
      const statement = new Statement(place, [name], parent, true);
      statement.block!.push(...pairsOf(value.items as Pair<Node, Node | null>[], statement, reading, depth + 1));
      return statement;
    }
    if (isSeq(value) && value.items.some((one) => isMap(one))) {
      const statement = new Statement(place, [name], parent, true);
      for (const item of value.items as Node[]) {
        const entry = new Statement({ file: reading.file, line: reading.line(item) }, ["-"], statement, true);
        if (isMap(item))
          entry.block!.push(...pairsOf(item.items as Pair<Node, Node | null>[], entry, reading, depth + 2));
        statement.block!.push(entry);
      }
      return statement;
    }
    const words = isSeq(value) ? value.items.map((one) => wordOf(one)) : value === null ? [] : [wordOf(value)];
    return new Statement(place, [name, ...words], parent, false);
  });
}

function wordOf(node: unknown): string {
  return isScalar(node) ? String(node.value ?? "") : String(node ?? "");
}

function fromToml(file: string, text: string): Statement[] {
  let value: object;
  try {
    value = Bun.TOML.parse(text);
  } catch (error) {
    throw new ConvertFault({ file, line: 0 }, error instanceof Error ? error.message.split("\n")[0]! : "no TOML");
  }
  const finder = new TomlLines(text);
  return tableOf(value as Record<string, unknown>, null, [], { file, finder });
}

function tableOf(
  table: Record<string, unknown>,
  parent: Statement | null,
  path: readonly string[],
  at: { readonly file: string; readonly finder: TomlLines },
): Statement[] {
  if (path.length > MAX_DEPTH) throw new ConvertFault({ file: at.file, line: 0 }, "too deep");
  return Object.entries(table).map(([name, value]) => {
    const own = [...path, name];
    const place = { file: at.file, line: at.finder.lineOf(own) };
    const isTable = (one: unknown): one is Record<string, unknown> =>
      typeof one === "object" && one !== null && !Array.isArray(one) && !(one instanceof Date);
    if (isTable(value)) {
      const statement = new Statement(place, [name], parent, true);
      statement.block!.push(...tableOf(value, statement, own, at));
      return statement;
    }
    if (Array.isArray(value) && value.some(isTable)) {
      const statement = new Statement(place, [name], parent, true);
      for (const item of value.filter(isTable)) {
        const entry = new Statement(place, ["-"], statement, true);
        entry.block!.push(...tableOf(item, entry, own, at));
        statement.block!.push(entry);
      }
      return statement;
    }
    return new Statement(place, [name, ...(Array.isArray(value) ? value : [value]).map(String)], parent, false);
  });
}

/** Finds the line of a key: the header of its table, then the key below it. The parser of the runtime tells no lines. */
class TomlLines {
  private readonly lines: readonly string[];

  constructor(text: string) {
    this.lines = text.split("\n");
  }

  lineOf(path: readonly string[]): number {
    const clean = (text: string): string => text.replace(/["'\s]/g, "");
    const header = (keys: readonly string[]): number =>
      this.lines.findIndex(
        (line) => /^\s*\[/.test(line) && clean(line).replace(/^\[+|\]+(#.*)?$/g, "") === keys.join("."),
      );
    for (let length = path.length; length > 0; length--) {
      const at = header(path.slice(0, length));
      if (at < 0) continue;
      const rest = path.slice(length);
      if (rest.length === 0) return at + 1;
      const below = this.lines.findIndex((line, i) => i > at && clean(line.split("=")[0]!) === rest.join("."));
      return (below < 0 ? at : below) + 1;
    }
    const found = this.lines.findIndex((line) =>
      clean(line.replace(/^\s*\[+/, "").split(/[=\]]/)[0]!).startsWith(path.join(".")),
    );
    return found < 0 ? 1 : found + 1;
  }
}
