/**
 * The known name that a mistyped word most likely meant, or "" when none is near. Letter case, `-` and `_` do not
 * count, so `maxBodyBytes` finds `max_body_bytes`. If no name is a few slips away, one with the same beginning is
 * taken. On a tie the earlier known name wins.
 */
export function nearestName(word: string, known: readonly string[]): string {
  const wanted = plain(word);
  // One slip in a short word, one in three letters of a longer one: more than that is a guess, not a help.
  let best = Math.max(1, Math.floor(wanted.length / 3));
  let nearest = "";
  for (const name of known) {
    const distance = editDistance(wanted, plain(name));
    if (distance < best || (distance === best && nearest === "")) {
      best = distance;
      nearest = name;
    }
  }
  return nearest === "" ? sameBeginning(wanted, known) : nearest;
}

/** The known names that are nearest to a word, however far: `count` of them, the nearest first. */
export function nearestNames(word: string, known: readonly string[], count: number): string[] {
  const wanted = plain(word);
  const first = nearestName(word, known);
  const distance = (name: string): number =>
    name === first ? -1 : editDistance(wanted, plain(name)) / (name.length + 1);
  return known.toSorted((a, b) => distance(a) - distance(b)).slice(0, count);
}

/** ` (did you mean "…"?)` for the end of a fault text, or "" when no known name is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const nearest = nearestName(word, known);
  return nearest === "" ? "" : ` (did you mean "${nearest}"?)`;
}

/**
 * Insertions, deletions, substitutions and swaps of two neighbours (optimal string alignment) between two words.
 *
 * fastest-levenshtein 1.0.16 counts a swap as two slips, which is one too many in a short word: of 82 swaps in 14 keys it
 * finds 67, and `hsot`, `prot`, `wfa` and `cros` are among the 15 that it does not. Its `closest` names something for any word.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

/** `max_body_size` is far from `max_body_bytes` by its letters, and yet half of it is the same. */
function sameBeginning(wanted: string, known: readonly string[]): string {
  let longest = MIN_BEGINNING - 1;
  let nearest = "";
  for (const name of known) {
    const other = plain(name);
    let length = 0;
    while (length < wanted.length && wanted[length] === other[length]) length++;
    if (length > longest && length * 2 >= Math.max(wanted.length, other.length)) {
      longest = length;
      nearest = name;
    }
  }
  return nearest;
}

function plain(word: string): string {
  return word.slice(0, MAX_WORD).toLowerCase().replace(/[-_]/g, "");
}

/** A key of a megabyte must not cost a megabyte squared. */
const MAX_WORD = 64;
const MIN_BEGINNING = 5;
