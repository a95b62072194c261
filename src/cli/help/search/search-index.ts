import { stemOf, wordsOf } from "./words.ts";

/** What an entry is, which says how much it counts beside others that have the same words. */
type EntryKind = keyof typeof COUNTS;

/** Something that search may find. */
export interface SearchEntry {
  /** As `edge help` takes it: `tls`, `tls#redirect`, `server.tls.port`. */
  readonly name: string;
  readonly kind: EntryKind;
  /** The title of its page; that of the page itself is in `heading`. */
  readonly title: string;
  /** Of a section, or the name of what has one. */
  readonly heading: string;
  /** Its first sentence. */
  readonly first: string;
  /** All else that it says. */
  readonly text: string;
}

/** What people call a subject, and the name of the entry about it. */
export type Subject = readonly [name: string, phrases: readonly string[]];

/**
 * A full-text search over entries that fit into memory: titles count more than headings, headings more than names of keys,
 * these more than first sentences, and these more than other text; whole words more than stems, stems more than beginnings
 * of words; rare words more than frequent ones. Among equals the earlier entry wins. It knows neither files nor terminals:
 * the site of the documentation runs it in a browser.
 */
export class SearchIndex<E extends SearchEntry> {
  /** By word: how much it weighs in each entry that has it. */
  private readonly places = new Map<string, Map<number, number>>();
  /** By stem: the words that have it. */
  private readonly families = new Map<string, string[]>();
  private readonly subjects: readonly { readonly entry: number; readonly stems: ReadonlySet<string> }[];

  /** @param subjects an earlier one wins where several fit */
  constructor(
    private readonly entries: readonly E[],
    subjects: readonly Subject[] = [],
  ) {
    for (const [i, entry] of entries.entries()) this.add(i, entry);
    const numbers = new Map(entries.map(({ name }, i) => [name, i]));
    this.subjects = subjects.flatMap(([name, phrases]) => {
      const entry = numbers.get(name);
      return entry === undefined ? [] : phrases.map((phrase) => ({ entry, stems: new Set(stemsOf(phrase)) }));
    });
  }

  /** The entries that the words fit best, the best first; `isSubject` where people call the entry by just these words. */
  find(query: string, max: number): readonly { readonly entry: E; readonly isSubject: boolean }[] {
    const words = new Map(queryWords(query).map((word) => [stemOf(word), word]));
    const subjects = this.subjectsOf(words);
    const scores = new Map<number, { score: number; covered: number }>();
    let total = 0;
    for (const [stem, word] of words) {
      const weights = this.entriesWith(word, stem);
      const rarity = Math.log(1 + this.entries.length / Math.max(1, weights.size));
      total += rarity;
      for (const [entry, { stems }] of subjects) if (stems.has(stem)) weights.set(entry, WEIGHTS.subject);
      for (const [entry, weight] of weights) {
        const sum = scores.get(entry) ?? { score: 0, covered: 0 };
        scores.set(entry, { score: sum.score + rarity * weight, covered: sum.covered + rarity });
      }
    }
    return [...scores]
      .map(([number, { score, covered }]) => {
        const entry = this.entries[number]!;
        const subject = subjects.get(number);
        const share = covered / total;
        const rank = subject?.stems.size === words.size ? this.subjects.length - subject.order : 0;
        const isFound = share >= MIN_SHARE / (1 + (subject?.stems.size ?? 0) / 2);
        return { number, entry, rank, isFound, score: score * share * COUNTS[entry.kind] };
      })
      .filter(({ isFound }) => isFound)
      .sort((a, b) => b.rank - a.rank || b.score - a.score || a.number - b.number)
      .slice(0, max)
      .map(({ entry, rank }) => ({ entry, isSubject: rank > 0 }));
  }

  private add(i: number, { title, heading, first, text, kind }: E): void {
    const weights = new Map<string, number>();
    const count = (part: string, weight: number): void => {
      for (const word of wordsOf(part)) {
        if (!this.places.has(word)) {
          this.places.set(word, new Map());
          const stem = stemOf(word);
          const family = this.families.get(stem);
          if (family === undefined) this.families.set(stem, [word]);
          else family.push(word);
        }
        const before = weights.get(word);
        weights.set(word, before === undefined ? weight : Math.min(before + AGAIN, MOST));
      }
    };
    const isPage = title === heading;
    count(heading, isPage ? WEIGHTS.title : kind === "page" || kind === "aside" ? WEIGHTS.heading : WEIGHTS.name);
    if (!isPage) count(title, WEIGHTS.around);
    count(first, WEIGHTS.first);
    count(text, WEIGHTS.text);
    for (const [word, weight] of weights) this.places.get(word)!.set(i, weight);
  }

  /** Each entry that has the word, one of its forms, or a word that begins with it, with the best of the weights. */
  private entriesWith(word: string, stem: string): Map<number, number> {
    const found = new Map<number, number>();
    const take = (known: string, factor: number): void => {
      for (const [entry, weight] of this.places.get(known) ?? []) {
        found.set(entry, Math.max(found.get(entry) ?? 0, weight * factor));
      }
    };
    take(word, 1);
    for (const form of this.families.get(stem) ?? []) take(form, FORM);
    if (found.size > 0 || word.length < MIN_BEGINNING) return found;
    for (const known of this.places.keys()) if (known.startsWith(word)) take(known, BEGINNING);
    return found;
  }

  /** The entries that a phrase of theirs names, each with its phrase of most words. */
  private subjectsOf(stems: ReadonlyMap<string, string>): ReadonlyMap<number, Named> {
    const found = new Map<number, Named>();
    for (const [order, { entry, stems: wanted }] of this.subjects.entries()) {
      if (wanted.size <= (found.get(entry)?.stems.size ?? 0)) continue;
      if ([...wanted].every((stem) => stems.has(stem))) found.set(entry, { stems: wanted, order });
    }
    return found;
  }
}

/** A phrase that has been searched for. */
interface Named {
  readonly stems: ReadonlySet<string>;
  /** Its place among all phrases. */
  readonly order: number;
}

function stemsOf(text: string): string[] {
  return wordsOf(text).map(stemOf);
}

function queryWords(query: string): string[] {
  return wordsOf(query.slice(0, MAX_QUERY)).slice(0, MAX_WORDS);
}

/** How much an entry counts: a page of docs, a command, what has a name, a rule of the firewall, other files. */
const COUNTS = { page: 1, command: 0.7, name: 0.4, rule: 0.2, aside: 0.2 } as const;
const WEIGHTS = { subject: 16, title: 12, heading: 8, name: 6, first: 4, around: 2, text: 1 } as const;
/** For each further time that an entry has a word, up to the most. */
const AGAIN = 0.1;
const MOST = 14;
/** Another form of a word, and a word that begins with what is searched for. */
const FORM = 0.7;
const BEGINNING = 0.4;
const MIN_BEGINNING = 3;
/** An entry must have so much of what is searched for, by the rarity of the words; less where a phrase names it. */
const MIN_SHARE = 0.5;
const MAX_QUERY = 400;
const MAX_WORDS = 16;
