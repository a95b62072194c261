import type { CanaryStanding } from "../../core/canary-standing.ts";
import type { ControlService } from "../../core/control-service.ts";
import { FaultKind } from "../../core/fault.ts";
import { type Percentiles, percentilesOf } from "../../core/latency-sketch.ts";
import type { Takers } from "../../core/message-takers.ts";
import { SECRET_VALUES } from "../../core/secret-values.ts";
import type { UnservedObject } from "../../core/unserved-object.ts";
import { COUNTERS } from "../../memory/counter-rows.ts";
import type { CounterTotals, LabelledCount, RequestSeries } from "../../memory/counter-totals.ts";
import type { Incident, IncidentReader } from "../../memory/incident-ring.ts";
import { BLOCK_PLACES, STEP_BOUNDS_MS, STEPS_AT } from "../../memory/traffic-blocks.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import { Attackers } from "./attackers.ts";
import type { DashboardWord } from "./dashboard-messages.ts";
import { LabelTraffic } from "./label-traffic.ts";
import type {
  LiveBan,
  LiveCache,
  LiveChange,
  LiveGateway,
  LiveHit,
  LiveLabel,
  LiveModule,
  LiveObjective,
  LiveOrigins,
  LivePoint,
  LiveRoom,
  LiveRow,
  LiveState,
  LiveTarget,
  LiveTotals,
  LiveWorker,
} from "./live-state.ts";
import { type SeenTraffic, STREAM_PATH, type ThreadVitals } from "./traffic-observer.ts";
import { troubleOf, verdict } from "./verdict.ts";
import { watchRefusal } from "./watchers.ts";

/** What the feed is made of; each is asked anew for every event. */
export interface FeedPorts {
  readonly totals: CounterTotals;
  readonly incidents: IncidentReader;
  readonly workers: number;
  /** Whether a worker moves. */
  readonly moves: (worker: number) => boolean;
  readonly gateway: () => LiveGateway;
  readonly targets: () => readonly LiveTarget[];
  readonly certificates: () => LiveState["certificates"];
  /** Null if it is off. */
  readonly cache: () => Omit<LiveCache, "results"> | null;
  /** Modules of functions and hooks, with counts since the start. */
  readonly modules: () => readonly LiveModule[];
  readonly objectives: () => readonly LiveObjective[];
  readonly canaries: () => readonly CanaryStanding[];
  readonly rooms: () => readonly LiveRoom[];
  /** So many of the newest bans. */
  readonly bans: (count: number) => readonly LiveBan[];
  /** Objects of a cluster that are not served; absent: there is no cluster. */
  readonly unserved?: () => readonly UnservedObject[];
  readonly sources: () => LiveOrigins;
  /** The line that silences the rule of an incident where it was found. */
  readonly exclusionOf: (incident: Incident) => string;
  /** Tells all workers whether to show rows of their traffic. */
  readonly observe: (isWatched: boolean) => void;
  /** Sends an event to the watchers of one worker. */
  readonly send: (worker: number, text: string) => void;
}

/** An event of the log that the control thread wrote. */
type EventFields = Readonly<Record<string, unknown>>;

/**
 * The control thread's end of the live stream: once a second, while there are watchers, it makes one event of the counters, of what the
 * workers have seen, and of what it knows itself. Without watchers it looks at the counters every few seconds, so that the
 * charts have a past. docs/dashboard.md#the-stream
 */
export class LiveFeed implements ControlService<unknown> {
  readonly onMessage: Takers<DashboardWord> = {
    watchers: ({ count }, worker) => this.setWatchers(worker, count),
    seen: ({ seen }, worker) => this.seen(worker, JSON.parse(seen) as SeenTraffic),
    audited: ({ fields }) => this.changed("audit", fields),
  };
  private readonly from: FeedPorts;
  /** Watchers by worker. */
  private readonly watchers: Int32Array;
  private readonly points: LivePoint[] = [];
  private readonly changes: LiveChange[] = [];
  /** Who wanted what the next event of this name tells of. */
  private readonly askers: Map<string, EventFields> = new Map();
  private readonly routes: LabelTraffic;
  private readonly upstreams: LabelTraffic;
  private readonly attackers: Attackers = new Attackers();
  private readonly vitals: (ThreadVitals | null)[];
  private readonly loads: number[];
  private rows: LiveRow[] = [];
  private rowsLeftOut = 0;
  /** The traffic of all routes at the last look. */
  private before: Float64Array = new Float64Array(BLOCK_PLACES);
  private incidentsSeenMs = 0;
  private isObserved = false;
  private ticks = 0;
  private certificates: LiveState["certificates"] = [];
  private certificatesAt = 0;
  private timer: Timer | null = null;

