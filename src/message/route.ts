import { latin1 } from "../core/bytes.ts";
import type { PathPattern } from "../core/path-pattern.ts";
import { METHOD_COUNT, type Method, type RequestHead } from "./request-head.ts";

/** What to do with a chunked request body. docs/bodies.md#chunked-bodies */
export const enum ChunkedMode {
  Normalize = 0,
  Passthrough,
  Reject,
}

/** What phases must know of the handler of a route: one such object a kind, which its routes share. */
export interface RouteKind {
  /** Tells the kinds apart where routes are named, as in the keys of rate limits. */
  readonly name: string;
  /** An endpoint of the gateway's own: no redirect to TLS, no response to a preflight, no cache. */
  readonly isBuiltIn: boolean;
  /** Whether the handler takes the request's body, so that the firewall inspects it; from all others it is drained. */
  readonly takesBody: boolean;
  /** Whether a chunked body waits until it is whole (`inbound_chunked_mode: normalize`) before the handler sees it. */
  readonly normalizesBody: boolean;
  /** Whether bodies are JSON, whatever their declared type. */
  readonly readsJson: boolean;
  /** Whether a body of lines (NDJSON) goes on line by line: see `streamsLines`. */
  readonly takesLines: boolean;
  /** Whether the prefix is a folder of files, which no spelling of a path may leave. docs/security.md#paths-and-hosts */
  readonly isFolder: boolean;
  /** Whether responses may go into the cache: a look-up costs more than a response that the handler has at hand. */
  readonly isStorable: boolean;
  /** Whether a stored response is sent only while the handler would give the same: files can change at any time. */
  readonly confirmsStored: boolean;
  /** Whether responses carry a request id. */
  readonly namesRequests: boolean;
  /** Whether patterns may take the methods that the route's own path lacks. */
  readonly sharesMethods: boolean;
  /** Whether it is there on every host, before all routes of a named host but one with just this path. docs/routing.md#which-route-wins */
  readonly holdsOnEveryHost: boolean;
}

/** A handler that answers by itself, and takes no body: the default of a kind of route. */
const PLAIN: RouteKind = {
  name: "plain",
  isBuiltIn: false,
  takesBody: false,
  normalizesBody: false,
  readsJson: false,
  takesLines: false,
  isFolder: false,
  isStorable: false,
  confirmsStored: false,
  namesRequests: false,
  sharesMethods: false,
  holdsOnEveryHost: false,
};

const TRANSCODED: RouteKind = {
  ...PLAIN,
  name: "transcoded",
  takesBody: true,
  sharesMethods: true,
  holdsOnEveryHost: true,
};

/** The kinds of routes. Types of routes (src/routes) take one of them. */
export const RouteKind = {
  Plain: PLAIN,
  BuiltIn: { ...PLAIN, name: "built-in", isBuiltIn: true, holdsOnEveryHost: true },
  Static: { ...PLAIN, name: "static", isFolder: true, isStorable: true, confirmsStored: true },
  Upstream: {
    ...PLAIN,
    name: "upstream",
    takesBody: true,
    normalizesBody: true,
    isStorable: true,
    namesRequests: true,
  },
  /** The same, for a folder with scripts and files. */
  Scripts: {
    ...PLAIN,
    name: "upstream",
    takesBody: true,
    normalizesBody: true,
    isFolder: true,
    isStorable: true,
    namesRequests: true,
  },
  /** A module of one's own. */
  Function: { ...PLAIN, name: "function", takesBody: true, isStorable: true, namesRequests: true },
  /** REST in front of gRPC: its patterns complement each other. */
  Transcoded: { ...TRANSCODED, readsJson: true, takesLines: true },
  /** The same for a body that the method takes as it is, a file for instance. */
  TranscodedBytes: TRANSCODED,
} as const satisfies Record<string, RouteKind>;

/** Columns of `counterSlots`: statuses 100 to 599. */
export const COUNTED_STATUSES = 500;

/** A table for `counterSlots` with nothing assigned. */
export function emptyCounterSlots(): Int32Array {
  return new Int32Array(METHOD_COUNT * COUNTED_STATUSES).fill(-1);
}

/** Never written to. */
const NO_COUNTER_SLOTS: Int32Array = emptyCounterSlots();

/** Conditions of a route with `match`, beside path, host and method. docs/routing.md#match */
export interface RouteMatcher {
  /** Tells it from others of the same path and host, across reloads. */
  readonly id: Uint8Array;
  /**
   * Whether all of it holds. A route whose matcher does not fit is as if it were not there.
   * @param method in the place of the request's own, for the choice of other methods
   * @param path in the place of the one by which the request's route is chosen, in the same form
   */
  fits(head: RequestHead, method?: Method, path?: string): boolean;
  /** The texts that the groups of the route's expression found in the path, percent-encoded; null without one, or if it does not fit. */
  groupsOf(head: RequestHead): readonly string[] | null;
}

