import { h, say, set } from "./dom.ts";

/** A column of a table. */
export interface PageColumn<Row> {
  readonly key: string;
  readonly head: string;
  /** Puts what a row has to say into its cell; the cell stays the same as long as the row is there. */
  readonly show: (cell: HTMLElement, row: Row) => void;
  /** By what rows can be sorted, the largest first; texts the other way round. */
  readonly by?: (row: Row) => number | string;
  /** `number`: to the right. `minor`: left out if there is little room. */
  readonly style?: string;
  /** Whether its cells name their rows. */
  readonly isName?: boolean;
}

/** What a table has. */
interface TableOptions<Row> {
  /** Its name for assistive technology. */
  readonly name: string;
  readonly columns: readonly PageColumn<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Said in its place if there are no rows. */
  readonly empty: string;
  /** The column that it is sorted by at first; "" for the order of the rows. */
  readonly sort?: string;
  readonly onSort?: (key: string) => void;
}

/** A table whose rows change in place, so that focus and selection stay where they are. */
export class LiveTable<Row> {
  readonly element: HTMLElement;
  private readonly options: TableOptions<Row>;
  private readonly body = h("tbody");
  private readonly rows: Map<string, HTMLTableRowElement> = new Map();
  private readonly heads: HTMLTableCellElement[];
  private readonly empty: HTMLElement;
  private readonly scroller: HTMLElement;
  private sort: string;
  private latest: readonly Row[] = [];

  constructor(options: TableOptions<Row>) {
    this.options = options;
    this.sort = options.sort ?? "";
    this.heads = options.columns.map((column) => this.head(column));
    this.empty = h("p", { class: "empty" }, options.empty);
    const table = h(
      "table",
      {},
      h("caption", { class: "hidden" }, options.name),
      h("thead", {}, h("tr", {}, ...this.heads)),
      this.body,
    );
    this.scroller = h(
      "div",
      { class: "scroller", role: "region", "aria-label": options.name, tabindex: 0, hidden: true },
      table,
    );
    this.element = h("div", { class: "table" }, this.scroller, this.empty);
    this.markSort();
  }

  /** Sorts by a column from now on. */
  sortBy(key: string): void {
    if (!this.options.columns.some((column) => column.key === key && column.by !== undefined)) return;
    this.sort = key;
    this.markSort();
    this.show(this.latest, true);
  }

  /** @param mayMove whether rows may change places although a person is at one of them */
  show(rows: readonly Row[], mayMove = false): void {
    this.latest = rows;
    this.scroller.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    const seen = new Set<string>();
    const ordered = this.ordered(rows);
    const elements = ordered.map((row) => {
      const key = this.options.keyOf(row);
      seen.add(key);
      return this.update(key, row);
    });
    for (const [key, element] of this.rows) {
      if (seen.has(key)) continue;
      element.remove();
      this.rows.delete(key);
    }
    const isHeld = !mayMove && (this.body.matches(":hover") || this.body.contains(document.activeElement));
    elements.forEach((element, i) => {
      const there = this.body.children[i];
      if (there === element || (isHeld && element.isConnected)) return;
      this.body.insertBefore(element, there ?? null);
    });
  }

  private update(key: string, row: Row): HTMLTableRowElement {
    let element = this.rows.get(key);
    if (element === undefined) {
      const cells = this.options.columns.map(({ style = "", isName }) =>
        isName ? h("th", { scope: "row", class: style }) : h("td", { class: style }),
      );
      element = h("tr", {}, ...cells);
      this.rows.set(key, element);
    }
    const { cells } = element;
    this.options.columns.forEach((column, i) => void column.show(cells[i]!, row));
    return element;
  }

  private ordered(rows: readonly Row[]): readonly Row[] {
    const by = this.options.columns.find(({ key }) => key === this.sort)?.by;
    if (by === undefined) return rows;
    return [...rows].sort((a, b) => {
      const [one, other] = [by(a), by(b)];
      return typeof one === "string" ? one.localeCompare(String(other)) : Number(other) - one;
    });
  }

  private head({ key, head, by, style = "" }: PageColumn<Row>): HTMLTableCellElement {
    if (by === undefined) return h("th", { scope: "col", class: style }, head);
    const onClick = () => {
      this.sortBy(key);
      this.options.onSort?.(key);
    };
    return h("th", { scope: "col", class: style }, h("button", { type: "button", click: onClick }, head));
  }

  private markSort(): void {
    this.options.columns.forEach(({ key, by }, i) => {
      if (key === this.sort && by !== undefined) set(this.heads[i]!, "aria-sort", "descending");
      else this.heads[i]!.removeAttribute("aria-sort");
    });
  }
}

/** A column of plain text. */
export function textCell<Row>(
  key: string,
  head: string,
  read: (row: Row) => string,
  more: Partial<PageColumn<Row>> = {},
): PageColumn<Row> {
  return { key, head, show: (cell, row) => say(cell, read(row)), ...more };
}
