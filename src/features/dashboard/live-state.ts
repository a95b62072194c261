// The dashboard's data of each second. Types alone: the page of the browser is compiled with them, too.

import type { CanaryStanding } from "../../core/canary-standing.ts";
import type { Percentiles } from "../../core/latency-sketch.ts";
import type { UnservedObject } from "../../core/unserved-object.ts";

/** Counts since the start, the same as those of `/metrics`. docs/dashboard.md#the-stream */
export interface LiveTotals {
  readonly requests: number;
  /** Requests by the first digit of their status; requests without a status are in place 0. */
  readonly classes: readonly number[];
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly inFlight: number;
  readonly connections: number;
  readonly accepted: number;
  readonly wafInspected: number;
  readonly wafBlocked: number;
  readonly wafDetected: number;
  /** Malformed requests, failed handshakes, limits, rate limits, missing credentials. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly breakerTrips: number;
  readonly logDropped: number;
}

/** A route, or an upstream. */
export interface LiveLabel {
  readonly label: string;
  readonly requests: number;
  readonly classes: readonly number[];
  /** Of the last seconds. */
  readonly latency: Percentiles;
  /** Bytes of bodies a second, in and out, of the last seconds; of routes alone. */
  readonly bytesPerSecond: readonly [into: number, out: number];
}

/** A target as one route sees it. */
export interface LiveTarget {
  readonly route: string;
  readonly upstream: string;
  /** What operators call it; absent without a name. */
  readonly name?: string;
  readonly breaker: "closed" | "half-open" | "open";
  readonly healthy: boolean;
  /** Whether a health check looks at it. */
  readonly checked: boolean;
  /** In a row. */
  readonly failures: number;
  readonly drained: boolean;
  /** Whether another target takes its requests: one of the same route, or of the old version. */
  readonly hasStandIn: boolean;
}

/** Finds of the firewall. All texts come from a client. */
export interface LiveHit {
  readonly at: number;
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly category: string;
  readonly rule: string;
  readonly score: number;
  readonly action: string;
  readonly snippet: string;
  /** The line of `server.waf.exclusions` that silences the rule there; "" if there is no rule. */
  readonly exclusion: string;
}

/** An address whose requests were refused. */
export interface LiveAttacker {
  readonly address: string;
  readonly refusals: number;
  /** The commonest first. */
  readonly reasons: readonly (readonly [reason: string, count: number])[];
  readonly firstAt: number;
  readonly lastAt: number;
  readonly path: string;
  readonly userAgent: string;
  /** Its handshake, if the configuration names a fingerprint; "" for none. An older gateway does not say. */
  readonly ja4?: string;
}

/** A client that is banned. docs/bans.md */
export interface LiveBan {
  /** An address, a /64 or a network. */
  readonly address: string;
  readonly source: string;
  /** As `2026-11-27T04:00:00.000Z`. */
  readonly since: string;
  readonly until: string;
  /** Bans in a row. */
  readonly count: number;
}

/** A worker thread. */
export interface LiveWorker {
  readonly requests: number;
  readonly connections: number;
  /** Share of one processor, 0 to 1; -1 if it is not known yet. */
  readonly load: number;
  /** How much later than wanted its timer came, in milliseconds. */
  readonly lagMs: number;
  /** Bytes of its heap. */
  readonly heap: number;
  readonly moves: boolean;
}

/** A request that has ended. All texts come from a client; there is no query among them. */
export interface LiveRow {
  readonly at: number;
  readonly address: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly protocol: string;
  readonly status: number;
  readonly ms: number;
  readonly bytesOut: number;
  readonly route: string;
  readonly upstream: string;
  readonly cache: string;
  readonly fault: string;
  /** The cause of it: that of `fault_detail` in the log. */
  readonly faultDetail: string;
  readonly attempts: number;
  /** Milliseconds of each attempt. */
  readonly attemptMs: readonly number[];
  readonly userAgent: string;
  /** An older gateway does not say. */
  readonly ja4?: string;
  readonly id: string;
}

/** A module of functions or hooks. */
export interface LiveModule {
  /** The name of its file, with as many of its folders as tell it from the others. */
  readonly name: string;
  /** Since the start. */
  readonly calls: number;
  /** Calls that failed, were too slow, lost their thread or found no room. */
  readonly failed: number;
  /** From calls to the heads of their responses, of the last seconds. */
  readonly latency: Percentiles;
  /** Calls that wait for a place in a thread. */
  readonly queued: number;
  /** Threads that serve it. */
  readonly threads: number;
  /** Threads that have ended otherwise than by a reload. */
  readonly ends: number;
  /** Bytes of the heaps of its threads. */
  readonly heap: number;
}

/** An objective of a route. docs/pressure.md#objectives */
export interface LiveObjective {
  readonly route: string;
  readonly slo: "availability" | "latency";
  /** Share of good requests. */
  readonly objective: number;
  readonly windowMs: number;
  /** Over 5 minutes, 1 hour and 6 hours: 1 uses the budget up at the end of the window. */
  readonly burn: readonly number[];
}

/** A waiting room. docs/waiting-room.md */
export interface LiveRoom {
  readonly route: string;
  /** Visitors that are in, and that may be. */
  readonly active: number;
  readonly limit: number;
  /** Visitors that wait, and that may. */
  readonly waiting: number;
  readonly queue: number;
  /** Visitors let in a second, lately. */
  readonly rate: number;
}

/** Something that happened to the gateway: an event of the log. */
export interface LiveChange {
  readonly at: number;
  readonly event: string;
  readonly text: string;
  /** Whether it is bad news. */
  readonly bad: boolean;
}

/** The response cache. */
export interface LiveCache {
  readonly entries: number;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly evictions: number;
  /** Lookups by result. */
  readonly results: Readonly<Record<string, number>>;
}

/** What stays the same for long. */
export interface LiveGateway {
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly status: "ok" | "draining";
  readonly generation: number;
  readonly lastReloadOk: boolean;
  /** Outputs of the access log that cannot be written. */
  readonly failedLogs: readonly string[];
  /** Whether hardly a descriptor is left. An older gateway does not say. */
  readonly lacksDescriptors?: boolean;
  /** Connections that clients may have, by `server.max_connections` or the limit of open files. An older gateway does not say. */
  readonly connectionLimit?: number;
  readonly waf: "off" | "detection" | "enforce";
  /** Prefixes and paths of the routes that are under maintenance. */
  readonly maintenance: readonly string[];
  readonly logLevel: string;
  /** What operators have set by hand, with the time of each. An older gateway does not say. */
  readonly set?: readonly {
    readonly what: string;
    readonly name: string;
    readonly on: boolean;
    readonly since: string;
  }[];
  /** The time of a rollback in force, and when its configuration first served; null without one. */
  readonly rolledBack?: { readonly since: string; readonly to: string } | null;
  readonly rssBytes: number;
  /** Its listening addresses. An older gateway does not say. */
  readonly listeners?: readonly LiveListener[];
}

/** A listener of `server`. */
export interface LiveListener {
  readonly name: string;
  /** `127.0.0.1:8080`, or `unix:/run/edge.sock`. */
  readonly address: string;
  /** `http`, or `https`, then `h2` and `h3`. */
  readonly protocols: readonly string[];
  /** Connections that are open. */
  readonly open: number;
}

/** One point of the past, for the charts. */
export type LivePoint = readonly [
  at: number,
  classes: readonly number[],
  latency: Percentiles,
  bytesIn: number,
  bytesOut: number,
  wafBlocked: number,
];

/** A finding's subject: the section of the dashboard that shows more of it. */
export type FindingTopic = "upstreams" | "slow" | "pressure" | "system" | "functions" | "log" | "changes";

/** Something that is not as it should be. */
export interface LiveFinding {
  /** Whether requests suffer from it, or will soon; else it is a note. */
  readonly isBad: boolean;
  readonly about: FindingTopic;
  readonly text: string;
}

/** Whether the gateway is well. The same for all who ask: verdict.ts */
export interface LiveVerdict {
  readonly word: "well" | "well, with notes" | "not well";
  readonly isWell: boolean;
  /** Share of 5xx among the responses of the last minute; null without any. */
  readonly errorShare: number | null;
  /** Why, the bad ones first. */
  readonly findings: readonly LiveFinding[];
}

/** A route of a source that does not serve, or a list of it that was left out. */
export interface LiveLoser {
  readonly source: string;
  readonly name: string;
  /** The path; "" for a list. */
  readonly route: string;
  readonly hosts: readonly string[];
  /** The source and the name of the route that serves; "" for a list. */
  readonly by: string;
  /** The first fault of a list; "" for a route. */
  readonly fault: string;
  /** Whether the last good routes of a list serve. */
  readonly isKept: boolean;
}

/** Where routes come from. docs/providers.md */
export interface LiveOrigins {
  readonly counts: Readonly<Record<string, number>>;
  /** Sources that cannot be reached: their last good routes serve. An older gateway does not say. */
  readonly away?: readonly { readonly source: string; readonly name: string; readonly error: string }[];
  /** The first of `loserCount`. */
  readonly losers: readonly LiveLoser[];
  readonly loserCount: number;
}

/** One event of `/internal/api/stream`. */
export interface LiveState {
  readonly at: number;
  readonly verdict: LiveVerdict;
  readonly gateway: LiveGateway;
  readonly totals: LiveTotals;
  /** Of the last second. */
  readonly latency: Percentiles;
  /** The busiest, of `routeCount`. */
  readonly routes: readonly LiveLabel[];
  readonly routeCount: number;
  readonly upstreams: readonly LiveLabel[];
  readonly targets: readonly LiveTarget[];
  readonly targetCount: number;
  /** The newest first. */
  readonly hits: readonly LiveHit[];
  readonly attackers: readonly LiveAttacker[];
  /** The newest first. An older gateway does not say. */
  readonly bans?: readonly LiveBan[];
  /** Null if it is off. */
  readonly cache: LiveCache | null;
  /** `notAfterS` in seconds since the epoch. */
  readonly certificates: readonly { readonly domain: string; readonly notAfterS: number }[];
  readonly workers: readonly LiveWorker[];
  /** The busiest first; empty if there are neither functions nor hooks. */
  readonly modules: readonly LiveModule[];
  /** An older gateway does not say. */
  readonly canaries?: readonly CanaryStanding[];
  /** An older gateway does not say. */
  readonly rooms?: readonly LiveRoom[];
  /** Objects of a cluster that edge does not serve; absent without one. */
  readonly unserved?: readonly UnservedObject[];
  /** The fastest burning first. An older gateway does not say. */
  readonly objectives?: readonly LiveObjective[];
  /** An older gateway does not say. */
  readonly sources?: LiveOrigins;
  /** The newest first. */
  readonly changes: readonly LiveChange[];
  /** Requests that ended since the last event, and how many more there were. */
  readonly rows: readonly LiveRow[];
  readonly rowsLeftOut: number;
  /** In the first event alone. */
  readonly history?: readonly LivePoint[];
}
