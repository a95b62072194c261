import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type ListContent, type ListReader, readList, readListInTurns, stampOf } from "../../../memory/list-file.ts";
import { FileWatch } from "../../../net/file-watch.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { LIST_EVENTS } from "../events.ts";
import {
  type ListMemory,
  type ListPurpose,
  type ListsMessage,
  type ListUse,
  listId,
  type SharedLists,
} from "../list-tables.ts";

/** A list of the configuration in use. */
interface Listed {
  readonly use: ListUse;
  readonly content: ListContent;
  /** Of the file, in use or refused. */
  stamp: string;
}

/** The lists of one configuration. */
interface ListSet {
  readonly listed: ReadonlyMap<string, Listed>;
  readonly memory: ListMemory;
}

/** The parts of the control thread that the lists need. */
export interface ListPorts {
  readonly readers: Readonly<Record<ListPurpose, ListReader>>;
  usesOf(config: RuntimeConfig): readonly ListUse[];
  /** Why a list that has changed may not be used, or "". */
  refusal(use: ListUse, content: ListContent): string;
  /** Sends lists to every worker. */
  broadcast(message: ListsMessage): void;
  readonly event: EventWriter<typeof LIST_EVENTS>;
  /** A list has changed, and all workers have it. */
  changed(use: ListUse, content: ListContent): void;
}

/**
 * The lists in files, in the control thread: read once, into memory that all workers share, and again when a file changes. What cannot be
 * used leaves the list before in use. docs/answers.md#lists
 */
export class ListFiles implements ControlService<RuntimeConfig> {
  private readonly ports: ListPorts;
  private readonly watch: FileWatch = new FileWatch(() => void this.refresh());
  private set: ListSet = { listed: new Map(), memory: {} };
  private isBusy = false;
  private isAsked = false;

  constructor(ports: ListPorts) {
    this.ports = ports;
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedLists } {
    const set = this.read(config);
    return { fields: { lists: set.memory }, takeUp: () => this.takeUp(set) };
  }

  /** Reads the lists unless `prepare` has done so for this configuration. */
  use(config: RuntimeConfig): void {
    const isRead = this.ports.usesOf(config).every((use) => this.set.listed.has(listId(use)));
    if (!isRead) this.takeUp(this.read(config));
  }

  /** @throws Error if one cannot be used */
  private read(config: RuntimeConfig): ListSet {
    const { readers, usesOf } = this.ports;
    const listed = new Map<string, Listed>();
    for (const use of usesOf(config)) {
      const id = listId(use);
      if (listed.has(id)) continue;
      const stamp = stampOf(use.file);
      listed.set(id, { use, stamp, content: contentOf(use, () => readList(use.kind, use.file, readers[use.kind])) });
    }
    return setOf(listed);
  }

  /** Takes what `read` has given, and watches the files from now on. */
  private takeUp(set: ListSet): void {
    this.set = set;
    this.watch.use([...set.listed.values()].map(({ use }) => use.file));
  }

  stop(): void {
    this.watch.stop();
  }

  startFields(): SharedLists {
    return { lists: this.set.memory };
  }

  /** One look at a time; a change that comes meanwhile asks for another one. */
  private async refresh(): Promise<void> {
    this.isAsked = true;
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      while (this.isAsked) {
        this.isAsked = false;
        for (const one of this.set.listed.values()) await this.look(one);
      }
    } finally {
      this.isBusy = false;
    }
  }

  private async look(one: Listed): Promise<void> {
    const { use } = one;
    const { kind: list, file } = use;
    const stamp = stampOf(file);
    if (stamp === one.stamp) return;
    one.stamp = stamp;
    try {
      const content = await readListInTurns(list, file, this.ports.readers[list]);
      const refusal = this.ports.refusal(use, content);
      if (refusal !== "") throw new Error(refusal);
      // A reload has come meanwhile, which has read the file itself.
      if (this.set.listed.get(listId(use)) !== one) return;
      this.set = setOf(new Map([...this.set.listed, [listId(use), { use, content, stamp }]]));
      this.ports.broadcast({ kind: "lists", lists: this.set.memory });
      this.ports.event("list_reload", { ok: true, list, file, entries: content.entries, ...brokenFields(content) });
      this.ports.changed(use, content);
    } catch (error) {
      this.ports.event("list_reload", { ok: false, list, file, error: messageOf(error) });
    }
  }
}

function setOf(listed: ReadonlyMap<string, Listed>): ListSet {
  return { listed, memory: Object.fromEntries([...listed].map(([id, { content }]) => [id, content.table])) };
}

function contentOf({ file }: ListUse, read: () => ListContent): ListContent {
  try {
    return read();
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}

function brokenFields({ faults, faultCount }: ListContent): { broken_lines?: number; broken?: readonly string[] } {
  if (faultCount === 0) return {};
  const broken = faults.slice(0, MAX_SHOWN).map(({ line, message }) => `${line}: ${message}`);
  return { broken_lines: faultCount, broken };
}

/** Lines that an event names. */
const MAX_SHOWN = 10;
