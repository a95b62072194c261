import type { ShownAddresses } from "../../core/address-mask.ts";
import { Fault, FaultKind } from "../../core/fault.ts";
import { faultDetailOf } from "../../core/fault-detail-rows.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { tookMs } from "../../message/took-ms.ts";
import { ja4Of } from "../../proto/tls/ja4.ts";
import type { LiveRow } from "./live-state.ts";

/** What a worker shows of its traffic since it did so last; it survives JSON. */
export interface SeenTraffic {
  readonly refused: readonly SeenRefusals[];
  readonly rows: readonly LiveRow[];
  readonly rowsLeftOut: number;
  readonly vitals: ThreadVitals;
}

/** The requests of one address that were refused for one reason. */
interface SeenRefusals {
  readonly address: string;
  readonly reason: string;
  count: number;
  path: string;
  userAgent: string;
  ja4: string;
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
interface ObserverPorts {
  /** Milliseconds since the epoch. */
  readonly clock: { readonly nowMs: number };
  /** The label of requests without a route. */
  readonly unmatched: string;
  /** How addresses are shown. */
  readonly addresses: ShownAddresses;
}

/**
 * Makes rows of a worker's requests while there are watchers of the dashboard, and of none without; what can be counted is read from
 * the counters that there are anyway. Everything that it keeps is bounded, and goes with `take` once a second.
 */
export class TrafficObserver {
  private readonly ports: ObserverPorts;
  private readonly refusals: Map<string, SeenRefusals> = new Map();
  private requests = 0;
  private rows: LiveRow[] = [];
  /** Rows of requests that went well for which there is room. */
  private roomForGood = MAX_ROWS / 2;

  constructor(ports: ObserverPorts) {
    this.ports = ports;
  }

  /** A request has ended. @param status as it is counted */
  ended(ex: Exchange, status: number): void {
    this.requests++;
    if (status >= 400 || ex.fault !== Fault.None || this.roomForGood > 0) this.look(ex, status);
  }

  /** Looks closer at a request that may be a row, or a refusal. */
  private look(ex: Exchange, status: number): void {
    const label = ex.route === null ? this.ports.unmatched : ex.route.label;
    if (label === STREAM_PATH) {
      this.requests--;
      return;
    }
    const reason = refusalOf(ex, status);
    if (reason !== "") this.refused(ex.clientIp, reason, ex);
    this.row(ex, status, label);
  }

  /** A client was refused. @param ex null if there is no request */
  refused(client: string, reason: string, ex: Exchange | null): void {
    const address = this.ports.addresses.of(client);
    const key = `${address} ${reason}`;
    let one = this.refusals.get(key);
    if (one === undefined) {
      if (this.refusals.size >= MAX_REFUSED) return;
      one = { address: cut(address), reason, count: 0, path: "", userAgent: "", ja4: "" };
      this.refusals.set(key, one);
    }
    one.count++;
    // The first request of a second tells enough, and only that one makes texts.
    if (ex === null || one.count > 1) return;
    one.path = pathOf(ex);
    one.userAgent = cut(ex.request.headers.valueOf(HeaderId.UserAgent));
    one.ja4 = ja4Of(ex.client);
  }

  /** Gives what was seen, and begins anew. */
  take(vitals: ThreadVitals): SeenTraffic {
    const { requests, rows } = this;
    const seen = { refused: [...this.refusals.values()], rows, rowsLeftOut: requests - rows.length, vitals };
    this.refusals.clear();
    this.rows = [];
    this.roomForGood = requests > BUSY_REQUESTS ? BUSY_GOOD_ROWS : MAX_ROWS / 2;
    this.requests = 0;
    return seen;
  }

  /**
   * Of requests that went well only so many are shown that there is room for the others; fewer if there are many, since a row costs as much
   * as counting a hundred requests.
   */
  private row(ex: Exchange, status: number, route: string): void {
    const isGood = status < 400;
    if (this.rows.length >= MAX_ROWS || (isGood && this.roomForGood === 0)) return;
    if (isGood) this.roomForGood--;
    const { request } = ex;
    this.rows.push({
      at: this.ports.clock.nowMs,
      address: cut(this.ports.addresses.of(ex.clientIp)),
      method: cut(request.methodText(), MAX_METHOD_CHARS),
      host: cut(request.authority()),
      path: pathOf(ex),
      protocol: request.major === 1 ? `1.${request.minor}` : String(request.major),
      status,
      ms: Math.round(tookMs(ex) * 1000) / 1000,
      bytesOut: ex.sentBytes,
      route: cut(route),
      upstream: cut(ex.attempt.upstreamLabel),
      cache: CACHE_RESULT_NAMES[ex.cacheResult]!,
      fault: ex.fault === Fault.None ? "" : faultRow(ex.fault).label,
      faultDetail: faultDetailOf(ex.fault, ex.attempt.detail),
      attempts: ex.attempt.sent,
      attemptMs: ex.attempt.timesUntil(ex.endedMs),
      userAgent: cut(request.headers.valueOf(HeaderId.UserAgent)),
      ja4: ja4Of(ex.client),
      id: cut(ex.response.requestId()),
    });
  }
}

/** Why the gateway itself refused a request; "" if it did not, or if it is no fault of the client. */
function refusalOf(ex: Exchange, status: number): string {
  if (ex.attempt.upstreamLabel !== "") return "";
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

/** Without the query, which may hold what is for the origin alone. */
function pathOf({ request }: Exchange): string {
  return request.targetTo > request.targetFrom ? cut(request.path()) : "";
}

function cut(text: string, chars: number = MAX_CHARS): string {
  return text.length > chars ? text.slice(0, chars) : text;
}

/** The one path whose requests last as long as the page is open. */
export const STREAM_PATH = "/internal/api/stream";
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
