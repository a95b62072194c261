/** The words of a text with commas between them. */
export function commaList(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}
