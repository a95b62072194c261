import type { ShownAddresses } from "../../core/address-mask.ts";
import { latin1, RandomPool } from "../../core/bytes.ts";
import { SpanIdKind, SpanNumber, SpanText, type SpanWriter } from "../../memory/span-ring.ts";
import { type Exchange, type Phase, type ResponseTap, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method, REQUEST_ID_FROM } from "../../message/request-head.ts";
import { RequestTrace } from "../../message/request-trace.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import { shownPath } from "../../proto/target/routed-path.ts";
import {
  isSampled,
  isTracestate,
  RANDOM,
  readTraceparent,
  withSampled,
  writeTraceparent,
} from "../../proto/trace/trace-context.ts";
import { countedStatus } from "./counters-tap.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/** What the tracer of a configuration does. */
interface TracerSettings {
  /** Share of the requests without a caller that decides whose spans are recorded, 0 to 1. */
  readonly sample: number;
  /** Whether origins learn of the trace. */
  readonly propagates: boolean;
}

/** What the tracer asks its worker for. */
interface TracerPorts {
  /** Where spans go; null if none are recorded. */
  readonly spans: SpanWriter | null;
  /** A number from 0 up to 1, never 1, for sampling. */
  readonly random: () => number;
  /** How addresses are shown. */
  readonly addresses: ShownAddresses;
}

/**
 * Finds or begins the trace of each request, tells origins of it and records the spans of those sampled. A request that is
 * neither sampled nor told of has no object. docs/tracing.md
 */
export class Tracer {
  private readonly settings: TracerSettings;
  private readonly ports: TracerPorts;
  private readonly trusts: (ex: Exchange) => boolean;
  private readonly pool: RandomPool = new RandomPool();
  private readonly idle: RequestTrace[] = [];
  private readonly clock: WallClock = new WallClock();
  /** Name and value of the field for the next request. */
  private readonly field: Uint8Array = new Uint8Array(FIELD_BYTES);

  /** @param trusts whether the client's own trace goes on */
  constructor(settings: TracerSettings, ports: TracerPorts, trusts: (ex: Exchange) => boolean) {
    this.settings = settings;
    this.ports = ports;
    this.trusts = trusts;
    this.field.set(TRACEPARENT);
  }

  /** Right after the client's address is known: which trace the request belongs to. */
  readonly phase: Phase = {
    name: "trace",
    run: (ex) => {
      this.begin(ex);
      return Verdict.Next;
    },
  };

  /** Right before what responds: the fields that tell of the trace. */
  readonly fieldsPhase: Phase = {
    name: "traceFields",
    run: (ex) => {
      if (ex.trace !== null) this.tell(ex, ex.trace);
      return Verdict.Next;
    },
  };

  /** The last tap, since others name the trace. */
  readonly tap: ResponseTap = {
    name: "spans",
    onHead() {},
    onEnd: (ex) => {
      const { trace } = ex;
      if (trace === null) return;
      ex.trace = null;
      if (trace.sampled) this.record(ex, trace, this.ports.spans!);
      if (this.idle.length < KEPT_TRACES) this.idle.push(trace);
    },
  };

  private begin(ex: Exchange): void {
    const { sample, propagates } = this.settings;
    const { headers } = ex.request;
    const told = this.trusts(ex) ? findField(headers, TRACEPARENT) : NONE;
    if (told >= 0) {
      const trace = this.idle.pop() ?? new RequestTrace();
      const flags = readTraceparent(
        headers.bytes,
        headers.valueFrom(told),
        headers.valueTo(told),
        trace.traceId,
        trace.parentId,
      );
      if (flags >= 0) return this.open(ex, trace, flags, true);
      this.idle.push(trace);
    }
    const sampled = this.ports.random() < sample;
    if (!sampled && !propagates) return;
    const trace = this.idle.pop() ?? new RequestTrace();
    drawId(trace.traceId, this.pool);
    trace.parentId.fill(0);
    this.open(ex, trace, withSampled(RANDOM, sampled), false);
  }

  private open(ex: Exchange, trace: RequestTrace, flags: number, hasParent: boolean): void {
    trace.flags = flags;
    trace.sampled = isSampled(flags) && this.ports.spans !== null;
    trace.hasParent = hasParent;
    trace.propagates = this.settings.propagates;
    trace.dispatchedMs = -1;
    drawId(trace.spanId, this.pool);
    if (trace.sampled) drawId(trace.clientSpanId, this.pool);
    ex.trace = trace;
  }

  private tell(ex: Exchange, trace: RequestTrace): void {
    trace.dispatchedMs = performance.now();
    if (!this.settings.propagates) return;
    const { headers } = ex.request;
    takeOff(headers, TRACEPARENT);
    if (!trace.hasParent || !isTracestate(valuesOf(headers, TRACESTATE))) takeOff(headers, TRACESTATE);
    // The origin's caller is the request to it, where that has a span.
    const caller = trace.sampled ? trace.clientSpanId : trace.spanId;
    const { field } = this;
    const end = writeTraceparent(field, TRACEPARENT.length, trace.traceId, caller, trace.flags);
    headers.addBytes(field, 0, TRACEPARENT.length, TRACEPARENT.length, end);
  }

