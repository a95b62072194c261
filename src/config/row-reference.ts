import { stringify } from "yaml";
import type { Kind, ListKind } from "./piece.ts";
import type { Block, Row, Rows } from "./row.ts";

/**
 * The settings reference of some keys as lines of YAML: each with its default, as a file would say it, and its line of
 * documentation. What is an example says so ("e.g."); the keys of a section follow below it.
 */
export function referenceOf(rows: Rows, indent = ""): string {
  const lines = linesOf(rows).map(({ text, doc }) => {
    if (doc === "") return `${indent}${text}\n`;
    return `${(indent + text).padEnd(DOC_COLUMN)} # ${doc}\n`;
  });
  return lines.join("");
}

interface Line {
  readonly text: string;
  /** The comment after it. */
  readonly doc: string;
}

function linesOf(rows: Rows): Line[] {
  return Object.entries(rows).flatMap(([key, row]) => keyLines(key, row));
}

function keyLines(key: string, row: Row): Line[] {
  const { type, example } = row;
  const doc = [row.doc ?? "", RESTART[row.restart ?? ""]].filter((part) => part !== "").join(" ");
  const heading = { text: `${key}:`, doc };
  if (isBlock(type)) {
    const inner = example === undefined ? type.rows : shownRows(type.rows, example as Record<string, unknown>);
    const notes = example === undefined ? type.notes.map((note) => ({ text: `# ${note}`, doc: "" })) : [];
    return [heading, ...[...linesOf(inner), ...notes].map((line) => ({ ...line, text: `  ${line.text}` }))];
  }
  if (isList(type) && isBlock(type.item)) {
    const entry = linesOf(type.item.rows);
    return [heading, ...entry.map((line, i) => ({ ...line, text: `  ${i === 0 ? "- " : "  "}${line.text}` }))];
  }
  if (example !== undefined) return [{ text: `${key}: ${valueText(example)}`, doc: `e.g. ${doc}`.trimEnd() }];
  return [{ text: `${key}: ${valueText(row.default ?? [])}`, doc }];
}

/** The rows that an example of a section has, with its values. */
function shownRows(rows: Rows, example: Readonly<Record<string, unknown>>): Rows {
  return Object.fromEntries(Object.entries(example).map(([key, value]) => [key, { ...rows[key]!, example: value }]));
}

function isBlock(kind: Kind<unknown, unknown, string>): kind is Block<Rows> {
  return "rows" in kind;
}

function isList(kind: Kind<unknown, unknown, string>): kind is ListKind<unknown, unknown> {
  return "item" in kind;
}

function valueText(value: unknown): string {
  return stringify(value, { lineWidth: 0, collectionStyle: "flow", flowCollectionPadding: false }).trimEnd();
}

const DOC_COLUMN = 33;
/** What follows the documentation of a key that a reload does not take up, or not everywhere. */
const RESTART = { "": "", everywhere: "(restart)", "HTTP/3": "(HTTP/3: restart)" } as const;
