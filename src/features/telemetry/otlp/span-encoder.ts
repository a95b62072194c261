import { latin1 } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import { faultRow } from "../../../core/fault-rows.ts";
import {
  CALL_OUTCOMES,
  SpanIdKind,
  SpanKind,
  SpanNumber,
  SpanText,
  type StoredSpan,
} from "../../../memory/span-ring.ts";
import { CACHE_RESULT_NAMES } from "../../../message/cache-result.ts";
import { METHOD_COUNT, Method, methodName } from "../../../message/request-head.ts";
import { UNMATCHED_LABEL } from "../route-labels.ts";
import {
  type AttributeName,
  attribute,
  attributeName,
  delimited,
  highBytes,
  ProtobufWriter,
  varintSize,
} from "./protobuf-writer.ts";
import type { OtlpSender } from "./sender.ts";

/**
 * The spans of requests by the semantic conventions for HTTP, as the message of a call to a collector: each request's own, and that of
 * the request to the origin where it was sent on. Tens of thousands may come a second, so they are written as bytes from where the workers
 * put them, without an object between; the result is to the byte what @bufbuild/protobuf makes of the same spans, in a ninth of the time
 * (tests/property/span-encoding.test.ts). docs/tracing.md#spans
 */
export class SpanEncoder {
  private readonly writer: ProtobufWriter;
  /** The resource and the scope, which come before the spans. */
  private readonly resource: Uint8Array;
  private readonly scope: Uint8Array;
  /** Where spans begin: what comes before them is written when its length is known. */
  private readonly headRoom: number;
  private readonly hosts: BlockCache = new BlockCache((host, port) => hostAttributes(host, port));
  private readonly upstreams: BlockCache = new BlockCache((upstream) => upstreamAttributes(upstream));
  private spans = 0;

  constructor({ resource, scope }: OtlpSender) {
    this.resource = resourceField(resource);
    this.scope = scopeField(scope);
    this.headRoom = this.resource.length + this.scope.length + MAX_LENGTHS_BYTES;
    this.writer = new ProtobufWriter(this.headRoom + MESSAGE_BYTES);
    this.writer.at = this.headRoom;
  }

  /** Spans that have been added. */
  get count(): number {
    return this.spans;
  }

  /** Whether there may be no room for another request. */
  get isFull(): boolean {
    return this.writer.at + MAX_REQUEST_BYTES > this.headRoom + MESSAGE_BYTES;
  }

  /** Adds the spans of a record. The caller takes the message when it is full. */
  add(record: StoredSpan): void {
    const kind: SpanKind = record.number(SpanNumber.Kind);
    if (kind === SpanKind.Upstream) return this.addClient(record);
    if (kind !== SpanKind.Request) return this.addCall(record, kind);
    this.addServer(record);
    if (record.number(SpanNumber.SentMs) >= 0) this.addClient(record);
  }

  /**
   * The message with all that has been added: an ExportTraceServiceRequest.
   * @returns bytes that hold until the next span is added
   */
  take(): Uint8Array {
    const { writer, resource, scope } = this;
    const end = writer.at;
    const scopeSpans = scope.length + end - this.headRoom;
    const resourceSpans = resource.length + 1 + varintSize(scopeSpans) + scopeSpans;
    const from =
      this.headRoom - scope.length - varintSize(scopeSpans) - 1 - resource.length - varintSize(resourceSpans) - 1;
    writer.at = from;
    writer.byte(RESOURCE_SPANS);
    writer.varint(resourceSpans);
    writer.raw(resource);
    writer.byte(SCOPE_SPANS);
    writer.varint(scopeSpans);
    writer.raw(scope);
    writer.at = this.headRoom;
    this.spans = 0;
    return writer.bytes.subarray(from, end);
  }

