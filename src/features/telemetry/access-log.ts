import { Fault, faultRow } from "../../core/fault.ts";
import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { RequestNamer } from "../../message/ports.ts";
import { Method, methodName } from "../../message/request-head.ts";
import { countedStatus } from "./counters-tap.ts";
import { IsoTime, jsonText, jsonTextOrNull, type LogBatch } from "./log-batch.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/** What the access log asks its surroundings for. */
export interface AccessLogPorts {
  /** Milliseconds since the epoch. */
  readonly clock: { readonly nowMs: number };
  /** A number from 0 up to 1, never 1, for sampling. */
  readonly random: () => number;
  /** Such as `HTTP/1.1`. */
  readonly protocolOf: (ex: Exchange) => string;
  /** What the cache did: `hit`, `miss` …; "" when the request did not pass it. */
  readonly cacheOf: (ex: Exchange) => string;
  /** Whether lines have `user`: where `auth` is configured. */
  readonly namesUsers: boolean;
  /** The client's country; "" where it is not known. Null where lines have no such field. */
  readonly countryOf: ((ex: Exchange) => string) | null;
  /** For requests that were refused before anything else named them. */
  readonly names: RequestNamer;
}

/**
 * One JSON line a request, event `access`. What is not known is null. `path` is the path as it came, without the query,
 * which may hold what does not belong into a log; `fault` is why it was refused or cut. docs/operations.md#log
 */
export class AccessLog implements ReplyTap {
  readonly name = "accessLog";
  private readonly batch: LogBatch;
  private readonly sample: number;
  private readonly ports: AccessLogPorts;
  private readonly isoTime = new IsoTime();

  /** @param sample share of the requests that are logged, 0 to 1 */
  constructor(batch: LogBatch, sample: number, ports: AccessLogPorts) {
    this.batch = batch;
    this.sample = sample;
    this.ports = ports;
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    if (this.sample < 1 && this.ports.random() >= this.sample) return;
    this.batch.add(this.line(ex));
  }

  private line(ex: Exchange): string {
    const { request } = ex;
    if (ex.fault !== Fault.None) this.ports.names.idOf(ex);
    const durationMs = ex.startedMs > 0 ? ex.endedMs - ex.startedMs : 0;
    const userAgent = request.headers.valueOf(HeaderId.UserAgent);
    const path = request.targetTo > request.targetFrom ? request.path() : "";
    const route = ex.route === null ? UNMATCHED_LABEL : ex.route.label;
    return (
      `{"time":"${this.isoTime.text(this.ports.clock.nowMs)}","event":"access"` +
      `,"request_id":${jsonTextOrNull(ex.reply.requestId(), MAX_REQUEST_ID)}` +
      `,"client_ip":${jsonText(ex.clientIp, MAX_ADDRESS)}` +
      this.country(ex) +
      `,"method":${methodText(ex)}` +
      `,"host":${jsonTextOrNull(request.authority(), MAX_HOST)}` +
      `,"path":${jsonTextOrNull(path, MAX_PATH)}` +
      `,"protocol":"${this.ports.protocolOf(ex)}"` +
      `,"status":${countedStatus(ex)}` +
      `,"bytes_in":${ex.bodyBytes},"bytes_out":${ex.sentBytes}` +
      `,"duration_ms":${milliseconds(durationMs)}` +
      `,"upstream":${jsonTextOrNull(ex.upstreamLabel, MAX_LABEL)}` +
      `,"upstream_ms":${ex.upstreamMs < 0 ? "null" : milliseconds(ex.upstreamMs)}` +
      `,"route":${jsonText(route, MAX_LABEL)}` +
      `,"cache":${jsonTextOrNull(this.ports.cacheOf(ex), MAX_LABEL)}` +
      `,"waf_score":${ex.wafScore}` +
      `,"user_agent":${jsonTextOrNull(userAgent, MAX_USER_AGENT)}` +
      (this.ports.namesUsers ? `,"user":${jsonTextOrNull(ex.identity?.user ?? "", MAX_USER)}` : "") +
      `,"fault":${ex.fault === Fault.None ? "null" : `"${faultRow(ex.fault).label}"`}}\n`
    );
  }

  private country(ex: Exchange): string {
    const { countryOf } = this.ports;
    return countryOf === null ? "" : `,"country":${jsonTextOrNull(countryOf(ex), MAX_LABEL)}`;
  }
}

/** The method as JSON; known ones need no look at the bytes (100 ns). */
function methodText({ request }: Exchange): string {
  if (request.method !== Method.Other) return `"${methodName(request.method)}"`;
  return jsonTextOrNull(request.methodText(), MAX_METHOD);
}

/** Milliseconds with three places, which is what the clock is good for. */
function milliseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

const MAX_REQUEST_ID = 128;
const MAX_ADDRESS = 64;
const MAX_METHOD = 32;
const MAX_HOST = 255;
const MAX_PATH = 1024;
const MAX_LABEL = 256;
const MAX_USER_AGENT = 256;
const MAX_USER = 256;

/** Fields of an `access` line, in their order. */
export const ACCESS_FIELDS: Readonly<Record<string, string>> = {
  time: "When the request ended, in UTC.",
  event: "`access`.",
  request_id: "The X-Request-Id that the upstream got; null where the request was sent to none.",
  client_ip: "The client's address, as `trusted_proxies` or `proxy_protocol` gives it.",
  country:
    "The client's country by `server.geo`, in two letters; null where it is not known. Only with `geo.country_db`.",
  method: "The method.",
  host: "The Host of the request.",
  path: "The path as it was received, without the query.",
  protocol: "HTTP/1.0, HTTP/1.1, HTTP/2.0 or HTTP/3.0.",
  status: "The status of the response; 499 where the client closed before there was one.",
  bytes_in: "Bytes of the request body, decoded.",
  bytes_out: "Bytes of the response body.",
  duration_ms: "From the first byte of the request to the end of the response.",
  upstream: "The last upstream that the request was sent to; null where there was none.",
  upstream_ms: "Time to the head of its response; null where none came.",
  route: "The prefix, path or pattern of the route; `unmatched` without one.",
  cache: "hit, miss, stale and so on; null where the cache was not consulted.",
  waf_score: "The anomaly score.",
  user_agent: "The User-Agent of the request.",
  user: "The user whom `auth` let in, null without one; there only where `auth` is configured.",
  fault:
    "Why the request was refused or cut: upstream_timeout, body_too_large, waf_blocked, cancelled and so on; else null.",
};
