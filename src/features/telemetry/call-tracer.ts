import { RandomPool } from "../../core/bytes.ts";
import {
  CALL_OUTCOMES,
  type CallOutcome,
  SpanIdKind,
  SpanKind,
  SpanNumber,
  SpanText,
  type SpanWriter,
} from "../../memory/span-ring.ts";
import type { Exchange } from "../../message/exchange.ts";
import { Method } from "../../message/request-head.ts";
import { hexOf } from "../../proto/trace/trace-context.ts";
import { drawId, WallClock } from "./tracer.ts";

/** The called code. */
type CalledName = "fetch" | "onRequest" | "onResponse";

const KINDS = { fetch: SpanKind.Fetch, onRequest: SpanKind.OnRequest, onResponse: SpanKind.OnResponse } as const;

/** What the spans of one worker's calls share. */
interface CallTracerPorts {
  readonly spans: () => SpanWriter | null;
  readonly pool: RandomPool;
  readonly clock: WallClock;
}

/** Records the calls of functions and hooks, for requests whose trace is recorded. docs/tracing.md#functions */
export class CallTracer {
  private readonly parts: CallTracerPorts;

  /** @param spans where spans go; null while nothing takes them */
  constructor(spans: () => SpanWriter | null) {
    this.parts = { spans, pool: new RandomPool(), clock: new WallClock() };
  }

  /** Begins the span of a call; null if the request's trace is not recorded. @param module its absolute path */
  call(ex: Exchange, name: CalledName, module: string): CallSpan | null {
    return ex.trace === null || !ex.trace.sampled ? null : new CallSpan(this.parts, ex, name, module);
  }
}

/** The span of one call, a child of its request's. What the exchange knows of its trace is copied: it may end first. */
class CallSpan {
  private readonly parts: CallTracerPorts;
  private readonly kind: SpanKind;
  private readonly module: string;
  private readonly traceId: Uint8Array;
  private readonly id: Uint8Array;
  private readonly parentId: Uint8Array;
  private readonly flags: number;
  private readonly startedMs: number = performance.now();
  private takenMs = -1;
  private isOver = false;

  constructor(parts: CallTracerPorts, { trace }: Exchange, name: CalledName, module: string) {
    this.parts = parts;
    this.kind = KINDS[name];
    this.module = module;
    this.traceId = trace!.traceId.slice();
    this.parentId = trace!.spanId.slice();
    this.flags = trace!.flags;
    // The function is what `traceparent` of its request names.
    this.id = trace!.clientSpanId.slice();
    if (name !== "fetch") drawId(this.id, parts.pool);
  }

  /** A thread has it. */
  onThread(): void {
    this.takenMs = performance.now();
  }

  /** Begins the span of a request of `ctx.upstream()`. */
  upstream(): UpstreamSpan {
    return new UpstreamSpan(this.parts, this.traceId, this.id, this.flags);
  }

  /** @param status of the response that it gave; 0 for none */
  end(outcome: CallOutcome, status: number): void {
    const span = this.parts.spans();
    if (this.isOver || span === null) return;
    this.isOver = true;
    if (!span.begin()) return;
    const toEpoch = this.parts.clock.offsetMs();
    const nowMs = performance.now();
    const takenMs = this.takenMs < 0 ? nowMs : this.takenMs;
    span.number(SpanNumber.Kind, this.kind);
    span.number(SpanNumber.StartMs, this.startedMs + toEpoch);
    span.number(SpanNumber.EndMs, nowMs + toEpoch);
    span.number(SpanNumber.QueueUs, Math.max(0, Math.round((takenMs - this.startedMs) * 1000)));
    span.number(SpanNumber.Status, status);
    span.number(SpanNumber.Outcome, CALL_OUTCOMES.indexOf(outcome));
    span.number(SpanNumber.Flags, this.flags);
    span.id(SpanIdKind.Trace, this.traceId);
    span.id(SpanIdKind.Own, this.id);
    span.id(SpanIdKind.Parent, this.parentId);
    // Texts of the ring are of Latin-1, and the end of a path says most.
    span.text(SpanText.Module, this.module.replace(/[^\0-\xff]/g, "?").slice(-MAX_MODULE_CHARS));
    span.end();
  }
}

/** The span of a request that a function sent to its route's target. */
class UpstreamSpan {
  private readonly parts: CallTracerPorts;
  private readonly traceId: Uint8Array;
  private readonly callId: Uint8Array;
  private readonly id: Uint8Array = new Uint8Array(8);
  private readonly flags: number;
  private readonly startedMs: number = performance.now();

  constructor(parts: CallTracerPorts, traceId: Uint8Array, callId: Uint8Array, flags: number) {
    this.parts = parts;
    this.traceId = traceId;
    this.callId = callId;
    this.flags = flags;
    drawId(this.id, parts.pool);
  }

  /** What the target is told. */
  get traceparent(): string {
    return `00-${hexOf(this.traceId)}-${hexOf(this.id)}-0${this.flags}`;
  }

  /** @param ex the exchange with the target, which is over */
  end({ request, response, fault, attempt: { count, upstreamMs, upstreamLabel } }: Exchange): void {
    const span = this.parts.spans();
    if (upstreamLabel === "" || span === null || !span.begin()) return;
    const toEpoch = this.parts.clock.offsetMs();
    span.number(SpanNumber.Kind, SpanKind.Upstream);
    span.number(SpanNumber.SentMs, this.startedMs + toEpoch);
    span.number(SpanNumber.EndMs, performance.now() + toEpoch);
    span.number(SpanNumber.UpstreamMs, upstreamMs);
    span.number(SpanNumber.Status, response.status);
    span.number(SpanNumber.Attempts, count);
    span.number(SpanNumber.Fault, fault);
    span.number(SpanNumber.Flags, this.flags);
    span.number(SpanNumber.Method, request.method);
    if (request.method === Method.Other) span.text(SpanText.Method, request.methodText());
    span.id(SpanIdKind.Trace, this.traceId);
    span.id(SpanIdKind.Own, this.callId);
    span.id(SpanIdKind.Client, this.id);
    span.text(SpanText.Upstream, upstreamLabel);
    span.end();
  }
}

const MAX_MODULE_CHARS = 256;