  private addServer(record: StoredSpan): void {
    const { writer } = this;
    const status = record.number(SpanNumber.Status);
    const span = this.begin(record, SpanIdKind.Own, SpanIdKind.Parent);
    this.nameServer(record);
    this.kindAndTimes(SERVER, record.number(SpanNumber.StartMs), record.number(SpanNumber.EndMs));
    this.methodAttributes(record);
    writer.raw(record.number(SpanNumber.Tls) === 1 ? HTTPS : HTTP);
    this.text(NAMES.path, record, SpanText.Path);
    writer.numberAttribute(NAMES.status, status);
    writer.raw(protocolAttribute(record.number(SpanNumber.Protocol)));
    writer.raw(this.hosts.of(record, SpanText.Host, record.number(SpanNumber.Port)));
    this.text(NAMES.client, record, SpanText.Client);
    writer.numberAttribute(NAMES.bytesIn, record.number(SpanNumber.BytesIn));
    writer.numberAttribute(NAMES.bytesOut, record.number(SpanNumber.BytesOut));
    if (!isUnmatched(record)) this.text(NAMES.route, record, SpanText.Route);
    if (record.textLength(SpanText.UserAgent) > 0) this.text(NAMES.userAgent, record, SpanText.UserAgent);
    if (record.textLength(SpanText.RequestId) > 0) this.text(NAMES.requestId, record, SpanText.RequestId);
    writer.raw(CACHE_ATTRIBUTES[record.number(SpanNumber.Cache)]!);
    const fault = record.number(SpanNumber.Fault);
    if (fault !== Fault.None) this.error(faultRow(fault).label);
    else if (status >= 500) this.error(String(status));
    const hasRemoteParent = isId(record, SpanIdKind.Parent);
    this.finish(span, status >= 500, record.number(SpanNumber.Flags), hasRemoteParent);
  }

  private addClient(record: StoredSpan): void {
    const { writer } = this;
    const status = record.number(SpanNumber.Status);
    const hasCome = record.number(SpanNumber.UpstreamMs) >= 0;
    const endMs = record.number(SpanNumber.EndMs);
    const span = this.begin(record, SpanIdKind.Client, SpanIdKind.Own);
    const name = METHOD_NAMES[record.number(SpanNumber.Method)]!;
    writer.byte(NAME);
    writer.byte(name.length);
    writer.raw(name);
    this.kindAndTimes(CLIENT, Math.min(record.number(SpanNumber.SentMs), endMs), endMs);
    this.methodAttributes(record);
    writer.raw(this.upstreams.of(record, SpanText.Upstream, 0));
    if (hasCome) writer.numberAttribute(NAMES.status, status);
    const attempts = record.number(SpanNumber.Attempts);
    if (attempts > 1) writer.numberAttribute(NAMES.resends, attempts - 1);
    const fault = record.number(SpanNumber.Fault);
    if (!hasCome) this.error(fault === Fault.None ? "_OTHER" : faultRow(fault).label);
    else if (status >= 400) this.error(String(status));
    this.finish(span, !hasCome || status >= 400, record.number(SpanNumber.Flags), false);
  }

  /** A call of a function or a hook, named by it and the file of its module. */
  private addCall(record: StoredSpan, kind: SpanKind): void {
    const { writer } = this;
    const span = this.begin(record, SpanIdKind.Own, SpanIdKind.Parent);
    const called = CALLED[kind]!;
    const from = record.textAt(SpanText.Module);
    const to = from + record.textLength(SpanText.Module);
    const fileFrom = record.bytes.subarray(from, to).lastIndexOf(SLASH) + 1 + from;
    writer.byte(NAME);
    writer.varint(called.name.length + 1 + to - fileFrom + highBytes(record.bytes, fileFrom, to));
    writer.raw(called.name);
    writer.byte(SPACE);
    writer.latin1(record.bytes, fileFrom, to);
    this.kindAndTimes(INTERNAL, record.number(SpanNumber.StartMs), record.number(SpanNumber.EndMs));
    writer.raw(called.attribute);
    this.text(NAMES.file, record, SpanText.Module);
    writer.numberAttribute(NAMES.queue, record.number(SpanNumber.QueueUs));
    const status = record.number(SpanNumber.Status);
    if (status > 0) writer.numberAttribute(NAMES.status, status);
    const outcome = CALL_OUTCOMES[record.number(SpanNumber.Outcome)]!;
    if (outcome !== "ok") this.error(outcome);
    else if (status >= 500) this.error(String(status));
    const isError = status >= 500 || (outcome !== "ok" && outcome !== "cancelled");
    this.finish(span, isError, record.number(SpanNumber.Flags), false);
  }

  /** @returns where the span begins */
  private begin(record: StoredSpan, own: SpanIdKind, parent: SpanIdKind): number {
    const { writer } = this;
    this.spans++;
    writer.byte(SPAN);
    const from = writer.open();
    this.id(TRACE_ID, record, SpanIdKind.Trace, 16);
    this.id(SPAN_ID, record, own, 8);
    if (isId(record, parent)) this.id(PARENT_SPAN_ID, record, parent, 8);
    return from;
  }

  private id(field: number, record: StoredSpan, which: SpanIdKind, length: number): void {
    const at = record.idAt(which);
    this.writer.byte(field);
    this.writer.byte(length);
    this.writer.raw(record.bytes, at, at + length);
  }

