import { Fault, FaultKind, faultRow } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { LatencySketch } from "../../shared/latency-sketch.ts";
import type { LiveRow } from "./live-state.ts";

/** What a worker has seen of its traffic since it said so last; it survives JSON. */
export interface SeenTraffic {
  /** Each with its durations as pairs of a LatencySketch: those of all requests are in the routes. */
  readonly routes: readonly SeenLabel[];
  readonly upstreams: readonly SeenLabel[];
  readonly refused: readonly SeenRefusals[];
  readonly rows: readonly LiveRow[];
  readonly rowsLeftOut: number;
  readonly vitals: ThreadVitals;
}

/** A route or an upstream in it. */
export interface SeenLabel {
  readonly label: string;
  readonly latency: readonly number[];
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The requests of one address that were refused for one reason. */
export interface SeenRefusals {
  readonly address: string;
  readonly reason: string;
  count: number;
  path: string;
  userAgent: string;
}

/** How a thread is. */
export interface ThreadVitals {
  /** Processor time since the thread began, in microseconds. */
  readonly cpuMicros: number;
  readonly lagMs: number;
  /** Bytes of its heap, memory that threads share left out. */
  readonly heap: number;
}

/** What the observer asks its surroundings for. */
export interface ObserverPorts {
  /** Milliseconds since the epoch. */
  readonly clock: { readonly nowMs: number };
  /** The label of requests without a route. */
  readonly unmatched: string;
  /** "" where the request did not pass the cache. */
  readonly cacheOf: (ex: Exchange) => string;
}

/**
 * Looks at a worker's requests while there are watchers of the dashboard, and at none without. Everything that it keeps is bounded,
 * and goes with `take` once a second. Of most requests it only notes a few numbers one after another, and adds them up many at a time:
 * between two requests the processor has forgotten where the sums are.
 */
export class TrafficObserver {
  private readonly ports: ObserverPorts;
  private readonly routes: TallyTable = new TallyTable();
  private readonly upstreams: TallyTable = new TallyTable();
  private readonly refusals: Map<string, SeenRefusals> = new Map();
  private readonly notes: Notes = new Notes();
  /** Requests that were added up. */
  private requests = 0;
  private rows: LiveRow[] = [];
  private goodRows = 0;
  private maxGoodRows = MAX_ROWS / 2;

  constructor(ports: ObserverPorts) {
    this.ports = ports;
  }

  /** A request has ended. @param status as it is counted */
  ended(ex: Exchange, status: number): void {
    const { notes } = this;
    notes.add(ex, ex.route === null ? this.ports.unmatched : ex.route.label);
    if (notes.isFull()) this.addUp();
    if (status >= 400 || ex.fault !== Fault.None || this.goodRows < this.maxGoodRows) this.look(ex, status);
  }

  /** Looks closer at a request that may be a row, or a refusal. */
  private look(ex: Exchange, status: number): void {
    const label = ex.route === null ? this.ports.unmatched : ex.route.label;
    if (label === STREAM_PATH) return;
    const reason = refusalOf(ex, status);
    if (reason !== "") this.refused(ex.clientIp, reason, ex);
    this.row(ex, status, label);
  }

  /** Adds up what was noted. */
  private addUp(): void {
    const { notes } = this;
    for (let i = 0; i < notes.size; i++) {
      const label = notes.routes[i]!;
      if (label === STREAM_PATH) continue;
      this.requests++;
      const at = i * NUMBERS;
      const ms = notes.numbers[at]!;
      if (ms >= 0) {
        const tally = this.routes.of(label);
        tally.latency.add(ms);
        tally.bytesIn += notes.numbers[at + 1]!;
        tally.bytesOut += notes.numbers[at + 2]!;
      }
      const upstream = notes.upstreams[i]!;
      const upstreamMs = notes.numbers[at + 3]!;
      if (upstream !== "" && upstreamMs >= 0) this.upstreams.of(upstream).latency.add(upstreamMs);
    }
    notes.size = 0;
  }

  /** A client was refused. @param ex null where there is no request */
  refused(address: string, reason: string, ex: Exchange | null): void {
    const key = `${address} ${reason}`;
    let one = this.refusals.get(key);
    if (one === undefined) {
      if (this.refusals.size >= MAX_REFUSED) return;
      one = { address: cut(address), reason, count: 0, path: "", userAgent: "" };
      this.refusals.set(key, one);
    }
    one.count++;
    // The first request of a second tells enough, and only that one makes texts.
    if (ex === null || one.count > 1) return;
    one.path = pathOf(ex);
    one.userAgent = cut(ex.request.headers.valueOf(HeaderId.UserAgent));
  }

  /** Gives what was seen, and begins anew. */
  take(vitals: ThreadVitals): SeenTraffic {
    this.addUp();
    const seen = {
      routes: this.routes.take(),
      upstreams: this.upstreams.take(),
      refused: [...this.refusals.values()],
      rows: this.rows,
      rowsLeftOut: this.requests - this.rows.length,
      vitals,
    };
    this.refusals.clear();
    this.maxGoodRows = this.requests > BUSY_REQUESTS ? BUSY_GOOD_ROWS : MAX_ROWS / 2;
    this.rows = [];
    this.goodRows = 0;
    this.requests = 0;
    return seen;
  }

