import type { Attributes, SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { hexOf } from "../../../proto/trace/trace-context.ts";
import type { SpanRecord } from "../../../shared/span-ring.ts";
import { UNMATCHED_LABEL } from "../route-labels.ts";
import { type Sender, splitTime } from "./resource.ts";

/**
 * The spans of a request by the semantic conventions for HTTP: its own, and that of the request to the origin where it was sent on.
 * docs/tracing.md#spans
 */
export function spansOf(record: SpanRecord, sender: Sender): readonly ReadableSpan[] {
  const traceId = hexOf(record.traceId);
  const contextOf = (id: Uint8Array): SpanContext => ({ traceId, spanId: hexOf(id), traceFlags: record.flags });
  const own = contextOf(record.spanId);
  const caller = record.parentId.some((byte) => byte !== 0)
    ? { ...contextOf(record.parentId), isRemote: true }
    : undefined;
  const server = span(sender, SERVER, own, caller, {
    name: nameOf(record),
    fromMs: record.startMs,
    toMs: record.endMs,
    failed: record.status >= 500,
    attributes: serverAttributes(record),
  });
  if (record.sentMs < 0) return [server];
  const cameMs = record.upstreamMs;
  const client = span(sender, CLIENT, contextOf(record.clientSpanId), own, {
    name: methodOf(record.method),
    fromMs: Math.min(record.sentMs, record.endMs),
    toMs: record.endMs,
    failed: cameMs < 0 || record.status >= 400,
    attributes: clientAttributes(record),
  });
  return [server, client];
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
  const { status, fault, route } = record;
  const attributes: Attributes = {
    ...methodAttributes(record.method),
    "url.scheme": record.tls ? "https" : "http",
    "url.path": record.path,
    "http.response.status_code": status,
    "network.protocol.version": record.protocol,
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
  const { status, upstreamMs, attempts, fault } = record;
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

function methodAttributes(method: string): Attributes {
  if (KNOWN_METHODS.has(method)) return { "http.request.method": method };
  return { "http.request.method": "_OTHER", "http.request.method_original": method };
}

/** @param host the request's, with a port or without @param port that the client connected to */
function addressAttributes(host: string, port: number): Attributes {
  const [, name = "", own = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return { ...(name === "" ? {} : { "server.address": name }), "server.port": own === "" ? port : Number(own) };
}

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
const SERVER = 1;
const CLIENT = 2;
const UNSET = 0;
const ERROR = 2;
