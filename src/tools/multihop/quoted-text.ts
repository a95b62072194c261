/** What a peer sent, in quotes, cut to what a line can bear, and without a control character: safe on a terminal. */
export function quotedText(text: string): string {
  const shown = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}...` : text;
  // JSON leaves DEL and the C1 controls as they are.
  return JSON.stringify(shown).replace(/[\x7f-\x9f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

const MAX_CHARS = 200;