  /**
   * Of requests that went well only so many are shown that there is room for the others; fewer where there are many, since a row costs as much
   * as counting a hundred requests.
   */
  private row(ex: Exchange, status: number, route: string): void {
    const isGood = status < 400;
    if (this.rows.length >= MAX_ROWS || (isGood && this.goodRows >= this.maxGoodRows)) return;
    if (isGood) this.goodRows++;
    const { request } = ex;
    this.rows.push({
      at: this.ports.clock.nowMs,
      address: cut(ex.clientIp),
      method: cut(request.methodText(), MAX_METHOD_CHARS),
      host: cut(request.authority()),
      path: pathOf(ex),
      protocol: request.major === 1 ? `1.${request.minor}` : String(request.major),
      status,
      ms: Math.round(tookMs(ex) * 1000) / 1000,
      bytesOut: ex.sentBytes,
      route: cut(route),
      upstream: cut(ex.upstreamLabel),
      cache: this.ports.cacheOf(ex),
      fault: ex.fault === Fault.None ? "" : faultRow(ex.fault).label,
      userAgent: cut(request.headers.valueOf(HeaderId.UserAgent)),
      id: cut(ex.reply.requestId()),
    });
  }
}

/** Why the gateway itself refused a request; "" where it did not, or where it is no fault of the client. */
function refusalOf(ex: Exchange, status: number): string {
  if (ex.upstreamLabel !== "") return "";
  const { kind, label } = faultRow(ex.fault);
  if (kind === FaultKind.Framing || kind === FaultKind.Limit) return label;
  if (ex.fault !== Fault.None && status === 403) return label;
  return REFUSALS[status] ?? "";
}

/** What statuses mean that come without a fault. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: "unauthenticated",
  403: "forbidden",
  429: "rate_limited",
};

/** Requests that have ended and are not yet added up, in the order in which they ended. */
class Notes {
  readonly routes: string[] = new Array(MAX_NOTES).fill("");
  readonly upstreams: string[] = new Array(MAX_NOTES).fill("");
  /** Of each: milliseconds (below 0 where its head was refused), bytes of its body, bytes sent, milliseconds of its upstream. */
  readonly numbers: Float64Array = new Float64Array(MAX_NOTES * NUMBERS);
  size = 0;

  add(ex: Exchange, route: string): void {
    const { numbers, size } = this;
    const at = size * NUMBERS;
    this.routes[size] = route;
    this.upstreams[size] = ex.upstreamLabel;
    numbers[at] = ex.step > 0 ? tookMs(ex) : -1;
    numbers[at + 1] = ex.bodyBytes;
    numbers[at + 2] = ex.sentBytes;
    numbers[at + 3] = ex.upstreamMs;
    this.size = size + 1;
  }

  isFull(): boolean {
    return this.size === MAX_NOTES;
  }
}

function tookMs(ex: Exchange): number {
  return ex.startedMs > 0 ? ex.endedMs - ex.startedMs : 0;
}

class LabelTally {
  readonly latency: LatencySketch = new LatencySketch();
  bytesIn = 0;
  bytesOut = 0;
}

/** Tallies by label. */
class TallyTable {
  private readonly tallies: Map<string, LabelTally> = new Map();
  /** The last one that was asked for: many requests go the way of the one before. */
  private lastLabel = "";
  private last: LabelTally | null = null;

  /** Those that come too late share one. */
  of(label: string): LabelTally {
    if (this.last !== null && this.lastLabel === label) return this.last;
    const { tallies } = this;
    const name = tallies.has(label) || tallies.size < MAX_LABELS ? label : OTHERS;
    let tally = tallies.get(name);
    if (tally === undefined) {
      tally = new LabelTally();
      tallies.set(name, tally);
    }
    this.lastLabel = label;
    this.last = tally;
    return tally;
  }

  /** What was seen of each label, and begins anew. Those that were not seen make room. */
  take(): SeenLabel[] {
    const seen: SeenLabel[] = [];
    for (const [label, tally] of this.tallies) {
      const { latency, bytesIn, bytesOut } = tally;
      if (latency.count === 0) {
        this.tallies.delete(label);
        continue;
      }
      seen.push({ label, latency: latency.pairs(), bytesIn, bytesOut });
      latency.clear();
      tally.bytesIn = 0;
      tally.bytesOut = 0;
    }
    this.last = null;
    return seen;
  }
}

/** Without the query, which may hold what is for the origin alone. */
function pathOf({ request }: Exchange): string {
  return request.targetTo > request.targetFrom ? cut(request.path()) : "";
}

function cut(text: string, chars: number = MAX_CHARS): string {
  return text.length > chars ? text.slice(0, chars) : text;
}

/** The one path whose requests last as long as the page is open. */
export const STREAM_PATH = "/internal/api/stream";
/** Requests that are added up at once. */
const MAX_NOTES = 256;
/** Numbers of each. */
const NUMBERS = 4;
const OTHERS = "overflow";
/** Labels that a worker tells apart in one second. */
const MAX_LABELS = 512;
/** Addresses with a reason that it tells apart in one second. */
const MAX_REFUSED = 256;
/** Rows that it gives a second. */
const MAX_ROWS = 40;
/** Those of requests that went well among them, in the second after one with more requests than these. */
const BUSY_GOOD_ROWS = 6;
const BUSY_REQUESTS = 200;
/** Characters of a text of a client. */
const MAX_CHARS = 200;
const MAX_METHOD_CHARS = 20;