  /** Nothing is allocated for it. */
  private record(ex: Exchange, trace: RequestTrace, span: SpanWriter): void {
    if (!span.begin()) return;
    const toEpoch = this.clock.offsetMs();
    const startedMs = ex.startedMs > 0 ? ex.startedMs : ex.endedMs;
    const wasSent = trace.dispatchedMs >= 0 && ex.attempt.upstreamLabel !== "";
    span.number(SpanNumber.StartMs, startedMs + toEpoch);
    span.number(SpanNumber.EndMs, Math.max(ex.endedMs, startedMs) + toEpoch);
    span.number(SpanNumber.SentMs, wasSent ? trace.dispatchedMs + toEpoch : -1);
    span.number(SpanNumber.UpstreamMs, ex.attempt.upstreamMs);
    span.number(SpanNumber.BytesIn, ex.bodyBytes);
    span.number(SpanNumber.BytesOut, ex.sentBytes);
    span.number(SpanNumber.Status, countedStatus(ex));
    span.number(SpanNumber.Attempts, ex.attempt.count);
    span.number(SpanNumber.Port, ex.client.localPort);
    span.number(SpanNumber.Tls, ex.client.tls ? 1 : 0);
    span.number(SpanNumber.Flags, trace.flags);
    span.number(SpanNumber.Fault, ex.fault);
    span.number(SpanNumber.Cache, ex.cacheResult);
    span.id(SpanIdKind.Trace, trace.traceId);
    span.id(SpanIdKind.Own, trace.spanId);
    span.id(SpanIdKind.Parent, trace.parentId);
    span.id(SpanIdKind.Client, trace.clientSpanId);
    span.text(SpanText.Route, ex.route === null ? UNMATCHED_LABEL : ex.route.label);
    span.text(SpanText.Upstream, ex.attempt.upstreamLabel);
    span.text(SpanText.Client, this.ports.addresses.of(ex.clientIp));
    recordHead(ex, span);
    span.end();
  }
}

/** What the head of the request says, and the id that the gateway gave it. */
function recordHead({ request, response }: Exchange, span: SpanWriter): void {
  const { bytes, headers } = request;
  span.number(SpanNumber.Protocol, request.major * 10 + (request.major === 1 ? request.minor : 0));
  span.number(SpanNumber.Method, request.method);
  if (request.method === Method.Other) span.slice(SpanText.Method, bytes, request.methodFrom, request.methodTo);
  if (request.authorityTo > request.authorityFrom) {
    span.slice(SpanText.Host, bytes, request.authorityFrom, request.authorityTo);
  } else if (request.hostIndex >= 0) recordField(SpanText.Host, headers, request.hostIndex, span);
  if (request.pathTo > request.pathFrom && isPlainPath(request)) {
    span.slice(SpanText.Path, bytes, request.pathFrom, request.pathTo);
  } else if (request.targetTo > request.targetFrom) span.text(SpanText.Path, shownPath(request));
  const userAgent = headers.find(HeaderId.UserAgent);
  if (userAgent >= 0) recordField(SpanText.UserAgent, headers, userAgent, span);
  if (response.requestIdEnd > 0) {
    span.slice(SpanText.RequestId, response.requestIdLine, REQUEST_ID_FROM, response.requestIdEnd - 2);
  }
}

function recordField(which: SpanText, headers: HeaderBlock, index: number, span: SpanWriter): void {
  span.slice(which, headers.bytes, headers.valueFrom(index), headers.valueTo(index));
}

/**
 * How far this thread's monotonic clock is from the time of day. It is read anew only when they have come apart, so that spans of one trace
 * do not jump by the millisecond that the time of day is given in.
 */
export class WallClock {
  private offset: number = performance.timeOrigin;

  offsetMs(): number {
    const apart = Date.now() - performance.now() - this.offset;
    if (apart > MAX_APART_MS || apart < -MAX_APART_MS) this.offset += apart;
    return this.offset;
  }
}

/** Fills an id with random bytes that are not all zeros. */
export function drawId(id: Uint8Array, pool: RandomPool): void {
  const from = pool.take(id.length);
  let any = 0;
  for (let i = 0; i < id.length; i++) {
    id[i] = pool.bytes[from + i]!;
    any |= id[i]!;
  }
  if (any === 0) id[id.length - 1] = 1;
}

/** Index of the only field with this name, -1 if there is none, or more than one: a request has one caller. */
function findField(headers: HeaderBlock, name: Uint8Array): number {
  let found = NONE;
  for (let i = 0; i < headers.count; i++) {
    if (!headers.isNamed(i, name)) continue;
    if (found >= 0) return NONE;
    found = i;
  }
  return found;
}

function takeOff(headers: HeaderBlock, name: Uint8Array): void {
  for (let i = 0; i < headers.count; i++) {
    if (headers.isNamed(i, name)) headers.ids[i] = HeaderId.NamedByConnection;
  }
}

/** The values of all fields with this name, as one. RFC 9110 §5.3 */
function valuesOf(headers: HeaderBlock, name: Uint8Array): string {
  const values: string[] = [];
  for (let i = 0; i < headers.count; i++) if (headers.isNamed(i, name)) values.push(headers.valueText(i));
  return values.join(",");
}

const NONE = -1;
const TRACEPARENT: Uint8Array = latin1("traceparent");
const TRACESTATE: Uint8Array = latin1("tracestate");
const FIELD_BYTES = 128;
/** As many requests as a worker has under way at most times; more are made and let go. */
const KEPT_TRACES = 1024;
const MAX_APART_MS = 5;
