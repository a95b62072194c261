import { Fault } from "../../core/fault.ts";
import { faultDetailOf } from "../../core/fault-detail-rows.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { Method, methodName } from "../../message/request-head.ts";
import { hexOf } from "../../proto/trace/trace-context.ts";
import { countedStatus } from "./counters-tap.ts";
import { type AccessLogPorts, FIELD_CHARS, type LineForm, type LineWriter, lineWriter } from "./line-formats.ts";
import { IsoTime, jsonText, jsonTextOrNull, type LogBatch } from "./log-batch.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/**
 * One line a request: of JSON, event `access`, unless a format says otherwise. What is not known is null. `path` is the path as it came, without the query,
 * which may hold what does not belong into a log; `fault` is why it was refused or cut. docs/operations.md#log
 */
export class AccessLog implements ReplyTap {
  readonly name = "accessLog";
  private readonly batch: LogBatch;
  private readonly sample: number;
  private readonly ports: AccessLogPorts;
  private readonly isoTime = new IsoTime();
  /** Null for the usual fields in JSON. */
  private readonly own: LineWriter | null;

  /** @param sample share of the requests that are logged, 0 to 1 @param form the usual JSON where it is left out */
  constructor(batch: LogBatch, sample: number, ports: AccessLogPorts, form: LineForm = USUAL_FORM) {
    this.batch = batch;
    this.sample = sample;
    this.ports = ports;
    this.own = form.format === "json" && form.fields.length === 0 ? null : lineWriter(form, ports);
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const { threshold, isApart, random } = this.ports;
    if (!isApart && threshold.isQuiet) return;
    if (this.sample < 1 && !threshold.isVerbose && random() >= this.sample) return;
    if (this.own === null) this.batch.add(this.line(ex));
    else {
      if (ex.fault !== Fault.None) this.ports.names.idOf(ex);
      this.batch.add(this.own(ex));
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
      `,"request_id":${jsonTextOrNull(ex.reply.requestId(), FIELD_CHARS.request_id)}` +
      `,"client_ip":${jsonText(ex.clientIp, FIELD_CHARS.client_ip)}` +
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
      faultText(ex) +
      `,"target":${target},"attempts":${ex.attempt.sent},"attempt_ms":[${ex.attempt.timesUntil(ex.endedMs)}]}\n`
    );
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

const USUAL_FORM: LineForm = { format: "json", fields: [] };
