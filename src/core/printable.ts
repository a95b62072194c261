/** A text for a terminal: no value of a file or of a request moves its cursor. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, "?");
}
