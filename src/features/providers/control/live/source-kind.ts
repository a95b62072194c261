import type { ConfigFault } from "../../../../config/config-fault.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { RouteSource } from "../../../../routes/route-source.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { LabelFault } from "../labels/container-labels.ts";

/** The source, as its watch uses it. */
export interface WatchPorts {
  /** Items have come, changed or gone. */
  changed(): void;
  /** The source is away, or says nonsense. */
  failed(reason: string): void;
  /** Everything is known as it is now. */
  caughtUp(): void;
}

/** Follows the items of a source until it is stopped. If the source goes away, its last items stay. */
export interface SourceWatch<Item> {
  readonly items: readonly Item[];
  /** What of the source is too much, and is left out; "" or absent for nothing. */
  readonly excess?: string;
  run(): Promise<void>;
  stop(): void;
}

/** The routes of the items of a source, as lists beside routes.yaml. */
export interface LiveLists<Config, Item> {
  /** What does not count, and what to do about it. */
  readonly faults: readonly LabelFault[];
  /** URLs of all targets that go with their items; none if routes name their targets themselves. */
  readonly targets: ReadonlySet<string>;
  files(): readonly RouteFile[];
  use(items: readonly Item[], config: Config, site: Pick<RuntimeConfig, "server">): void;
  /** Nothing is there any more. */
  clear(): void;
  /** One line of a fault of a list, with its place in the source. */
  shownFault(name: string, fault: ConfigFault): string;
}

/** A source of routes that changes by itself: its settings, its watch, and its routes. */
export interface SourceKind<Config, Item> {
  readonly source: RouteSource;
  /** The part of the state folder that keeps its items. */
  readonly part: string;
  readonly lists: LiveLists<Config, Item>;
  /** Null if it is off. */
  configOf(config: RuntimeConfig): Config | null;
  /** Where its items are, for the log: those of another place are not its. */
  placeOf(config: Config): string;
  /** @param before items of an earlier process, or of the configuration before */
  watch(config: Config, ports: WatchPorts, before: readonly Item[]): SourceWatch<Item>;
  /** Whether a value of the state folder is one. */
  isItem(one: unknown): one is Item;
}
