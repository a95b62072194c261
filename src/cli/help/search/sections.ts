import { anchorOf } from "../anchor.ts";

/** A heading of a page and the lines below it, up to the next heading of any level. */
interface DocSection {
  readonly level: number;
  readonly heading: string;
  /** As links name it. */
  readonly anchor: string;
  /** The number of its line, from 0. */
  readonly line: number;
  readonly lines: readonly string[];
}

/** The sections of a page of Markdown, in order. */
export function docSections(text: string): readonly DocSection[] {
  const sections: (Omit<DocSection, "lines"> & { lines: string[] })[] = [];
  const seen = new Map<string, number>();
  let isCode = false;
  for (const [line, content] of text.split("\n").entries()) {
    if (content.startsWith("```")) isCode = !isCode;
    const [, marks, written = ""] = isCode ? [] : (/^(#{1,6}) (.*)$/.exec(content) ?? []);
    if (marks === undefined) {
      sections.at(-1)?.lines.push(content);
      continue;
    }
    const heading = plainText(written);
    const anchor = anchorOf(heading);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    sections.push({
      level: marks.length,
      heading,
      anchor: count === 0 ? anchor : `${anchor}-${count}`,
      line,
      lines: [],
    });
  }
  return sections;
}

/** The first sentence of a section's first paragraph; "" if it has none. */
export function firstSentence(lines: readonly string[]): string {
  let isCode = false;
  const paragraph: string[] = [];
  for (const line of lines) {
    if (line.startsWith("```")) isCode = !isCode;
    const isProse = !isCode && line !== "" && !/^(```|\||<|!\[|More: )/.test(line);
    const isItem = /^ *(?:[-*]|\d+\.) /.test(line);
    if (isProse && !(isItem && paragraph.length > 0)) paragraph.push(line);
    else if (paragraph.length > 0) break;
  }
  const text = plainText(paragraph.join(" ")).replace(/^(?:[-*]|\d+\.) /, "");
  return sentenceOf(text).slice(0, MAX_SENTENCE);
}

/** Up to the end of the first sentence. */
export function sentenceOf(text: string): string {
  const end = /[.!?](?= |$)/.exec(text);
  return end === null ? text : text.slice(0, end.index + 1);
}

/** Markdown without its links and marks. */
export function plainText(text: string): string {
  return text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replaceAll("`", "")
    .replaceAll("**", "")
    .replace(/(^|\s)\*([^*\s][^*]*)\*/g, "$1$2");
}

/** What counts as a first sentence, in characters. */
const MAX_SENTENCE = 240;
