/** A line of a CSV file, or its fault. */
interface CsvRecord {
  /** From 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** "" for a good one. */
  readonly fault: string;
}

/**
 * The records of a CSV file. RFC 4180: fields may stand in quotes, and a quote within is written twice. One record is one line, so that a
 * quote that is left open costs its own line alone. Empty lines and lines that begin with # are passed over.
 */
export function* csvRecords(text: string): Generator<CsvRecord, void, undefined> {
  let line = 0;
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const to = end < 0 ? text.length : end;
    const content = text.slice(from, to > from && text[to - 1] === "\r" ? to - 1 : to);
    from = to + 1;
    line++;
    if (content === "" || content.startsWith("#")) continue;
    yield content.includes('"') ? quotedRecord(line, content) : { line, fields: content.split(","), fault: "" };
  }
}

function quotedRecord(line: number, text: string): CsvRecord {
  const fields: string[] = [];
  const faulty = (fault: string): CsvRecord => ({ line, fields, fault });
  for (let at = 0; at <= text.length; ) {
    if (text[at] !== '"') {
      const comma = text.indexOf(",", at);
      const field = text.slice(at, comma < 0 ? text.length : comma);
      if (field.includes('"'))
        return faulty('has a quote within a field: put the field in quotes, and write "" for a quote');
      fields.push(field);
      if (comma < 0) break;
      at = comma + 1;
      continue;
    }
    const end = closingQuote(text, at + 1);
    if (end < 0) return faulty("has a quote that is not closed");
    fields.push(text.slice(at + 1, end).replaceAll('""', '"'));
    if (end + 1 === text.length) break;
    if (text[end + 1] !== ",") return faulty("has text behind a closing quote");
    at = end + 2;
  }
  return { line, fields, fault: "" };
}

/** -1 if there is none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}
