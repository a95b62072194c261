import type { ShownAddresses } from "../../core/address-mask.ts";
import { Fault } from "../../core/fault.ts";
import { faultDetailOf } from "../../core/fault-detail-rows.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import type { Exchange, RequestNamer } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { type Template, templateOf } from "../../proto/template/template.ts";
import { ja4Of } from "../../proto/tls/ja4.ts";
import { hexOf } from "../../proto/trace/trace-context.ts";
import { ACCESS_FIELDS, type AccessField } from "./access-fields.ts";
import { countedStatus } from "./counters-tap.ts";
import { IsoTime, jsonText } from "./log-batch.ts";
import type { LogThreshold } from "./log-level.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/** What the access log asks its surroundings for. */
export interface AccessLogPorts {
  /** Milliseconds since the epoch. */
  readonly clock: { readonly nowMs: number };
  /** A number from 0 up to 1, never 1, for sampling. */
  readonly random: () => number;
  /** Whether lines have `user`: where `auth` is configured. */
  readonly namesUsers: boolean;
  /** Whether lines have `country`: if there is a database of countries. */
  readonly namesCountries: boolean;
  /** Whether lines have `trace_id`: where `telemetry` is configured. */
  readonly namesTraces: boolean;
  /** Whether lines have `listener`: if there is `server.listeners`. */
  readonly namesListeners?: boolean;
  /** For requests that were refused before anything else named them. */
  readonly names: RequestNamer;
  readonly threshold: LogThreshold;
  /** How addresses are shown. */
  readonly addresses: ShownAddresses;
}

/** What a line is made of: the usual fields in JSON, those named, or a format of text. */
export interface LineForm {
  readonly format: string;
  /** Of JSON; none for the usual ones. */
  readonly fields: readonly AccessField[];
}

/** Characters of one value in a line of the access log. */
const MAX_LOG_LINE_CHARS = 4096;

/** Characters of a field that are kept, for fields that a client or an origin can make long. */
export const FIELD_CHARS = {
  request_id: 128,
  client_ip: 64,
  method: 32,
  host: 255,
  path: 1024,
  label: 256,
  user_agent: 256,
  user: 256,
} as const;

/** Writes the line of a request, with its line break. */
export type LineWriter = (ex: Exchange) => string;

/** Makes the writer of a form. docs/operations.md#access-log */
export function lineWriter({ format, fields }: LineForm, ports: AccessLogPorts): LineWriter {
  const readers = fieldReaders(ports);
  if (format === "json") return jsonWriter(fields, readers);
  if (format === "common") return textWriter(templateOf(COMMON, NAMES), readers, ports);
  if (format === "combined") return textWriter(templateOf(COMBINED, NAMES), readers, ports);
  return textWriter(templateOf(format, NAMES), readers, ports);
}

/** What a field says of a request: null, or "", if there is nothing to say. */
type FieldReader = (ex: Exchange) => string | number | null;

type FieldReaders = Readonly<Record<AccessField | "clf_time", FieldReader>>;

