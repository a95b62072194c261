import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { RouteSource } from "../../../../routes/route-source.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { LiveLists, SourceKind, SourceWatch } from "./source-kind.ts";

/** Where items outlive the process. */
export interface SourceMemory {
  read<T>(part: string): T | null;
  write(part: string, value: object): boolean;
  remove(part: string): void;
}

/** A source as its provider uses it, whatever its items are. */
export type AnyLiveSource = Pick<
  LiveSource<unknown, unknown>,
  | "source"
  | "place"
  | "failure"
  | "count"
  | "faults"
  | "targets"
  | "files"
  | "isOn"
  | "use"
  | "read"
  | "stop"
  | "onChange"
> & { readonly lists: Pick<LiveLists<unknown, unknown>, "shownFault"> };

/**
 * A source of routes that changes by itself. It begins before the gateway, so that the first configuration has its routes. edge keeps
 * its items, and starts without it.
 */
export class LiveSource<Config, Item> {
  readonly source: RouteSource;
  readonly lists: LiveLists<Config, Item>;
  /** Why it is away; "" if it is not. */
  failure = "";
  private readonly kind: SourceKind<Config, Item>;
  private readonly state: SourceMemory;
  private watch: SourceWatch<Item> | null = null;
  private config: Config | null = null;
  private site: Pick<RuntimeConfig, "server"> | null = null;
  private changed: () => void = () => {};
  private ready: PromiseWithResolvers<void> = Promise.withResolvers();
  private keepTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(kind: SourceKind<Config, Item>, state: SourceMemory) {
    this.kind = kind;
    this.source = kind.source;
    this.lists = kind.lists;
    this.state = state;
  }

  /** Calls this at each change of items, and of whether the source is there. */
  onChange(changed: () => void): void {
    this.changed = changed;
  }

  get place(): string {
    return this.config === null ? "" : this.kind.placeOf(this.config);
  }

  /** How many items there are. */
  get count(): number {
    return this.items.length;
  }

  get faults(): LiveLists<Config, Item>["faults"] {
    const excess = this.watch?.excess ?? "";
    if (excess === "") return this.lists.faults;
    const cure = "take some away, or divide them among gateways: the others are left out";
    return [{ container: this.place, label: "", reason: excess, cure }, ...this.lists.faults];
  }

  get targets(): ReadonlySet<string> {
    return this.lists.targets;
  }

  files(): readonly RouteFile[] {
    return this.lists.files();
  }

  private get items(): readonly Item[] {
    return this.watch?.items ?? [];
  }

  isOn(config: RuntimeConfig): boolean {
    return this.kind.configOf(config) !== null;
  }

  /** Begins with a configuration, or goes on with it. @returns once the items are known, or are not to be had soon */
  async use(site: RuntimeConfig): Promise<void> {
    const config = this.kind.configOf(site);
    const before = this.config;
    const [isSame, place] = [Bun.deepEquals(config, before), this.place];
    this.config = config;
    this.site = site;
    if (config === null) return before === null ? undefined : this.end();
    if (!isSame) {
      const isElsewhere = this.place !== place;
      const items = isElsewhere ? this.keptItems(this.place) : this.items;
      this.watch?.stop();
      if (isElsewhere) this.ready = Promise.withResolvers();
      this.watch = this.begin(config, items);
      this.read();
    }
    await Promise.race([this.ready.promise, new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS).unref())]);
  }

  stop(): void {
    this.watch?.stop();
    if (this.keepTimer !== null) this.keep();
  }

  /** Makes routes of the items anew. */
  read(): void {
    if (this.config !== null && this.site !== null) this.lists.use(this.items, this.config, this.site);
  }

  private end(): void {
    this.watch?.stop();
    this.watch = null;
    this.failure = "";
    this.lists.clear();
    if (this.keepTimer !== null) clearTimeout(this.keepTimer);
    this.keepTimer = null;
    this.state.remove(this.kind.part);
  }

  private begin(config: Config, before: readonly Item[]): SourceWatch<Item> {
    const ports = {
      changed: () => this.onItems(watch),
      failed: (reason: string) => this.onState(watch, reason),
      caughtUp: () => this.onState(watch, ""),
    };
    const watch: SourceWatch<Item> = this.kind.watch(config, ports, before);
    void watch.run();
    return watch;
  }

  private onItems(watch: SourceWatch<Item>): void {
    if (watch !== this.watch) return;
    this.changed();
    this.keepTimer ??= setTimeout(() => this.keep(), KEEP_MS);
    this.keepTimer.unref();
  }

  private onState(watch: SourceWatch<Item>, failure: string): void {
    if (watch !== this.watch) return;
    this.failure = failure;
    if (failure === "") this.ready.resolve();
    this.changed();
  }

  private keep(): void {
    if (this.keepTimer !== null) clearTimeout(this.keepTimer);
    this.keepTimer = null;
    this.state.write(this.kind.part, { place: this.place, items: this.items });
  }

  private keptItems(place: string): readonly Item[] {
    const kept = this.state.read<{ readonly place: string; readonly items: readonly unknown[] }>(this.kind.part);
    return kept?.place === place && Array.isArray(kept.items) ? kept.items.filter((one) => this.kind.isItem(one)) : [];
  }
}

const KEEP_MS = 1000;
/** So long a start waits for a source. */
const FIRST_WAIT_MS = 2000;
