import { didYouMean, nearestName } from "../../config/nearest-name.ts";
import { DocPages } from "./doc-pages.ts";
import { type HelpTopic, HelpTopics } from "./help-topics.ts";
import type { HelpEntry } from "./search/help-entries.ts";
import { HelpSearch } from "./search/help-search.ts";
import { HELP_COLUMNS, paragraph, wrappedTable } from "./wrapped.ts";

/** What `edge help` says to words that are none of its own. */
export interface HelpAnswer {
  /** One that has the name, several that are about the words, the best first; none. */
  readonly found: readonly Pick<HelpTopic, "name" | "kind" | "text">[];
  /** The same for people. */
  readonly text: string;
  /** ` (did you mean "…"?)` if nothing was found and a name is near. */
  readonly meant: string;
}

type Summaries = readonly (readonly [name: string, summary: string])[];

/** All pages, by their groups. */
export function listOfPages(): string {
  const text = new DocPages().groups().map(({ title, pages }) => {
    const rows = pages.map(([name, about]) => [name, about.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1")] as const);
    return `${title}\n${wrappedTable(rows)}`;
  });
  const head = 'The documentation. "edge help tls" prints a page, "edge help docs/tls.md#redirect" a section.';
  return `${paragraph(head)}\n\n${text.join("\n")}`;
}

/**
 * The page, the section or what else has the name; else what the words are about.
 * @param words at least one
 * @param others names that help knows beside those of pages and topics
 */
export function helpAnswer(words: readonly string[], commands: Summaries, others: readonly string[]): HelpAnswer {
  const pages = new DocPages();
  const typed = words.join(" ");
  const page = pages.find(typed);
  if (page !== null) return { found: [{ name: typed, kind: "a page", text: page }], text: page, meant: "" };
  const topics = new HelpTopics();
  const named = topicsNamed(words, topics);
  const names = [...new Set(named.map(({ name }) => name))];
  if (names.length === 1) {
    const found = named.map(({ name, kind, text, pages }) => ({ name, kind, text, pages }));
    return { found, text: named.map(topicText).join("\n"), meant: "" };
  }
  const known = [...commands.map(([name]) => name), ...others, ...pages.names, ...topics.all().map(({ name }) => name)];
  // A link has no other meaning.
  const { entries, isSubject } = PLACE.test(typed) ? NONE : new HelpSearch(pages, topics, commands).find(typed, names);
  const isSlip = !isSubject && names.length === 0 && isMistypedName(typed, known);
  if (entries.length === 0 || isSlip) return { found: [], text: "", meant: didYouMean(typed, known) };
  const found = entries.map(({ name, what, first }) => ({ name, kind: what, text: first }));
  return { found, text: entries.map(foundLine).join(""), meant: "" };
}

/** What has the name; of several words, what has them as one name: `port in use` is `port-in-use`. */
function topicsNamed(words: readonly string[], topics: HelpTopics): readonly HelpTopic[] {
  if (words.length === 1) return topics.find(words[0]!);
  const names = ["-", "_"].map((sign) => words.join(sign).toLowerCase());
  return topics.all().filter(({ name }) => names.includes(name));
}

/** A word with signs is a name; where one is near, a slip of the hand is likelier than a question. */
function isMistypedName(typed: string, known: readonly string[]): boolean {
  const words = typed.split(NAME_SIGNS).filter((word) => word !== "");
  if (typed.includes(" ") || !NAME_SIGNS.test(typed)) return false;
  return words.length < 2 || nearestName(typed, known) !== "";
}

function topicText({ name, kind, text, pages }: HelpTopic): string {
  const plain = text.replaceAll("`", "").split("\n").map(paragraph).join("\n");
  return `${paragraph(`${name}: ${kind}`)}\n\n${plain}\n\n${paragraph(`More: ${pages.join(", ")}`)}\n`;
}

/** What to type for it, and as much of its first sentence as the line has room for. */
function foundLine({ name, first }: HelpEntry): string {
  const typed = `edge help ${name}`.padEnd(FOUND_COLUMN);
  const room = HELP_COLUMNS - typed.length - 2;
  if (room < MIN_ROOM) return `${typed}\n`;
  const cut = first.slice(0, room);
  const text = first.length <= room ? first : `${cut.slice(0, Math.max(1, cut.lastIndexOf(" ")))}…`;
  return `${typed}  ${text}\n`;
}

const NONE = { entries: [], isSubject: false } as const;
const NAME_SIGNS = /[-_.:/[\]]+/;
/** As links name places: with `.md`, `#`, `docs/`. */
const PLACE = /#|\.md$|^docs\/|\.\./;
const FOUND_COLUMN = 34;
const MIN_ROOM = 16;