  /** Method and route; clients can make up methods, and a name must not have as many values. */
  private nameServer(record: StoredSpan): void {
    const { writer } = this;
    const method = METHOD_NAMES[record.number(SpanNumber.Method)]!;
    writer.byte(NAME);
    if (isUnmatched(record)) {
      writer.byte(method.length);
      writer.raw(method);
      return;
    }
    const from = record.textAt(SpanText.Route);
    const to = from + record.textLength(SpanText.Route);
    writer.varint(method.length + 1 + to - from + highBytes(record.bytes, from, to));
    writer.raw(method);
    writer.byte(SPACE);
    writer.latin1(record.bytes, from, to);
  }

  private kindAndTimes(kind: number, fromMs: number, toMs: number): void {
    const { writer } = this;
    writer.byte(KIND);
    writer.byte(kind);
    writer.byte(START_TIME);
    writer.time(fromMs);
    writer.byte(END_TIME);
    writer.time(toMs);
  }

  private methodAttributes(record: StoredSpan): void {
    const method = record.number(SpanNumber.Method);
    this.writer.raw(METHOD_ATTRIBUTES[method]!);
    if (method === Method.Other) this.text(NAMES.originalMethod, record, SpanText.Method);
  }

  private text(name: AttributeName, record: StoredSpan, which: SpanText): void {
    const from = record.textAt(which);
    this.writer.textAttribute(name, record.bytes, from, from + record.textLength(which));
  }

  private error(type: string): void {
    this.writer.textAttribute(NAMES.error, latin1(type), 0, type.length);
  }

  /** The status if it is an error, and the flags of the trace. */
  private finish(span: number, isError: boolean, flags: number, isParentRemote: boolean): void {
    const { writer } = this;
    writer.raw(isError ? FAILED_END : END);
    writer.fixed32((flags & 0xff) | KNOWS_REMOTE | (isParentRemote ? IS_REMOTE : 0));
    writer.close(span);
  }
}

/** Attributes that many requests share, by the text that they are made of. */
class BlockCache {
  private readonly make: (text: string, port: number) => Uint8Array;
  private readonly blocks: Map<string, { readonly port: number; readonly block: Uint8Array }> = new Map();

  constructor(make: (text: string, port: number) => Uint8Array) {
    this.make = make;
  }

  of(record: StoredSpan, which: SpanText, port: number): Uint8Array {
    const text = record.text(which);
    const known = this.blocks.get(text);
    if (known !== undefined && known.port === port) return known.block;
    // Clients can make up hosts: what they fill is emptied.
    if (this.blocks.size >= MAX_BLOCKS) this.blocks.clear();
    const block = this.make(text, port);
    this.blocks.set(text, { port, block });
    return block;
  }
}

function isUnmatched(record: StoredSpan): boolean {
  if (record.textLength(SpanText.Route) !== UNMATCHED.length) return false;
  const at = record.textAt(SpanText.Route);
  return UNMATCHED.every((byte, i) => record.bytes[at + i] === byte);
}

/** Whether an id of 8 bytes is one: not of zeros alone. */
function isId(record: StoredSpan, which: SpanIdKind): boolean {
  const at = record.idAt(which);
  for (let i = at; i < at + 8; i++) if (record.bytes[i] !== 0) return true;
  return false;
}