function fieldReaders(ports: AccessLogPorts): FieldReaders {
  const isoTime = new IsoTime();
  const { clock } = ports;
  return {
    time: () => isoTime.text(clock.nowMs),
    clf_time: () => commonTime(clock.nowMs),
    event: () => "access",
    request_id: (ex) => cut(ex.response.requestId(), FIELD_CHARS.request_id),
    client_ip: (ex) => cut(ports.addresses.of(ex.clientIp), FIELD_CHARS.client_ip),
    country: (ex) => ex.country,
    asn: (ex) => String(ex.asn || ""),
    waiting_room: (ex) => (ex.fault === Fault.WaitingRoom && ex.detail !== "" ? Number(ex.detail) : null),
    "ai.model": (ex) => ex.ai?.model ?? null,
    "ai.prompt_tokens": (ex) => ex.ai?.promptTokens ?? null,
    "ai.completion_tokens": (ex) => ex.ai?.completionTokens ?? null,
    "agent.name": (ex) => cut(ex.agentName, FIELD_CHARS.label),
    method: ({ request }) => cut(request.methodText(), FIELD_CHARS.method),
    host: ({ request }) => cut(request.authority(), FIELD_CHARS.host),
    path: ({ request }) => (request.targetTo > request.targetFrom ? cut(request.path(), FIELD_CHARS.path) : null),
    query: ({ request }) =>
      request.queryTo > request.pathTo
        ? cut(request.text(request.pathTo + 1, request.queryTo), FIELD_CHARS.path)
        : null,
    protocol: ({ request }) => request.protocol(),
    status: (ex) => countedStatus(ex),
    bytes_in: (ex) => ex.bodyBytes,
    bytes_out: (ex) => ex.sentBytes,
    duration_ms: (ex) => milliseconds(ex.startedMs > 0 ? ex.endedMs - ex.startedMs : 0),
    upstream: (ex) => cut(ex.attempt.upstreamLabel, FIELD_CHARS.label),
    upstream_ms: (ex) => (ex.attempt.upstreamMs < 0 ? null : milliseconds(ex.attempt.upstreamMs)),
    route: (ex) => cut(ex.route === null ? UNMATCHED_LABEL : ex.route.label, FIELD_CHARS.label),
    cache: (ex) => CACHE_RESULT_NAMES[ex.cacheResult]!,
    waf_score: (ex) => ex.wafScore,
    user_agent: ({ request }) => cut(request.headers.valueOf(HeaderId.UserAgent), FIELD_CHARS.user_agent),
    // The address of the page before may hold what the query of this one may hold.
    referer: ({ request }) => cut(request.headers.valueOf(HeaderId.Referer).replace(/[?#].*$/s, ""), FIELD_CHARS.path),
    tls_version: (ex) => ex.client.tlsVersion,
    tls_group: (ex) => ex.client.tlsGroup,
    "tls.ja4": (ex) => ja4Of(ex.client),
    "tls.group": (ex) => ex.client.tlsGroup,
    "http2.fingerprint": (ex) => ex.client.opening?.text ?? "",
    trace_id: (ex) => (ex.trace === null ? null : hexOf(ex.trace.traceId)),
    user: (ex) => cut(ex.identity?.user ?? "", FIELD_CHARS.user),
    listener: (ex) => ex.listenerName,
    fault: (ex) => (ex.fault === Fault.None ? null : faultRow(ex.fault).label),
    fault_detail: (ex) => faultDetailOf(ex.fault, ex.attempt.detail),
    target: (ex) => cut(ex.attempt.upstreamLabel, FIELD_CHARS.label),
    attempts: (ex) => ex.attempt.sent,
    attempt_ms: (ex) => ex.attempt.timesUntil(ex.endedMs).join(),
  };
}

function jsonWriter(fields: readonly AccessField[], readers: FieldReaders): LineWriter {
  const parts = fields.map((name, i) => ({
    before: `${i === 0 ? "{" : ","}"${name}":`,
    read: readers[name],
    isList: name === "attempt_ms",
  }));
  return (ex) => {
    let line = "";
    for (const { before, read, isList } of parts) {
      const value = read(ex);
      line += before;
      if (isList) {
        line += `[${value}]`;
        continue;
      }
      line +=
        typeof value === "string" && value !== ""
          ? jsonText(value, MAX_LOG_LINE_CHARS)
          : value || value === 0
            ? value
            : "null";
    }
    return `${line}}\n`;
  };
}

function textWriter(template: Template, readers: FieldReaders, { addresses }: AccessLogPorts): LineWriter {
  const { literals, uses } = template;
  const parts = uses.map(({ name, read }, i) => ({
    // Fields of a request may hold addresses: X-Forwarded-For, Forwarded and their kind.
    read: read === null ? readers[name as keyof FieldReaders] : (ex: Exchange) => addresses.within(read(ex)),
    after: literals[i + 1]!,
  }));
  return (ex) => {
    let line = literals[0]!;
    for (const { read, after } of parts) {
      const value = read(ex);
      line += typeof value === "number" ? value : value === null || value === "" ? "-" : escaped(value);
      line += after;
    }
    return `${line}\n`;
  };
}

/**
 * What may stand in a line of text: control characters, quotes and backslashes are `\xHH`, so that a client can end neither the field
 * nor the line, nor command a terminal.
 */
function escaped(value: string): string {
  const kept = value.length > MAX_LOG_LINE_CHARS ? `${value.slice(0, MAX_LOG_LINE_CHARS)}…` : value;
  return NEEDS_ESCAPE.test(kept) ? kept.replace(ESCAPED, hexEscape) : kept;
}

function hexEscape(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function milliseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** As in `[10/Oct/2000:13:55:36 +0000]`. */
function commonTime(ms: number): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(ms).toUTCString())!;
  return `${day}/${month}/${year}:${time} +0000`;
}

const NAMES: readonly string[] = [...Object.keys(ACCESS_FIELDS), "clf_time"];
/** As Apache writes it by default, but without the query. */
const COMMON = '{client_ip} - {user} [{clf_time}] "{method} {path} {protocol}" {status} {bytes_out}';
const COMBINED = `${COMMON} "{referer}" "{user_agent}"`;
const NEEDS_ESCAPE = /["\\\x00-\x1f\x7f-\x9f]/;
const ESCAPED = /["\\\x00-\x1f\x7f-\x9f]/g;
