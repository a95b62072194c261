import type { Attributes, SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { faultRow } from "../../src/core/fault-rows.ts";
import { type Sender, splitTime } from "../../src/features/telemetry/otlp/resource.ts";
import { UNMATCHED_LABEL } from "../../src/features/telemetry/route-labels.ts";
import { hexOf } from "../../src/proto/trace/trace-context.ts";
import { SpanKind } from "../../src/shared/span-ring.ts";
import type { SpanRecord } from "./span-records.ts";

/**
 * The spans of a request as the packages of OpenTelemetry take them: what they make of these is what the gateway's own encoder has to make
 * of the record.
 */
export function referenceSpans(record: SpanRecord, sender: Sender): readonly ReadableSpan[] {
  const traceId = hexOf(record.traceId);
  const contextOf = (id: Uint8Array): SpanContext => ({ traceId, spanId: hexOf(id), traceFlags: record.flags });
  const own = contextOf(record.spanId);
  const caller = record.parentId.some((byte) => byte !== 0)
    ? { ...contextOf(record.parentId), isRemote: true }
    : undefined;
  if (record.kind === SpanKind.Upstream) return [clientSpan(record, sender, contextOf(record.clientSpanId), own)];
  const called = CALLED[record.kind];
  if (called !== undefined) {
    const failed = record.status >= 500 || !["ok", "cancelled"].includes(record.outcome);
    const name = `${called} ${record.module.split("/").at(-1)}`;
    const parts = {
      name,
      fromMs: record.startMs,
      toMs: record.endMs,
      failed,
      attributes: callAttributes(record, called),
    };
    return [span(sender, INTERNAL, own, caller === undefined ? undefined : contextOf(record.parentId), parts)];
  }
  const server = span(sender, SERVER, own, caller, {
    name: nameOf(record),
    fromMs: record.startMs,
    toMs: record.endMs,
    failed: record.status >= 500,
    attributes: serverAttributes(record),
  });
  if (record.sentMs < 0) return [server];
  return [server, clientSpan(record, sender, contextOf(record.clientSpanId), own)];
}

function clientSpan(record: SpanRecord, sender: Sender, context: SpanContext, parent: SpanContext): ReadableSpan {
  return span(sender, CLIENT, context, parent, {
    name: methodOf(record.method),
    fromMs: Math.min(record.sentMs, record.endMs),
    toMs: record.endMs,
    failed: record.upstreamMs < 0 || record.status >= 400,
    attributes: clientAttributes(record),
  });
}

function callAttributes({ module, queueUs, status, outcome }: SpanRecord, called: string): Attributes {
  const attributes: Attributes = {
    "code.function.name": called,
    "code.file.path": module,
    "edge.function.queue_us": queueUs,
  };
  if (status > 0) attributes["http.response.status_code"] = status;
  if (outcome !== "ok") attributes["error.type"] = outcome;
  else if (status >= 500) attributes["error.type"] = String(status);
  return attributes;
}

/** What differs from span to span. */
interface SpanParts {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly failed: boolean;
  readonly attributes: Attributes;
}

function span(
  { resource, scope }: Sender,
  kind: number,
  context: SpanContext,
  parent: SpanContext | undefined,
  { name, fromMs, toMs, failed, attributes }: SpanParts,
): ReadableSpan {
  return {
    name,
    kind,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime: splitTime(fromMs),
    endTime: splitTime(toMs),
    duration: splitTime(toMs - fromMs),
    status: { code: failed ? ERROR : UNSET },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function nameOf({ method, route }: SpanRecord): string {
  const name = methodOf(method);
  return route === UNMATCHED_LABEL ? name : `${name} ${route}`;
}

/** Clients can make up methods: a name must not have as many values. */
function methodOf(method: string): string {
  return KNOWN_METHODS.has(method) ? method : "HTTP";
}

function serverAttributes(record: SpanRecord): Attributes {
  const { status, route } = record;
  const fault = faultOf(record);
  const attributes: Attributes = {
    ...methodAttributes(record.method),
    "url.scheme": record.tls ? "https" : "http",
    "url.path": record.path,
    "http.response.status_code": status,
    "network.protocol.version":
      record.protocol >= 20 ? String(record.protocol / 10) : (record.protocol / 10).toFixed(1),
    ...addressAttributes(record.host, record.port),
    "client.address": record.client,
    "http.request.body.size": record.bytesIn,
    "http.response.body.size": record.bytesOut,
  };
  if (route !== UNMATCHED_LABEL) attributes["http.route"] = route;
  if (record.userAgent !== "") attributes["user_agent.original"] = record.userAgent;
  if (record.requestId !== "") attributes["edge.request_id"] = record.requestId;
  if (record.cache !== "") attributes["edge.cache"] = record.cache;
  if (fault !== "") attributes["error.type"] = fault;
  else if (status >= 500) attributes["error.type"] = String(status);
  return attributes;
}

function clientAttributes(record: SpanRecord): Attributes {
  const { status, upstreamMs, attempts } = record;
  const fault = faultOf(record);
  const url = URL.parse(record.upstream);
  const attributes: Attributes = {
    ...methodAttributes(record.method),
    "server.address": url === null || url.hostname === "" ? record.upstream : url.hostname,
  };
  const port = url === null ? 0 : Number(url.port) || DEFAULT_PORTS[url.protocol] || 0;
  if (port > 0) attributes["server.port"] = port;
  if (upstreamMs >= 0) attributes["http.response.status_code"] = status;
  if (attempts > 1) attributes["http.request.resend_count"] = attempts - 1;
  if (upstreamMs < 0) attributes["error.type"] = fault === "" ? "_OTHER" : fault;
  else if (status >= 400) attributes["error.type"] = String(status);
  return attributes;
}

function faultOf({ fault }: SpanRecord): string {
  return fault === 0 ? "" : faultRow(fault).label;
}

function methodAttributes(method: string): Attributes {
  if (KNOWN_METHODS.has(method)) return { "http.request.method": method };
  return { "http.request.method": "_OTHER", "http.request.method_original": method };
}

/** @param host the request's, with a port or without @param port that the client connected to */
function addressAttributes(host: string, port: number): Attributes {
  const [, name = "", own = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(host) ?? [];
  return { ...(name === "" ? {} : { "server.address": name }), "server.port": own === "" ? port : Number(own) };
}

/** What is called, by kind. */
const CALLED: Readonly<Record<number, string>> = {
  [SpanKind.Fetch]: "fetch",
  [SpanKind.OnRequest]: "onRequest",
  [SpanKind.OnResponse]: "onResponse",
};
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
/** Those of RFC 9110 and RFC 5789, which the conventions take as they are. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
]);
/** Kinds of spans and codes of their status, as numbers: the package that names them is not loaded for that. */
const INTERNAL = 0;
const SERVER = 1;
const CLIENT = 2;
const UNSET = 0;
const ERROR = 2;
