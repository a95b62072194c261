/** The width that help is written for: that of a terminal as it opens. */
export const HELP_COLUMNS = 80;

/**
 * A text in lines of at most so many characters; a word that is longer has a line of its own.
 * @param room of each line, above 0
 */
export function wrapped(text: string, room: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (lines[last] !== "" && lines[last]!.length + 1 + word.length > room) lines.push(word);
    else lines[last] += lines[last] === "" ? word : ` ${word}`;
  }
  return lines;
}

/** Names with what each is, side by side, in lines of {@link HELP_COLUMNS}; each ends with a line break. */
export function wrappedTable(rows: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  const indent = " ".repeat(width + 4);
  const lines = ([name, text]: readonly [string, string]) =>
    `  ${name.padEnd(width)}  ${wrapped(text, HELP_COLUMNS - indent.length).join(`\n${indent}`)}\n`;
  return rows.map(lines).join("");
}

/** A paragraph in lines of {@link HELP_COLUMNS}, without a line break at its end. */
export function paragraph(text: string): string {
  return wrapped(text, HELP_COLUMNS).join("\n");
}
