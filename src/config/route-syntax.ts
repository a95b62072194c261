import type { KeyPath } from "./config-fault.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import type { Entries, Section } from "./piece.ts";
import type { RouteBase } from "./route-config.ts";
import type { SharedValues } from "./route-schema.ts";
import type { ProxyConfig, ServerConfig } from "./runtime-config.ts";

/**
 * What the files may say about routes of one type: its keys, what becomes of them, and how they are listed. The table of all
 * types is given to `loadConfig`; the configuration knows none of them by name.
 * @typeParam C a resolved route
 * @typeParam E its own keys
 */
export interface RouteSyntax<C extends RouteBase = RouteBase, E extends Entries = Entries> {
  /** What routes of the type are, in a fault: "files from a folder". */
  readonly what: string;
  /** The same as a sentence, for keys that are not the type's: 'a static route serves files from "dir"'. */
  readonly sentence: string;
  /** Words that other gateways have for the type. */
  readonly foreignWords: readonly string[];
  /** Keys that tell the type of a route which does not say its type. */
  readonly marks: readonly string[];
  /** Where a route of the type is a prefix and never one exact path: the faults that say so. */
  readonly onlyPrefix?: { readonly refusal: string; readonly missing: string };
  /** The keys beside those of every route. */
  readonly keys: E;
  /** @param base what the keys of every route give */
  resolve(values: SharedValues & Section<E>, base: RouteBase, path: KeyPath, around: RouteSurroundings): C;
  /** What routes.yaml would state at the type's own keys, in its order. */
  list(route: C): object;
  /** The folder that clients can read files of. */
  folderOf?(route: C): string;
}

/** The types of routes by the word at `type`. */
export type RouteSyntaxes = Readonly<Record<string, RouteSyntax>>;

/** What a route inherits, and how its files are found. */
export interface RouteSurroundings {
  readonly server: ServerConfig;
  readonly proxy: ProxyConfig;
  readonly log: FaultLog;
  readonly files: ConfiguredFiles;
  readonly types: RouteSyntaxes;
}
