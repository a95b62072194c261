/** A text for a terminal: no value of a file or of a request moves its cursor. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, "?");
}

/** A text from outside as one line of ASCII, for a log: what is none becomes spaces. */
export function plainLine(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, " ");
}
