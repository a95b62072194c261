import { faultRow } from "../../src/core/fault-rows.ts";
import { keyValues, unixNano } from "../../src/features/telemetry/otlp/messages.ts";
import { UNMATCHED_LABEL } from "../../src/features/telemetry/route-labels.ts";
import { SpanKind } from "../../src/memory/span-ring.ts";
import type { SpanRecord } from "./span-records.ts";

type Attributes = Record<string, string | number>;

/** The trace of a record and the ids of one of its spans. */
interface SpanIds {
  readonly record: SpanRecord;
  readonly own: Uint8Array;
  /** Undefined if there is none. */
  readonly parent: Uint8Array | undefined;
  readonly isParentRemote: boolean;
}

/**
 * The spans of a request as messages of @bufbuild/protobuf: what that package writes of them is what the gateway's own encoder has to write of
 * the record.
 */
export function referenceSpans(record: SpanRecord): readonly object[] {
  const parent = record.parentId.some((byte) => byte !== 0) ? record.parentId : undefined;
  const ids: SpanIds = { record, own: record.spanId, parent, isParentRemote: false };
  const client: SpanIds = { ...ids, own: record.clientSpanId, parent: record.spanId };
  if (record.kind === SpanKind.Upstream) return [clientSpan(client)];
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
    return [span(INTERNAL, ids, parts)];
  }
  const server = span(
    SERVER,
    { ...ids, isParentRemote: parent !== undefined },
    {
      name: nameOf(record),
      fromMs: record.startMs,
      toMs: record.endMs,
      failed: record.status >= 500,
      attributes: serverAttributes(record),
    },
  );
  if (record.sentMs < 0) return [server];
  return [server, clientSpan(client)];
}

function clientSpan(ids: SpanIds): object {
  const { record } = ids;
  return span(CLIENT, ids, {
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
  kind: number,
  { record, own, parent, isParentRemote }: SpanIds,
  { name, fromMs, toMs, failed, attributes }: SpanParts,
): object {
  return {
    traceId: record.traceId,
    spanId: own,
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: unixNano(fromMs),
    endTimeUnixNano: unixNano(toMs),
    attributes: keyValues(attributes),
    ...(failed ? { status: { code: ERROR } } : {}),
    flags: record.flags | KNOWS_REMOTE | (isParentRemote ? IS_REMOTE : 0),
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
/** SpanKind, StatusCode and SpanFlags of opentelemetry/proto/trace/v1/trace.proto. */
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;
