/** The words of a text that carry a meaning: letters and digits, in small letters; `let's` is `lets`. */
export function wordsOf(text: string): string[] {
  const words =
    text
      .toLowerCase()
      .replace(/['’]/g, "")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !SILENT.has(word));
}

/** A word without the ending of its plural or of its verb. Words that stay under three letters keep it. */
export function stemOf(word: string): string {
  if (WHOLE.has(word)) return word;
  for (const [ending, instead] of ENDINGS) {
    if (!word.endsWith(ending) || word.length - ending.length + instead.length < MIN_STEM) continue;
    return word.slice(0, -ending.length) + instead;
  }
  return word;
}

const MIN_STEM = 3;

/** Words whose last letter is no ending. */
const WHOLE: ReadonlySet<string> = new Set(["https", "dns", "tls", "wss", "css", "cors", "redis"]);

/** The first that fits is removed. */
const ENDINGS: readonly (readonly [ending: string, instead: string])[] = [
  ["ications", "y"],
  ["ication", "y"],
  ["ations", ""],
  ["ation", ""],
  ["ating", ""],
  ["ated", ""],
  ["ates", ""],
  ["ate", ""],
  ["ions", ""],
  ["ion", ""],
  ["ings", ""],
  ["ing", ""],
  ["ies", "y"],
  ["ied", "y"],
  ["ers", ""],
  ["er", ""],
  ["ed", ""],
  ["ss", "ss"],
  ["es", ""],
  ["s", ""],
  ["e", ""],
];

/** Words of questions, and those that every page has: they say nothing of what is searched for. */
const SILENT: ReadonlySet<string> = new Set(
  (
    "a about all am an and any are as at be but by can cannot cant do does doesnt dont edge for from gateway get gets give " +
    "has have how i if in into is isnt it its me my need no nothing of on or our please s set setting should so some " +
    "something t that the their them there these this those to up us use using via want was we what when where which who " +
    "why will with without you your"
  ).split(" "),
);
