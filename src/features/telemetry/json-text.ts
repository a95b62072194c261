/**
 * Writes text as a JSON string of bounded length for a log line. Besides what JSON demands, DEL and the C1 controls
 * (0x7f to 0x9f) are escaped: a log is read on terminals, which take them for commands.
 * @param text one character a byte, or any text
 * @param limit characters that are kept; what is cut shows as `…`
 */
export function jsonText(text: string, limit: number): string {
  const kept = text.length > limit ? `${text.slice(0, limit)}…` : text;
  if (!NEEDS_ESCAPE.test(kept)) return `"${kept}"`;
  return JSON.stringify(kept).replace(CONTROLS_JSON_KEEPS, escapeControl);
}

/** The same, with `null` for the empty text: what is not known. */
export function jsonTextOrNull(text: string, limit: number): string {
  return text === "" ? "null" : jsonText(text, limit);
}

function escapeControl(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`;
}

/** Everything but printable ASCII without `"` and `\`, Latin-1 from 0xa0 on, and the mark of a cut. */
const NEEDS_ESCAPE = /[^\x20\x21\x23-\x5b\x5d-\x7e\xa0-\xff…]/;
const CONTROLS_JSON_KEEPS = /[\x7f-\x9f]/g;
