import type { Row } from "../config/row.ts";
import type { RouteBase } from "./route-base.ts";
import type { RouteOptions } from "./route-options.ts";
import type { KeyBlock, RouteSpot } from "./route-spot.ts";
import type { StreamConfig, StreamType } from "./streams/stream-config.ts";

/** Everything that routes.yaml may say: the shape of `ROUTE_FORMAT`, by which what reads and lists routes knows no type and no option by name. */
export interface RouteFormat {
  /** The types of routes by the word at `type`. */
  readonly types: Readonly<Record<string, RouteSyntax>>;
  /** The keys of routes of every type, beside those that say where a route is. */
  readonly options: KeyBlock<RouteOptions>;
  /** The types of entries that forward connections and know nothing of HTTP, by the word at `type`. docs/streams.md */
  readonly streams: Readonly<Record<StreamType, StreamSyntax>>;
}

/** What the files may say about streams of one type. */
export interface StreamSyntax extends Pick<RouteSyntax, "what" | "sentence" | "foreignWords" | "marks"> {
  /** All of its keys but `type`. */
  readonly keys: KeyBlock<Omit<StreamConfig, "type" | "position">>;
  /** What `edge help routes` says of the type beside the lines of its keys. */
  readonly doc: string;
}

/** What the files may say about routes of one type. @typeParam C a resolved route */
export interface RouteSyntax<C extends RouteBase = RouteBase> {
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
  /** Whether an entry has paths of its own without `prefix` and `path`. */
  needsNoPlace?(entry: Readonly<Record<string, unknown>>): boolean;
  /** The keys beside those of every route: what is accepted, what becomes of it, how it is listed. */
  readonly keys: KeyBlock<Omit<C, keyof RouteBase>>;
  /** Keys of every route, with dots, that do nothing at routes of the type, each with why: they are a warning. */
  readonly idleKeys?: Readonly<Record<string, string>>;
  /** Notes what contradicts itself between the keys of the type and those of every route. */
  check?(route: C, spot: RouteSpot): void;
  /** Whether its responses stand in routes.yaml itself, so that no guard keeps them from clients. */
  readonly isWritten?: true;
  /** The folder that clients can read files of. */
  folderOf?(route: C): string;
  readonly help: RouteHelp;
}

/** What `edge help routes` says of a type, beside the lines of its keys. */
interface RouteHelp {
  readonly doc: string;
  readonly prefix: Pick<Row, "example" | "doc">;
  readonly host: Pick<Row, "example" | "doc">;
  /** Keys that another line speaks of. */
  readonly unlisted: readonly string[];
  /** The one type at which the keys of every type are listed. */
  readonly hasOptions?: true;
}
