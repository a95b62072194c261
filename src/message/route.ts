import type { Exchange } from "./exchange.ts";
import { METHOD_COUNT } from "./method.ts";
import type { Handler } from "./pipeline.ts";

/** What to do with a chunked request body. Spec, "Inbound chunked request handling". */
export const enum ChunkedMode {
  Normalize = 0,
  Passthrough,
  Reject,
}

export const enum RouteKind {
  BuiltIn = 0,
  Static,
  Upstream,
}

/** One row of the routing table with everything effective; made by wiring, never changed. */
export interface RouteInit {
  readonly kind: RouteKind;
  /** The metric and log label: the prefix, the exact path or the pattern. */
  readonly label: string;
  /** The prefix ("/node", "/"), or the whole path of an exact route. */
  readonly path: string;
  readonly exact: boolean;
  /** Allowed methods; empty means all (CONNECT and TRACE never). HEAD is allowed wherever GET is. */
  readonly methods: readonly string[];
  /** Host patterns, lower case ("a.test", "*.a.test"); empty means any. */
  readonly hosts: readonly string[];
  readonly stripPrefix: boolean;
  readonly chunkedMode: ChunkedMode;
  /** Largest request body in bytes; 0 means no limit. */
  readonly maxBodyBytes: number;
  readonly handler: Handler;
}

export class Route {
  readonly init: RouteInit;
  readonly kind: RouteKind;
  readonly label: string;
  readonly path: string;
  readonly handler: Handler;
  readonly stripPrefix: boolean;
  readonly chunkedMode: ChunkedMode;
  readonly maxBodyBytes: number;
  /** 1 where the method (by Method) is allowed. */
  readonly allowedMethods: Uint8Array;
  /** The value of Allow in a 405. */
  readonly allow: string;
  /** Slots of the counters of this route by method and status, filled by telemetry; -1 is not assigned yet. */
  readonly counterSlots: Int32Array;
  /** Index in the routing table, for tables with one row a route. */
  readonly index: number;

  constructor(init: RouteInit, index: number, allowedMethods: Uint8Array, allow: string) {
    this.init = init;
    this.kind = init.kind;
    this.label = init.label;
    this.path = init.path;
    this.handler = init.handler;
    this.stripPrefix = init.stripPrefix;
    this.chunkedMode = init.chunkedMode;
    this.maxBodyBytes = init.maxBodyBytes;
    this.allowedMethods = allowedMethods;
    this.allow = allow;
    this.counterSlots = new Int32Array(METHOD_COUNT * COUNTED_STATUSES).fill(-1);
    this.index = index;
  }

  /** Whether a request with this method may take the route. */
  allows(ex: Exchange): boolean {
    return this.allowedMethods[ex.request.method] === 1;
  }
}

/** Columns of `counterSlots`: statuses 100 to 599. */
export const COUNTED_STATUSES = 500;
