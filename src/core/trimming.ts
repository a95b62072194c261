/** Without the signs at both ends that are among these. @param signs each of one code unit */
export function trimmed(text: string, signs: string): string {
  return trimmedEnd(trimmedStart(text, signs), signs);
}

/** Without the signs at the beginning that are among these. @param signs each of one code unit */
function trimmedStart(text: string, signs: string): string {
  let from = 0;
  while (from < text.length && signs.includes(text[from]!)) from++;
  return from === 0 ? text : text.slice(from);
}

/**
 * Without the signs at the end that are among these: from the end, in time that grows with what is cut off. An expression such as
 * `0+$` tries each run of zeros anew from each of its places.
 * @param signs each of one code unit
 */
export function trimmedEnd(text: string, signs: string): string {
  let to = text.length;
  while (to > 0 && signs.includes(text[to - 1]!)) to--;
  return to === text.length ? text : text.slice(0, to);
}
