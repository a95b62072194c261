import { printable } from "../../core/printable.ts";

/** How parts of a text stand out. */
export type Paint = (text: string) => string;

/** The few ways in which parts of these texts stand out. */
export interface Paints {
  readonly plain: Paint;
  readonly strong: Paint;
  readonly faint: Paint;
  readonly good: Paint;
  readonly warn: Paint;
  readonly bad: Paint;
  readonly turned: Paint;
}

const same: Paint = (text) => text;
const escaped =
  (on: number, off: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;

/** In a pipe. */
export const NO_COLORS: Paints = {
  plain: same,
  strong: same,
  faint: same,
  good: same,
  warn: same,
  bad: same,
  turned: same,
};

/** On a terminal, readable on light and dark grounds. */
export const COLORS: Paints = {
  plain: same,
  strong: escaped(1, 22),
  faint: escaped(2, 22),
  good: escaped(32, 39),
  warn: escaped(33, 39),
  bad: escaped(31, 39),
  turned: escaped(7, 27),
};

/** One line of at most so many columns; what a client sent moves no cursor. */
export class Line {
  private readonly width: number;
  private text = "";
  private used = 0;
  private isLabelled = false;

  constructor(width: number) {
    this.width = width;
  }

  /** Adds what there is room for. */
  add(text: string, paint: Paint = same): this {
    const kept = fitted(text, this.width - this.used);
    if (kept !== "") this.isLabelled = false;
    this.used += Bun.stringWidth(kept);
    this.text += paint(kept);
    return this;
  }

  /** Begins the line with a word in a column of its own. */
  label(text: string, columns: number, paint: Paint = same): this {
    this.add(`${text.padEnd(columns - 1)} `, paint);
    this.isLabelled = true;
    return this;
  }

  /** Adds a part where all of it has room, after a gap; the first one in any case. */
  part(text: string, paint: Paint = same, gap = 3): this {
    const isFirst = this.used === 0 || this.isLabelled;
    if (text === "" || (!isFirst && this.used + gap + Bun.stringWidth(text) > this.width)) return this;
    return this.add(isFirst ? "" : " ".repeat(gap)).add(text, paint);
  }

  /** Adds a text that ends at the last column. */
  end(text: string, paint: Paint = same): this {
    const room = this.width - this.used - Bun.stringWidth(text);
    return room < 1 || !Number.isFinite(room) ? this.part(text, paint) : this.add(" ".repeat(room)).add(text, paint);
  }

  toString(): string {
    return this.text;
  }
}

/** A text of at most so many columns, with `…` where it was cut. */
export function fitted(text: string, columns: number): string {
  const shown = printable(text);
  if (columns <= 0) return "";
  if (Bun.stringWidth(shown) <= columns) return shown;
  let kept = "";
  let used = 1;
  for (const character of shown) {
    used += Bun.stringWidth(character);
    if (used > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  /** Columns; those of the first column of a table are what the others leave. */
  readonly width: number;
  /** If there is too little room, those with the highest number go first; 0 always stays. */
  readonly rank: number;
  readonly cell: (row: T) => string;
  readonly paint?: (row: T, paints: Paints) => Paint;
  /** Texts begin where numbers end. */
  readonly isText?: boolean;
}

const GAP = 2;
const MIN_NAME = 14;
/** In a pipe, if nothing is cut. */
export const ENDLESS: number = Number.POSITIVE_INFINITY;

/**
 * The lines of a table, its head first. The first column has the room that the others leave.
 * @param width columns there are; ENDLESS cuts nothing
 */
export function textTable<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number,
  paints: Paints,
): string[] {
  const [name, ...others] = columns as [Column<T>, ...Column<T>[]];
  const names = rows.map((row) => printable(name.cell(row)));
  const widest = Math.max(name.title.length, ...names.map((text) => Bun.stringWidth(text)));
  const kept = [...others];
  const needed = (): number => kept.reduce((sum, column) => sum + GAP + column.width, 0);
  for (;;) {
    const last = kept.reduce<Column<T> | null>((worst, one) => (one.rank > (worst?.rank ?? 0) ? one : worst), null);
    if (last === null || needed() + Math.min(widest, MIN_NAME * 2) <= width) break;
    kept.splice(kept.indexOf(last), 1);
  }
  const nameWidth = Math.max(MIN_NAME, Math.min(widest, width - needed()));
  const line = (row: T | null, first: string): string => {
    const cells = kept.map((column, i) => {
      const isLast = i === kept.length - 1;
      const room =
        isLast && column.isText ? Math.max(column.width, width - nameWidth - needed() + column.width) : column.width;
      const text = fitted(row === null ? column.title : column.cell(row), room);
      const spaces = Number.isFinite(room) ? " ".repeat(Math.max(0, room - Bun.stringWidth(text))) : "";
      const paint = row === null ? paints.faint : (column.paint?.(row, paints) ?? paints.plain);
      return `${" ".repeat(GAP)}${column.isText ? paint(text) + (isLast ? "" : spaces) : spaces + paint(text)}`;
    });
    const shown = fitted(first, nameWidth);
    const padded = shown + " ".repeat(Math.max(0, nameWidth - Bun.stringWidth(shown)));
    const paint = row === null ? paints.faint : (name.paint?.(row, paints) ?? paints.plain);
    return `${paint(padded)}${cells.join("")}`.trimEnd();
  };
  return [line(null, name.title), ...rows.map((row, i) => line(row, names[i]!))];
}
