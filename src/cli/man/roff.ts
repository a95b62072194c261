/** Builds a manual page with the macros of man(7). Texts are given as they are to be read. */
export class Roff {
  private readonly lines: string[] = [];

  /** @param name upper case @param date YYYY-MM-DD @param source left below the page @param title above it */
  constructor(name: string, section: number, date: string, source: string, title: string) {
    this.lines.push(`.TH ${name} ${section} ${date} "${source}" "${title}"`);
  }

  section(title: string): void {
    this.lines.push(`.SH ${title}`);
  }

  subsection(title: string): void {
    this.lines.push(`.SS ${escaped(title)}`);
  }

  /** Filled text, after a space. @param isFirst whether a heading has made that space already */
  paragraph(text: string, isFirst = false): void {
    if (!isFirst) this.lines.push(".PP");
    this.lines.push(...filled(text));
  }

  /** A term in bold, what it means indented below it. */
  item(term: string, text: string): void {
    this.lines.push(".TP", `.B ${escaped(term)}`, ...filled(text));
  }

  /** Lines as they are, indented. @param isFirst as of `paragraph` */
  literal(lines: readonly string[], isFirst = false): void {
    if (!isFirst) this.lines.push(".PP");
    this.lines.push(
      ".RS 4",
      ".nf",
      ...lines.map((line) => (line === "" ? "\\&" : shielded(escaped(line)))),
      ".fi",
      ".RE",
    );
  }

  /** A line with its words in bold, such as NAME and SYNOPSIS need it. */
  raw(line: string): void {
    this.lines.push(line);
  }

  toString(): string {
    return `${this.lines.join("\n")}\n`;
  }
}

/** A text for the formatter: no escape, no character beyond ASCII; hyphens and quotes that can be copied. */
export function escaped(text: string): string {
  return (
    text
      .replaceAll("\\", "\\e")
      .replaceAll("-", "\\-")
      .replaceAll("'", "\\(aq")
      .replaceAll("`", "\\(ga")
      .replaceAll("^", "\\(ha")
      .replaceAll("~", "\\(ti")
      .replaceAll('"', "\\(dq")
      // Not every device has the character.
      .replaceAll("…", "...")
      .replace(
        /[^\x20-\x7e]/gu,
        (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
      )
  );
}

/** A line of text that begins with a dot would be a request. */
function shielded(line: string): string {
  return line.startsWith(".") ? `\\&${line}` : line;
}

/** Lines of at most WIDTH columns; a word that is longer has one of its own. */
function filled(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).map(escaped)) {
    if (line !== "" && line.length + 1 + word.length > WIDTH) {
      lines.push(shielded(line));
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, shielded(line)];
}

const WIDTH = 78;