/** @param host the request's, with a port or without @param port that the client connected to */
function hostAttributes(host: string, port: number): Uint8Array {
  const [, name = "", own = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(host) ?? [];
  const named = name === "" ? NOTHING : attribute(ATTRIBUTES, "server.address", name);
  return Buffer.concat([named, attribute(ATTRIBUTES, "server.port", own === "" ? port : Number(own))]);
}

/** @param upstream a URL, or the path of a socket */
function upstreamAttributes(upstream: string): Uint8Array {
  const url = URL.parse(upstream);
  const named = attribute(ATTRIBUTES, "server.address", url === null || url.hostname === "" ? upstream : url.hostname);
  const port = url === null ? 0 : Number(url.port) || DEFAULT_PORTS[url.protocol] || 0;
  return port > 0 ? Buffer.concat([named, attribute(ATTRIBUTES, "server.port", port)]) : named;
}

function protocolAttribute(protocol: number): Uint8Array {
  const major = Math.floor(protocol / 10);
  return PROTOCOLS[protocol] ?? attribute(ATTRIBUTES, "network.protocol.version", `${major}.${protocol % 10}`);
}

/** The field `resource`. */
function resourceField(resource: OtlpSender["resource"]): Uint8Array {
  const all = Object.entries(resource).map(([name, value]) => attribute(1, name, value));
  return delimited(1, Buffer.concat(all));
}

/** The field `scope`. */
function scopeField({ name, version }: OtlpSender["scope"]): Uint8Array {
  return delimited(1, Buffer.concat([delimited(1, Buffer.from(name)), delimited(2, Buffer.from(version))]));
}

const NOTHING: Uint8Array = new Uint8Array(0);
const UNMATCHED: Uint8Array = latin1(UNMATCHED_LABEL);
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Fields with their wire types, by opentelemetry/proto/trace/v1/trace.proto. */
const RESOURCE_SPANS = 0x0a;
const SCOPE_SPANS = 0x12;
const SPAN = 0x12;
const TRACE_ID = 0x0a;
const SPAN_ID = 0x12;
const PARENT_SPAN_ID = 0x22;
const NAME = 0x2a;
const KIND = 0x30;
const START_TIME = 0x39;
const END_TIME = 0x41;
const ATTRIBUTES = 9;
/** The tag of the field `flags`; the status of an error before it. */
const END: Uint8Array = Uint8Array.of(0x85, 0x01);
const FAILED_END: Uint8Array = Uint8Array.of(0x7a, 2, 0x18, 2, 0x85, 0x01);
/** Span kinds. */
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
/** Bits of `flags` beside those of `traceparent`: it is known whether the parent is remote, and it is. */
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;
const SPACE = 0x20;
const SLASH = 0x2f;

const NAMES = {
  originalMethod: attributeName(ATTRIBUTES, "http.request.method_original"),
  path: attributeName(ATTRIBUTES, "url.path"),
  status: attributeName(ATTRIBUTES, "http.response.status_code"),
  client: attributeName(ATTRIBUTES, "client.address"),
  bytesIn: attributeName(ATTRIBUTES, "http.request.body.size"),
  bytesOut: attributeName(ATTRIBUTES, "http.response.body.size"),
  route: attributeName(ATTRIBUTES, "http.route"),
  userAgent: attributeName(ATTRIBUTES, "user_agent.original"),
  requestId: attributeName(ATTRIBUTES, "edge.request_id"),
  resends: attributeName(ATTRIBUTES, "http.request.resend_count"),
  error: attributeName(ATTRIBUTES, "error.type"),
  file: attributeName(ATTRIBUTES, "code.file.path"),
  queue: attributeName(ATTRIBUTES, "edge.function.queue_us"),
} as const;
/** What is called, by kind. */
const CALLED: readonly { readonly name: Uint8Array; readonly attribute: Uint8Array }[] = [
  "",
  "fetch",
  "onRequest",
  "onResponse",
].map((name) => ({ name: latin1(name), attribute: attribute(ATTRIBUTES, "code.function.name", name) }));
const HTTP: Uint8Array = attribute(ATTRIBUTES, "url.scheme", "http");
const HTTPS: Uint8Array = attribute(ATTRIBUTES, "url.scheme", "https");
const PROTOCOLS: Readonly<Record<number, Uint8Array>> = {
  20: attribute(ATTRIBUTES, "network.protocol.version", "2"),
  30: attribute(ATTRIBUTES, "network.protocol.version", "3"),
  10: attribute(ATTRIBUTES, "network.protocol.version", "1.0"),
  11: attribute(ATTRIBUTES, "network.protocol.version", "1.1"),
};
const CACHE_ATTRIBUTES: readonly Uint8Array[] = CACHE_RESULT_NAMES.map((name) =>
  name === "" ? NOTHING : attribute(ATTRIBUTES, "edge.cache", name),
);
/** Those of RFC 9110 and RFC 5789, which the conventions take as they are, in the order of `Method`. */
const METHODS: readonly Method[] = Array.from({ length: METHOD_COUNT }, (_, method) => method);
const METHOD_NAMES: readonly Uint8Array[] = METHODS.map((method) =>
  latin1(method === Method.Other ? "HTTP" : methodName(method)),
);
const METHOD_ATTRIBUTES: readonly Uint8Array[] = METHODS.map((method) =>
  attribute(ATTRIBUTES, "http.request.method", method === Method.Other ? "_OTHER" : methodName(method)),
);

/** Spans of one message: those of two thousand requests as they mostly are. Collectors take 4 MiB and more. */
const MESSAGE_BYTES = 2 << 20;
/** More than the spans of one request can take: a record is at most 2.5 KiB, whose texts double at most, and its route is there twice. */
const MAX_REQUEST_BYTES = 8 << 10;
/** The fields around resource and spans with their lengths. */
const MAX_LENGTHS_BYTES = 16;
const MAX_BLOCKS = 1024;
