import type { ValueList } from "./rule-values.ts";

/** How deep a body in JSON is that rules see; what is deeper counts as a body that cannot be read. */
export const MAX_RULE_JSON_DEPTH = 64;

/**
 * Takes all values of a text in JSON by their paths, such as `json.user.0.name`: of members with the same name each, numbers as they are
 * written, of a list its length under its own path. RFC 8259
 * @param text one character a byte
 * @returns why not all of it was read; "" if it was
 */
export function readJsonValues(text: string, into: ValueList): string {
  const reader = new JsonReader(text, into);
  try {
    reader.readAll();
    return "";
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return error.message;
  }
}

class NotJson extends Error {}

class JsonReader {
  private readonly text: string;
  private readonly into: ValueList;
  private at = 0;

  constructor(text: string, into: ValueList) {
    this.text = text;
    this.into = into;
  }

  readAll(): void {
    this.skipBlanks();
    this.readValue("json", 0);
    this.skipBlanks();
    if (this.at < this.text.length && !this.into.isFull) throw new NotJson(NO_JSON);
  }

  private readValue(path: string, depth: number): void {
    const { into } = this;
    if (into.isFull) return;
    if (depth > MAX_RULE_JSON_DEPTH) throw new NotJson(`the body is more than ${MAX_RULE_JSON_DEPTH} levels deep`);
    const first = this.text[this.at];
    if (first === "{") this.readMembers(path, depth);
    else if (first === "[") this.readElements(path, depth);
    else if (first === '"') into.add(path, this.readString());
    else into.add(path, this.readWord());
  }

  private readMembers(path: string, depth: number): void {
    if (this.opens("}")) return;
    do {
      this.skipBlanks();
      if (this.text[this.at] !== '"') throw new NotJson(NO_JSON);
      const name = this.readString();
      this.skipBlanks();
      this.expect(":");
      this.skipBlanks();
      this.readValue(`${path}.${name}`.slice(0, MAX_PATH_CHARS), depth + 1);
      if (this.into.isFull) return;
    } while (this.goesOn("}"));
  }

  private readElements(path: string, depth: number): void {
    let length = 0;
    if (!this.opens("]")) {
      do {
        this.skipBlanks();
        this.readValue(`${path}.${length++}`, depth + 1);
        if (this.into.isFull) return;
      } while (this.goesOn("]"));
    }
    this.into.add(path, String(length));
  }

  /** Passes the bracket at hand. @returns whether it is closed at once */
  private opens(closing: string): boolean {
    this.at++;
    this.skipBlanks();
    if (this.text[this.at] !== closing) return false;
    this.at++;
    return true;
  }

  /** Whether a comma follows, rather than the end. */
  private goesOn(closing: string): boolean {
    this.skipBlanks();
    if (this.text[this.at] === closing) {
      this.at++;
      return false;
    }
    this.expect(",");
    return true;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw new NotJson(NO_JSON);
    this.at++;
  }

  /** A string without its quotes, its escapes undone. */
  private readString(): string {
    const from = ++this.at;
    for (; this.at < this.text.length && this.text[this.at] !== '"'; this.at++)
      if (this.text[this.at] === "\\") this.at++;
    if (this.at >= this.text.length) throw new NotJson(NO_JSON);
    const inside = this.text.slice(from, this.at++);
    return inside.includes("\\") ? unescaped(inside) : inside;
  }

  /** A number as it is written, `true` or `false`; "" for `null`. */
  private readWord(): string {
    WORD.lastIndex = this.at;
    const word = WORD.exec(this.text)?.[0];
    if (word === undefined) throw new NotJson(NO_JSON);
    this.at += word.length;
    return word === "null" ? "" : word;
  }

  private skipBlanks(): void {
    while (BLANKS.has(this.text[this.at] ?? "")) this.at++;
  }
}

function unescaped(text: string): string {
  return text.replace(
    /\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|([\s\S]))/gi,
    (_, high?: string, low?: string, code?: string, letter?: string) => {
      if (letter !== undefined) return LETTERS[letter] ?? letter;
      const units = [high ?? code!, ...(low === undefined ? [] : [low])].map((unit) => Number.parseInt(unit, 16));
      return Buffer.from(String.fromCharCode(...units), "utf8").toString("latin1");
    },
  );
}

const NO_JSON = "the body is no JSON";
/** A longer path is cut: names within names would add up to more than the body. */
const MAX_PATH_CHARS = 512;
const WORD = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const BLANKS: ReadonlySet<string> = new Set([" ", "\t", "\r", "\n"]);
const LETTERS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
