import type { DocPages } from "../doc-pages.ts";
import { type HelpTopic, wholeSentence } from "../help-topics.ts";
import type { SearchEntry } from "./search-index.ts";
import { docSections, firstSentence, plainText, sentenceOf } from "./sections.ts";

/** An entry with what its line says of it. */
export interface HelpEntry extends SearchEntry {
  /** What kind of thing it is: "a page", "a key of config.yaml". */
  readonly what: string;
}

/** Pages whose sections have the names that {@link topicEntries} has as well. */
export const LIST_PAGES: ReadonlySet<string> = new Set(["errors", "events", "keys", "metrics", "reference"]);

/** The pages in the order of docs/README.md, each with its sections after it. */
export function pageEntries(pages: DocPages): readonly HelpEntry[] {
  const about = new Map(pages.groups().flatMap((group) => group.pages.map(([name, text]) => [name, plainText(text)])));
  return [...about].flatMap(([name, line]) => {
    const [top, ...sections] = docSections(pages.text(name));
    if (top === undefined) return [];
    const title = top.heading;
    const page: HelpEntry = {
      name,
      kind: "page",
      what: "a page",
      title,
      heading: title,
      first: wholeSentence(line),
      text: plainText(top.lines.join("\n")),
    };
    if (LIST_PAGES.has(name)) return [{ ...page, text: "" }];
    return [
      page,
      ...sections.map(({ heading, anchor, lines }): HelpEntry => {
        const first = firstSentence(lines);
        const text = plainText(lines.join("\n"));
        return {
          name: `${name}#${anchor}`,
          kind: "page",
          what: "a section",
          title,
          heading,
          first: first || `${title}: ${heading}.`,
          text,
        };
      }),
    ];
  });
}

/** Whatever else has a name: keys, events, metrics, errors, refusals, rules. */
export function topicEntries(topics: readonly HelpTopic[]): readonly HelpEntry[] {
  return topics.map(({ name, kind, text }) => {
    const plain = plainText(text);
    const isRule = kind === "a rule of the firewall";
    return {
      name,
      kind: isRule ? "rule" : "name",
      what: kind,
      title: "",
      heading: name,
      first: firstOf(plain),
      text: plain,
    };
  });
}

/** The commands. */
export function commandEntries(list: readonly (readonly [name: string, summary: string])[]): readonly HelpEntry[] {
  return list.map(([name, summary]) => ({
    name,
    kind: "command",
    what: "a command",
    title: "",
    heading: name,
    first: wholeSentence(summary),
    text: "",
  }));
}

/** What something with a name is about: of a key not what it takes, and of a refusal its status and the cause. */
function firstOf(text: string): string {
  const [first = "", second = ""] = text.split("\n\n").map((part) => sentenceOf(part.replace(/\s+/g, " ")));
  const [status] = /^Status \d+/.exec(first) ?? [];
  if (status !== undefined) return `${status}: ${second}`;
  return wholeSentence(/^(Takes|No response)/.test(first) && second !== "" ? second : first);
}
