import type { Takers } from "../../core/message-takers.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { NO_TEXTS, TextTable, type TextTableMemory } from "../../memory/text-table.ts";

/** The purpose of a list: each has a reader of its own. */
export type ListPurpose = "redirects" | "map" | "keys";

/** A list that a configuration uses. */
export interface ListUse {
  readonly kind: ListPurpose;
  /** Absolute path. */
  readonly file: string;
}

/** Names a list among all: one file may be a list of several kinds. */
export function listId({ kind, file }: ListUse): string {
  return `${kind} ${file}`;
}

/** The tables of lists by their ids, in memory that all threads share. */
export type ListMemory = Readonly<Record<string, TextTableMemory>>;

/** The part of each configuration's message that is about lists. */
export interface SharedLists {
  readonly lists: ListMemory;
}

/** From the control thread: lists as they are now. */
export interface ListsMessage extends SharedLists {
  readonly kind: "lists";
}

/** A list as it is now. */
interface ListCell {
  /** Another object whenever the list is another one. */
  readonly table: TextTable;
}

/** The lists of one worker; they outlive configurations. */
export class ListTables implements WorkerService<unknown> {
  readonly onMessage: Takers<ListsMessage> = { lists: (message) => this.share(message) };
  private memory: ListMemory = {};
  private readonly cells: Map<string, { table: TextTable }> = new Map();

  /** Takes these lists in place of all before. */
  share({ lists }: SharedLists): void {
    const before = this.memory;
    this.memory = lists;
    for (const [id, memory] of Object.entries(lists)) {
      if (before[id] === memory && this.cells.has(id)) continue;
      const cell = this.cells.get(id);
      if (cell === undefined) this.cells.set(id, { table: new TextTable(memory) });
      else cell.table = new TextTable(memory);
    }
    for (const id of Object.keys(before)) if (!(id in lists)) this.cells.delete(id);
  }

  /** A list that is there, or will be once its configuration is in use. */
  cellOf(use: ListUse): ListCell {
    const id = listId(use);
    const cell = this.cells.get(id) ?? { table: NO_TEXTS };
    this.cells.set(id, cell);
    return cell;
  }
}
