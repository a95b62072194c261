import type { DocPages } from "../doc-pages.ts";
import type { HelpTopics } from "../help-topics.ts";
import { commandEntries, type HelpEntry, pageEntries, topicEntries } from "./help-entries.ts";
import { SearchIndex } from "./search-index.ts";
import { SUBJECTS } from "./subjects.ts";

/** What a search has found, the best first. */
interface HelpFound {
  readonly entries: readonly HelpEntry[];
  /** Whether people call the first by just these words. */
  readonly isSubject: boolean;
}

/** So many lines a search prints. */
export const MAX_FOUND = 10;

/** The search of `edge help WORDS`: pages and their sections, commands, and whatever else has a name. docs/tools.md#help */
export class HelpSearch {
  private readonly entries: readonly HelpEntry[];
  private readonly index: SearchIndex<HelpEntry>;

  constructor(pages: DocPages, topics: HelpTopics, commands: readonly (readonly [name: string, summary: string])[]) {
    this.entries = [...pageEntries(pages), ...commandEntries(commands), ...topicEntries(topics.all())];
    this.index = new SearchIndex(this.entries, SUBJECTS);
  }

  /**
   * What the words are about: what people call so, then the keys whose names end with the word, then what has the words.
   * @param keys the names of those keys
   */
  find(words: string, keys: readonly string[] = []): HelpFound {
    const found = this.index.find(words, MAX_FOUND);
    const named = new Set(keys);
    const entries = [
      ...found.filter(({ isSubject }) => isSubject).map(({ entry }) => entry),
      ...this.entries.filter(({ name }) => named.has(name)),
      ...found.map(({ entry }) => entry),
    ];
    // An event and a refusal may have one name, and `edge help` prints both by it.
    const seen = new Set<string>();
    const once = entries.filter(({ name }) => !seen.has(name) && seen.add(name));
    return { entries: once.slice(0, MAX_FOUND), isSubject: found[0]?.isSubject === true };
  }
}