  constructor(sources: FeedPorts) {
    this.from = sources;
    this.routes = new LabelTraffic(sources.totals.routeTraffic, STREAM_PATH);
    this.upstreams = new LabelTraffic(sources.totals.upstreamTraffic, "");
    this.watchers = new Int32Array(sources.workers);
    this.vitals = Array.from({ length: sources.workers }, () => null);
    this.loads = Array.from({ length: sources.workers }, () => -1);
  }

  /** Begins to look. */
  begin(): void {
    this.timer ??= setInterval(() => this.tick(Date.now()), TICK_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** A client of this worker wants to watch. @returns the first event, or a refusal */
  watch(worker: number): { status: number; contentType: string; body: string } {
    if (this.watcherCount() >= MAX_WATCHERS) return watchRefusal(`there are ${MAX_WATCHERS} watchers already`);
    this.watchers[worker]!++;
    this.observe();
    const state: LiveState = { ...this.state(Date.now()), rows: [], history: this.points };
    return { status: 200, contentType: "application/json", body: JSON.stringify(state) };
  }

  /** So many streams of this worker are open. */
  setWatchers(worker: number, count: number): void {
    this.watchers[worker] = count;
    this.observe();
  }

  /** A worker has begun to serve: it learns whether to look. */
  workerReady(): void {
    if (this.isObserved) this.from.observe(true);
  }

  workerDied(worker: number): void {
    this.setWatchers(worker, 0);
    this.vitals[worker] = null;
    this.loads[worker] = -1;
  }

  /** Takes what a worker has seen. */
  seen(worker: number, seen: SeenTraffic): void {
    const nowMs = Date.now();
    for (const one of seen.refused) this.attackers.add(one, nowMs);
    const room = Math.max(0, MAX_ROWS - this.rows.length);
    this.rows.push(...seen.rows.slice(0, room));
    this.rowsLeftOut += seen.rowsLeftOut + Math.max(0, seen.rows.length - room);
    const before = this.vitals[worker];
    if (before) this.loads[worker] = Math.max(0, seen.vitals.cpuMicros - before.cpuMicros) / (TICK_MS * 1000);
    this.vitals[worker] = seen.vitals;
  }

  /** The control thread has written an event to the log. */
  changed(event: string, fields: EventFields): void {
    if (PASSED_OVER.has(event)) return;
    if (event === "audit" && this.isToldOf(fields)) return;
    const bad = fields.ok === false || BAD.has(event);
    const whose = this.askers.get(event) ?? {};
    this.askers.delete(event);
    this.changes.unshift({ at: Date.now(), event, text: textOf({ ...fields, ...whose }), bad });
    // A breaker that opens and closes all day must not push out the reload that it began with.
    const alike = this.changes.filter((one) => one.event === event);
    if (alike.length > MAX_ALIKE) this.changes.splice(this.changes.indexOf(alike.at(-1)!), 1);
    else if (this.changes.length > MAX_CHANGES) this.changes.pop();
  }

  /**
   * Whether an action has an event of its own, which comes before its line `audit` or after it: what was done is then one change,
   * with who wanted it.
   */
  private isToldOf({ action, by, from }: EventFields): boolean {
    const event = OUTCOMES[String(action)];
    if (event === undefined) return false;
    const isIt = (one: LiveChange) =>
      one.event === event && Date.now() - one.at < SAME_ACTION_MS && !one.text.includes(", from: ");
    const at = this.changes.findIndex(isIt);
    const text = textOf({ by, from });
    if (at < 0) this.askers.set(event, { by, from });
    else
      this.changes[at] = {
        ...this.changes[at]!,
        text: `${this.changes[at]!.text}, ${text}`.slice(0, MAX_CHANGE_CHARS),
      };
    return true;
  }

  /** One look. @param nowMs milliseconds since the epoch */
  tick(nowMs: number): void {
    const isWatched = this.watcherCount() > 0;
    if (!isWatched && this.ticks++ % TICKS_UNWATCHED !== 0) return;
    this.addPoint(nowMs);
    if (!isWatched) return;
    this.routes.look();
    this.upstreams.look();
    const text = SECRET_VALUES.masked(JSON.stringify(this.state(nowMs)));
    for (let worker = 0; worker < this.watchers.length; worker++) {
      if (this.watchers[worker]! > 0) this.from.send(worker, text);
    }
    this.rows = [];
    this.rowsLeftOut = 0;
  }

  private observe(): void {
    const isWatched = this.watcherCount() > 0;
    if (isWatched === this.isObserved) return;
    this.isObserved = isWatched;
    if (isWatched) this.addIncidents();
    else this.incidentsSeenMs = Date.now();
    this.from.observe(isWatched);
    for (const traffic of [this.routes, this.upstreams]) {
      if (isWatched) traffic.start();
      else traffic.stop();
    }
    this.vitals.fill(null);
    this.loads.fill(-1);
  }

  /** While there was no watcher, refusals of the firewall alone were kept. */
  private addIncidents(): void {
    for (const one of this.from.incidents.recent(MAX_PAST_INCIDENTS, this.incidentsSeenMs).reverse()) {
      if (one.action !== "blocked") continue;
      const refused = {
        address: one.clientIp,
        reason: "waf_blocked",
        count: 1,
        path: one.path,
        userAgent: "",
        ja4: "",
      };
      this.attackers.add(refused, one.timestampMs);
    }
  }

  private watcherCount(): number {
    return this.watchers.reduce((sum, count) => sum + count, 0);
  }

  private addPoint(nowMs: number): void {
    const { totals } = this.from;
    const now = totals.routeTraffic.ofClients();
    const latency = percentilesOf(now.map((count, i) => count - this.before[i]!).subarray(STEPS_AT), STEP_BOUNDS_MS);
    this.before = now;
    const { bytesIn, bytesOut } = totals.bodyBytes();
    // A clock that was set back begins a new past.
    if (nowMs < (this.points.at(-1)?.[0] ?? 0)) this.points.length = 0;
    this.points.push([
      nowMs,
      classesOf(totals.requests()),
      rounded(latency),
      bytesIn,
      bytesOut,
      sum(totals.wafBlocked()),
    ]);
    while (this.points.length > MAX_POINTS || nowMs - this.points[0]![0] > HISTORY_MS) this.points.shift();
  }

  private state(nowMs: number): LiveState {
    const { totals, from } = { totals: this.from.totals, from: this.from };
    const requests = totals.requests();
    const targets = from.targets();
    const [routes, routeCount] = busiest(requests, this.routes);
    const [upstreams] = busiest(totals.upstreamRequests(), this.upstreams);
    if (nowMs - this.certificatesAt > CERTIFICATES_MS) {
      this.certificates = from.certificates();
      this.certificatesAt = nowMs;
    }
    const modules = from.modules();
    const judged = {
      at: nowMs,
      gateway: from.gateway(),
      totals: totalsOf(totals, requests),
      workers: this.workers(),
      targets,
      modules,
      objectives: from.objectives(),
      certificates: this.certificates,
      sources: from.sources(),
    };
    return {
      ...judged,
      verdict: verdict(judged, this.points),
      latency: this.points.at(-1)?.[2] ?? null,
      routes,
      routeCount,
      upstreams,
      targets: [...targets].sort((a, b) => troubleOf(b) - troubleOf(a)).slice(0, MAX_TARGETS),
      targetCount: targets.length,
      hits: from.incidents.recent(MAX_HITS, 0).map((one) => this.hitOf(one)),
      attackers: this.attackers.worst(nowMs),
      bans: from.bans(MAX_BANS),
      cache: this.cache(),
      certificates: this.certificates.slice(0, MAX_CERTIFICATES),
      modules: shownModules(modules),
      canaries: from.canaries().slice(0, MAX_LABELS),
      rooms: from.rooms().slice(0, MAX_LABELS),
      ...unservedIn(from.unserved?.() ?? []),
      objectives: [...judged.objectives].sort((a, b) => b.burn[0]! - a.burn[0]!).slice(0, MAX_LABELS),
      changes: this.changes,
      rows: this.rows.sort((a, b) => a.at - b.at),
      rowsLeftOut: this.rowsLeftOut,
    };
  }

  private hitOf(one: Incident): LiveHit {
    return {
      at: one.timestampMs,
      address: one.clientIp,
      method: one.method,
      path: one.path.slice(0, MAX_TEXT),
      category: one.category,
      rule: one.ruleId,
      score: one.anomalyScore,
      action: one.action,
      snippet: one.payloadSnippet.slice(0, MAX_TEXT),
      exclusion: this.from.exclusionOf(one),
    };
  }

  private cache(): LiveCache | null {
    const cache = this.from.cache();
    if (cache === null) return null;
    const names = CACHE_RESULT_NAMES.map((name, i) => [name, this.from.totals.cachePassed(i)] as const);
    return { ...cache, results: Object.fromEntries(names.slice(1)) };
  }

  private workers(): LiveWorker[] {
    return this.vitals.map((vitals, worker) => ({
      requests: this.from.totals.requestsOf(worker),
      connections: this.from.totals.ofWorker(worker, COUNTERS.activeConnections),
      load: this.loads[worker]!,
      lagMs: vitals?.lagMs ?? 0,
      heap: vitals?.heap ?? 0,
      moves: this.from.moves(worker),
    }));
  }
}

/** The busiest modules. */
function shownModules(modules: readonly LiveModule[]): LiveModule[] {
  const all = [...modules].sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
  return all.slice(0, MAX_LABELS).map((one) => ({ ...one, latency: rounded(one.latency) }));
}

/** The busiest labels with what was counted of them, and how many labels there are. */
function busiest(series: readonly RequestSeries[], traffic: LabelTraffic): [shown: LiveLabel[], count: number] {
  const all = [...Map.groupBy(series, ({ label }) => label)].map(([label, own]) => ({
    label,
    requests: own.reduce((total, { count }) => total + count, 0),
    own,
  }));
  all.sort((a, b) => traffic.weightOf(b.label) - traffic.weightOf(a.label) || b.requests - a.requests);
  const shown = all.slice(0, MAX_LABELS).map(({ label, requests, own }) => ({
    label,
    requests,
    classes: classesOf(own),
    latency: rounded(traffic.percentilesOf(label)),
    bytesPerSecond: traffic.bytesPerSecond(label),
  }));
  return [shown, all.length];
}

function totalsOf(totals: CounterTotals, requests: readonly RequestSeries[]): LiveTotals {
  return {
    requests: requests.reduce((total, { count }) => total + count, 0),
    classes: classesOf(requests),
    ...totals.bodyBytes(),
    inFlight: totals.sum(COUNTERS.requestsInFlight),
    connections: totals.sum(COUNTERS.activeConnections),
    accepted: totals.sum(COUNTERS.acceptedConnections),
    wafInspected: totals.sum(COUNTERS.wafInspected),
    wafBlocked: sum(totals.wafBlocked()),
    wafDetected: sum(totals.wafDetected()),
    refusals: {
      malformed: sum(totals.faults(FaultKind.Framing)),
      tls: sum(totals.faults(FaultKind.Tls)),
      limits: sum(totals.faults(FaultKind.Limit)),
      rate: sum(totals.rateLimited()),
      credentials:
        totals.sum(COUNTERS.authRefused) + totals.sum(COUNTERS.authForbidden) + totals.sum(COUNTERS.authGuessed),
      bots: totals.sum(COUNTERS.botPages) + totals.sum(COUNTERS.botJson),
    },
    breakerTrips: sum(totals.breakerTrips()),
    logDropped: totals.sum(COUNTERS.logLinesDropped),
  };
}

function classesOf(series: readonly RequestSeries[]): number[] {
  const classes = [0, 0, 0, 0, 0, 0];
  for (const { status, count } of series) classes[Math.floor(status / 100)]! += count;
  return classes;
}

function sum(counts: readonly LabelledCount[]): number {
  return counts.reduce((total, { count }) => total + count, 0);
}

/** Three digits are what they are good for. */
function rounded(latency: Percentiles): Percentiles {
  return latency === null ? null : (latency.map((ms) => Number(ms.toPrecision(3))) as unknown as Percentiles);
}

function textOf(fields: EventFields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== null && value !== "");
  const parts = known.map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join("; ") : value}`);
  return parts.join(", ").slice(0, MAX_CHANGE_CHARS);
}

/** Streams that may be open at once, all workers together. */
const MAX_WATCHERS = 32;
const TICK_MS = 1000;
/** Without watchers the counters are examined once in so many ticks. */
const TICKS_UNWATCHED = 5;
const MAX_POINTS = 900;
const HISTORY_MS = 15 * 60_000;
const MAX_CHANGES = 60;
/** Changes of one kind among them. */
const MAX_ALIKE = 15;
const MAX_CHANGE_CHARS = 400;
/** Routes, and upstreams, of one event. */
const MAX_LABELS = 100;
const MAX_TARGETS = 200;
const MAX_BANS = 20;
const MAX_HITS = 30;
const MAX_TEXT = 200;
const MAX_PAST_INCIDENTS = 1000;
const MAX_CERTIFICATES = 100;
const CERTIFICATES_MS = 10_000;
/** Rows of one event. */
const MAX_ROWS = 60;
/** Said elsewhere, or of no interest after the start. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  "start",
  "upstream_failed",
  "log_dropped",
  "function_log",
  "function_failed",
]);
/** Actions of operators by the event that tells what came of them. */
const OUTCOMES: Readonly<Record<string, string>> = {
  ban: "client_banned",
  ban_lift: "ban_lifted",
  reload: "config_reload",
  upgrade: "upgrade",
  stop: "draining",
  log_reopen: "log_reopen",
};
const SAME_ACTION_MS = 5000;
const BAD: ReadonlySet<string> = new Set([
  "worker_died",
  "canary_aborted",
  "worker_stalled",
  "worker_failed",
  "upstream_unhealthy",
  "breaker_open",
  "cert_failed",
  "jwks_failed",
  "log_failed",
  "exception",
  "drain_cut",
  "config_source_away",
  "config_not_kept",
  "function_load_failed",
  "function_thread_ended",
]);

function unservedIn(unserved: readonly UnservedObject[]): Pick<LiveState, "unserved"> {
  return unserved.length === 0 ? {} : { unserved: unserved.slice(0, MAX_LABELS) };
}