/**
 * One row of the routing table with everything effective; made by wiring, never changed.
 * @typeParam Handler what makes the responses: exchange.ts says it
 */
export interface RouteInitOf<Handler> {
  readonly kind: RouteKind;
  /** The metric and log label: the prefix, the exact path or the pattern. */
  readonly label: string;
  /** The prefix ("/node", "/"), or the whole path of an exact route. */
  readonly path: string;
  readonly exact: boolean;
  /** The shape of the path if it has variable parts; `exact` is true then. */
  readonly pattern?: PathPattern;
  /** Allowed methods; empty means all (CONNECT and TRACE never). HEAD is allowed wherever GET is. */
  readonly methods: readonly string[];
  /** Host patterns, lower case ("a.test", "*.a.test"); empty means any. */
  readonly hosts: readonly string[];
  /** What else a request must have, the expression among it; absent if nothing. */
  readonly match?: RouteMatcher;
  /** Whether the route has just the paths that `match` knows, as if each were an exact route. */
  readonly isListed?: boolean;
  /** Whether the route has all paths that begin with `path`, before any other route: an endpoint of the gateway's own. */
  readonly isAbove?: boolean;
  /** The expression by which the route is found, in the place of a path; `match` tests it. */
  readonly regex?: string;
  readonly stripPrefix: boolean;
  readonly chunkedMode: ChunkedMode;
  /** Largest request body in bytes; 0 means no limit. */
  readonly maxBodyBytes: number;
  /** The setting that says so, for logs; by default `server.max_body_bytes`. */
  readonly bodyLimitKey?: string;
  readonly handler: Handler;
  /** Whether bodies that come by HTTP/2 go on as they come, whatever `chunkedMode`: the origins speak HTTP/2. */
  readonly streamsHttp2?: boolean;
  /** Whether bodies with a length are read whole before the origin sees anything: a sidecar's. */
  readonly buffersBodies?: boolean;
  /** Names of the fields, in lower case, that the route itself sets or removes on the way up. */
  readonly ownFields?: readonly string[];
  /** Names of the fields, in lower case, that say who asks: trailers with them are left out. */
  readonly guardedFields?: readonly Uint8Array[];
  /** Whether HTTP-01 challenges for its paths are its own, and not the gateway's. */
  readonly takesChallenges?: boolean;
  /** Whether the trailers of requests are dropped. */
  readonly dropsTrailers?: boolean;
}

const NO_FIELDS: readonly Uint8Array[] = [];

/** A route of one configuration, with what phases and handlers ask of it for each request made ready. */
export class RouteOf<Handler> {
  readonly init: RouteInitOf<Handler>;
  readonly kind: RouteKind;
  readonly label: string;
  readonly path: string;
  /** Another one once its targets are others. */
  handler: Handler;
  readonly stripPrefix: boolean;
  readonly chunkedMode: ChunkedMode;
  readonly maxBodyBytes: number;
  readonly streamsHttp2: boolean;
  readonly ownFields: readonly Uint8Array[];
  readonly guardedFields: readonly Uint8Array[];
  readonly dropsTrailers: boolean;
  /** 1 for each allowed method (by Method). */
  readonly allowedMethods: Uint8Array;
  /** The value of Allow in a 405. */
  readonly allow: string;
  /**
   * Slots of the counters of this route by method and status, filled by telemetry; -1 is not assigned yet. Before the
   * first, the table that all routes share: 20 KB a route would be much for thousands of unused ones.
   */
  counterSlots: Int32Array = NO_COUNTER_SLOTS;
  /** Number of the label among the counters, set by telemetry with the first slot. */
  counterId = 0;
  /** Index in the routing table, for tables with one row a route. */
  readonly index: number;

  constructor(init: RouteInitOf<Handler>, index: number, allowedMethods: Uint8Array, allow: string) {
    this.init = init;
    this.kind = init.kind;
    this.label = init.label;
    this.path = init.path;
    this.handler = init.handler;
    this.stripPrefix = init.stripPrefix;
    this.chunkedMode = init.chunkedMode;
    this.maxBodyBytes = init.maxBodyBytes;
    this.streamsHttp2 = init.streamsHttp2 === true;
    this.ownFields = init.ownFields?.length ? init.ownFields.map(latin1) : NO_FIELDS;
    this.guardedFields = init.guardedFields ?? NO_FIELDS;
    this.dropsTrailers = init.dropsTrailers === true;
    this.allowedMethods = allowedMethods;
    this.allow = allow;
    this.index = index;
  }

  /** The table of the counters' slots, to be written to. */
  ownCounterSlots(): Int32Array {
    if (this.counterSlots === NO_COUNTER_SLOTS) this.counterSlots = emptyCounterSlots();
    return this.counterSlots;
  }
}
