/** A text for a terminal: no value of a file or of a request moves its cursor. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, "?");
}

/** A text for a terminal without loss: other bytes than printable ASCII become `\xNN`. */
export function visible(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A text from outside as one line of ASCII, for a log: other characters become spaces. */
export function plainLine(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, " ");
}

/** A text as it may stand in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
