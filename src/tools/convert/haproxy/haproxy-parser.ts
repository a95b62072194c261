import { ConvertFault, MAX_STATEMENTS, Statement } from "../statement.ts";

/** The words that begin a section. */
const SECTIONS: ReadonlySet<string> = new Set(
  "global defaults frontend backend listen userlist peers resolvers mailers program ring http-errors cache fcgi-app log-forward log-profile crt-store traces acme".split(
    " ",
  ),
);

/**
 * Reads a configuration of HAProxy: sections with a line for each directive. Words have quotes and backslashes; lines that are meant
 * for a condition of the start (`.if`) are read as they are. docs/migrate-haproxy.md
 * @throws ConvertFault if a line is in no section, or a quote is not closed
 */
export function parseHaproxy(file: string, text: string): Statement[] {
  const sections: Statement[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  let count = 0;
  for (let at = 0; at < lines.length; at++) {
    const place = { file, line: at + 1 };
    const words = wordsOf(lines[at]!, place);
    const [first] = words;
    if (first === undefined) continue;
    if (++count > MAX_STATEMENTS) throw new ConvertFault(place, "too many directives");
    if (SECTIONS.has(first)) {
      sections.push(new Statement(place, words, null, true));
      continue;
    }
    const section = sections.at(-1);
    if (section === undefined) {
      if (first.startsWith(".")) sections.push(new Statement(place, words, null, true));
      else throw new ConvertFault(place, `"${first}" is in no section`);
    } else section.block!.push(new Statement(place, words, section, false));
  }
  return sections;
}

/** The words of a line: quotes are removed, `#` begins a comment. */
function wordsOf(line: string, place: { readonly file: string; readonly line: number }): string[] {
  const words: string[] = [];
  let word = "";
  let isOpen = false;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && at + 1 < line.length) word += escapeOf(line[++at]!, true);
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      isOpen = true;
    } else if (char === "\\" && at + 1 < line.length) {
      word += escapeOf(line[++at]!, false);
      isOpen = true;
    } else if (char === "#") break;
    else if (/\s/.test(char)) {
      if (isOpen || word !== "") words.push(word);
      word = "";
      isOpen = false;
    } else word += char;
  }
  if (quote !== "") throw new ConvertFault(place, `a ${quote} is not closed`);
  if (isOpen || word !== "") words.push(word);
  return words;
}

/** Within quotes, and for what is no sign of the language, the backslash stays: it is one of an expression. */
function escapeOf(char: string, isQuoted: boolean): string {
  if (isQuoted ? /["\\$]/.test(char) : /[\s"'#\\]/.test(char)) return char;
  return `\\${char}`;
}
