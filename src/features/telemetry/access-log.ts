import { Fault } from "../../core/fault.ts";
import { faultDetailOf } from "../../core/fault-detail-rows.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { Method, methodName } from "../../message/request-head.ts";
import type { RoutePolicies } from "../../message/route-policies.ts";
import { hexOf } from "../../proto/trace/trace-context.ts";
import type { AccessLogConfig } from "./access-log-settings.ts";
import { countedStatus } from "./counters-tap.ts";
import { compileFilter, type LineFilter, pathFilter } from "./line-filter.ts";
import { type AccessLogPorts, FIELD_CHARS, type LineForm, type LineWriter, lineWriter } from "./line-formats.ts";
import { IsoTime, jsonText, jsonTextOrNull, type LogBatch } from "./log-batch.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/**
 * One line a request: of JSON, event `access`, unless a format says otherwise. What is not known is null. `path` is the path as it came, without the query,
 * which may hold what does not belong into a log; `fault` is why it was refused or cut. docs/operations.md#log
 */
export class AccessLog implements ResponseTap {
  readonly name = "accessLog";
  private readonly policies: RoutePolicies<LinePolicy | null>;
  private readonly ports: AccessLogPorts;
  private readonly isoTime = new IsoTime();
  /** The server's policy, if no route has its own. */
  private readonly only: LinePolicy | null | undefined;

  constructor(policies: RoutePolicies<LinePolicy | null>, ports: AccessLogPorts) {
    this.policies = policies;
    this.only = policies.only;
    this.ports = ports;
  }

  /** The same for listeners whose routes are not in the policies: the server's is for all their requests. */
  get ofServer(): AccessLog {
    return new AccessLog(this.policies.ofServer, this.ports);
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const policy = this.only === undefined ? this.policies.of(ex) : this.only;
    if (policy === null) return;
    const { threshold, random } = this.ports;
    if (!policy.isApart && threshold.isQuiet) return;
    if (policy.excludes?.(ex) === true || policy.only?.(ex) === false) return;
    if (policy.sample < 1 && !threshold.isVerbose && random() >= policy.sample) return;
    if (policy.own === null) policy.batch.add(this.line(ex));
    else {
      if (ex.fault !== Fault.None) this.ports.names.idOf(ex);
      policy.batch.add(policy.own(ex));
    }
  }

  /** The usual fields: what the readers of line-formats.ts give, without a call for each. */
  private line(ex: Exchange): string {
    const { request } = ex;
    if (ex.fault !== Fault.None) this.ports.names.idOf(ex);
    const durationMs = ex.startedMs > 0 ? ex.endedMs - ex.startedMs : 0;
    const userAgent = request.headers.valueOf(HeaderId.UserAgent);
    const path = request.targetTo > request.targetFrom ? request.path() : "";
    const route = ex.route === null ? UNMATCHED_LABEL : ex.route.label;
    const target = jsonTextOrNull(ex.attempt.upstreamLabel, FIELD_CHARS.label);
    return (
      `{"time":"${this.isoTime.text(this.ports.clock.nowMs)}","event":"access"` +
      `,"request_id":${jsonTextOrNull(ex.response.requestId(), FIELD_CHARS.request_id)}` +
      `,"client_ip":${jsonText(this.clientOf(ex), FIELD_CHARS.client_ip)}` +
      this.country(ex) +
      `,"method":${methodText(ex)}` +
      `,"host":${jsonTextOrNull(request.authority(), FIELD_CHARS.host)}` +
      `,"path":${jsonTextOrNull(path, FIELD_CHARS.path)}` +
      `,"protocol":"${request.protocol()}"` +
      `,"status":${countedStatus(ex)}` +
      `,"bytes_in":${ex.bodyBytes},"bytes_out":${ex.sentBytes}` +
      `,"duration_ms":${milliseconds(durationMs)}` +
      `,"upstream":${target}` +
      `,"upstream_ms":${ex.attempt.upstreamMs < 0 ? "null" : milliseconds(ex.attempt.upstreamMs)}` +
      `,"route":${jsonText(route, FIELD_CHARS.label)}` +
      `,"cache":${jsonTextOrNull(CACHE_RESULT_NAMES[ex.cacheResult]!, FIELD_CHARS.label)}` +
      `,"waf_score":${ex.wafScore}` +
      `,"user_agent":${jsonTextOrNull(userAgent, FIELD_CHARS.user_agent)}` +
      (this.ports.namesTraces ? `,"trace_id":${ex.trace === null ? "null" : `"${hexOf(ex.trace.traceId)}"`}` : "") +
      (this.ports.namesUsers ? `,"user":${jsonTextOrNull(ex.identity?.user ?? "", FIELD_CHARS.user)}` : "") +
      (this.ports.namesListeners === true ? `,"listener":${jsonTextOrNull(ex.listenerName, FIELD_CHARS.label)}` : "") +
      faultText(ex) +
      `,"target":${target},"attempts":${ex.attempt.sent},"attempt_ms":[${ex.attempt.timesUntil(ex.endedMs)}]}\n`
    );
  }

  private clientOf(ex: Exchange): string {
    const { addresses } = this.ports;
    return addresses.bits === null ? ex.clientIp : addresses.of(ex.clientIp);
  }

  private country(ex: Exchange): string {
    return this.ports.namesCountries ? `,"country":${jsonTextOrNull(ex.country, FIELD_CHARS.label)}` : "";
  }
}

function faultText({ fault, attempt }: Exchange): string {
  if (fault === Fault.None) return NO_FAULT;
  return `,"fault":"${faultRow(fault).label}","fault_detail":"${faultDetailOf(fault, attempt.detail)}"`;
}

const NO_FAULT = ',"fault":null,"fault_detail":null';

/** The method as JSON; known ones need no look at the bytes (100 ns). */
function methodText({ request }: Exchange): string {
  if (request.method !== Method.Other) return `"${methodName(request.method)}"`;
  return jsonTextOrNull(request.methodText(), FIELD_CHARS.method);
}

/** Milliseconds with three places, which is what the clock is good for. */
function milliseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** What becomes of a request's line: of the server, or of one route. */
interface LinePolicy {
  readonly batch: Pick<LogBatch, "add">;
  /** Whether the lines have outputs of their own: only `debug` has a say in those. */
  readonly isApart: boolean;
  /** Share of the requests that are logged, 0 to 1. */
  readonly sample: number;
  /** Null for the usual fields in JSON. */
  readonly own: LineWriter | null;
  /** Null without `only`. */
  readonly only: LineFilter | null;
  /** Null without `exclude`. */
  readonly excludes: LineFilter | null;
}

/** Makes the policy of settings that are in force; null if they log nothing. @param batch the lines go there */
export function linePolicy(
  settings: LineForm & Pick<AccessLogConfig, "enabled" | "sample" | "only" | "exclude">,
  batch: LinePolicy["batch"],
  isApart: boolean,
  ports: AccessLogPorts,
): LinePolicy | null {
  const { enabled, sample, format, fields, only, exclude } = settings;
  if (!enabled) return null;
  return {
    batch,
    isApart,
    sample,
    own: format === "json" && fields.length === 0 ? null : lineWriter({ format, fields }, ports),
    only: only === "" ? null : filterOf(only),
    excludes: exclude.paths.length === 0 ? null : pathFilter(exclude.paths),
  };
}

function filterOf(source: string): LineFilter {
  const filter = compileFilter(source);
  if (typeof filter !== "function") throw new Error(`a filter that was never checked: ${filter.fault}`);
  return filter;
}
