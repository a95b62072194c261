/** A literal of Go, read: a map or a struct is an object, a list is an array, and what is no literal is its text. */
export type GoValue = string | number | boolean | readonly GoValue[] | GoObject;
export interface GoObject {
  readonly [key: string]: GoValue;
}

/** The cases of the table of a test function of Go: the composite literal behind `testCases := []struct {...}`. */
export function testCasesOf(source: string, test: string): GoObject[] {
  const start = source.indexOf(`func ${test}(`);
  const declared = start < 0 ? -1 : source.indexOf("testCases := []struct {", start);
  if (declared < 0) return [];
  const reader = new GoReader(source, source.indexOf("{", declared));
  reader.skipBraces();
  const cases = reader.value();
  return Array.isArray(cases) ? cases.filter((one): one is GoObject => typeof one === "object") : [];
}

/** The map of texts behind `name := map[string]string`, in a test function of Go. */
export function textsOf(source: string, test: string, name: string): Readonly<Record<string, string>> {
  const start = source.indexOf(`func ${test}(`);
  const declared = start < 0 ? -1 : source.indexOf(`${name} := map[string]string{`, start);
  if (declared < 0) return {};
  const found = new GoReader(source, source.indexOf("{", declared)).value();
  return found as Readonly<Record<string, string>>;
}

/** The value below keys; undefined if one of them is not there. */
export function below(value: GoValue | undefined, ...keys: readonly string[]): GoValue | undefined {
  let found: GoValue | undefined = value;
  for (const key of keys) {
    if (typeof found !== "object" || Array.isArray(found)) return undefined;
    found = (found as GoObject)[key];
  }
  return found;
}

/** Reads formatted source from left to right. */
class GoReader {
  constructor(
    private readonly source: string,
    private at: number,
  ) {}

  /** Passes what stands in braces. */
  skipBraces(): void {
    this.value();
  }

  value(): GoValue {
    this.skipBlanks();
    const char = this.source[this.at]!;
    if (char === "&") {
      this.at++;
      return this.value();
    }
    if (char === '"' || char === "`") return this.joined();
    if (char === "{") return this.composite();
    return this.expression();
  }

  /** A text, with others that are added to it. */
  private joined(): string {
    let text = this.text();
    for (;;) {
      const before = this.at;
      this.skipBlanks();
      if (this.source[this.at] !== "+") {
        this.at = before;
        return text;
      }
      this.at++;
      text += String(this.value());
    }
  }

  private text(): string {
    const quote = this.source[this.at]!;
    const from = this.at++;
    while (this.at < this.source.length && this.source[this.at] !== quote)
      this.at += quote === '"' && this.source[this.at] === "\\" ? 2 : 1;
    this.at++;
    const found = this.source.slice(from, this.at);
    // A tab in a text is right in Go alone.
    return quote === '"' ? (JSON.parse(found.replaceAll("\t", "\\t")) as string) : found.slice(1, -1);
  }

  private composite(): GoValue {
    this.at++;
    const items: GoValue[] = [];
    const keyed: Record<string, GoValue> = Object.create(null) as Record<string, GoValue>;
    for (;;) {
      this.skipBlanks();
      if (this.at >= this.source.length) throw new Error("a literal without an end");
      if (this.source[this.at] === "}") break;
      if (this.source[this.at] === ",") {
        this.at++;
        continue;
      }
      const first = this.value();
      this.skipBlanks();
      if (this.source[this.at] === ":") {
        this.at++;
        keyed[String(first)] = this.value();
      } else items.push(first);
    }
    this.at++;
    return Object.keys(keyed).length > 0 ? keyed : items;
  }

  /** A name, a number, a call, or the type of a composite literal, with the literal. */
  private expression(): GoValue {
    const from = this.at;
    let depth = 0;
    for (; this.at < this.source.length; this.at++) {
      const char = this.source[this.at]!;
      if (char === '"' || char === "`") {
        this.text();
        this.at--;
      } else if ("([".includes(char)) depth++;
      else if (depth > 0) {
        if (")]".includes(char)) depth--;
      } else if (char === "{") return this.composite();
      else if (",:}\n".includes(char)) break;
    }
    return plain(this.source.slice(from, this.at).trim());
  }

  private skipBlanks(): void {
    for (;;) {
      while (this.at < this.source.length && " \t\r\n".includes(this.source[this.at]!)) this.at++;
      if (!this.source.startsWith("//", this.at)) return;
      const end = this.source.indexOf("\n", this.at);
      this.at = end < 0 ? this.source.length : end;
    }
  }
}

/** A number, a boolean, the one argument of a call such as `new(true)`, or the text as it is. */
function plain(text: string): GoValue {
  if (text === "true" || text === "false") return text === "true";
  if (/^-?\d+$/.test(text)) return Number(text);
  const open = text.indexOf("(");
  if (open <= 0 || !text.endsWith(")")) return text;
  const inner = text.slice(open + 1, -1).trim();
  return /^("[^"\\]*"|true|false|-?\d+)$/.test(inner)
    ? inner.startsWith('"')
      ? inner.slice(1, -1)
      : plain(inner)
    : text;
}
