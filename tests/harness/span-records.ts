import {
  CALL_OUTCOMES,
  type CallOutcome,
  SpanIdKind,
  SpanNumber,
  SpanText,
  type SpanWriter,
  type StoredSpan,
} from "../../src/memory/span-ring.ts";
import { CACHE_RESULT_NAMES } from "../../src/message/cache-result.ts";
import { methodFromName, methodName } from "../../src/message/request-head.ts";

/** What a worker records of a request, as an object. Texts are of characters below 0x100. */
export interface SpanRecord {
  readonly startMs: number;
  readonly endMs: number;
  readonly sentMs: number;
  readonly upstreamMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly status: number;
  readonly attempts: number;
  readonly port: number;
  readonly tls: boolean;
  readonly flags: number;
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentId: Uint8Array;
  readonly clientSpanId: Uint8Array;
  /** Such as 11. */
  readonly protocol: number;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly route: string;
  readonly upstream: string;
  readonly client: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly fault: number;
  /** A name of `CACHE_RESULT_NAMES`. */
  readonly cache: string;
  /** As `SpanKind` numbers it. */
  readonly kind: number;
  readonly queueUs: number;
  /** One of `CALL_OUTCOMES`. */
  readonly outcome: string;
  readonly module: string;
}

/** Records it as a worker does. @returns whether there was room */
export function recordSpan(writer: SpanWriter, span: SpanRecord): boolean {
  if (!writer.begin()) return false;
  const method = methodFromName(span.method);
  if (method === 0) writer.text(SpanText.Method, span.method);
  writer.number(SpanNumber.Method, method);
  for (const [which, name] of NUMBERS) writer.number(which, span[name]);
  writer.number(SpanNumber.Tls, span.tls ? 1 : 0);
  writer.number(SpanNumber.Outcome, CALL_OUTCOMES.indexOf(span.outcome as CallOutcome));
  writer.number(SpanNumber.Cache, CACHE_RESULT_NAMES.indexOf(span.cache));
  for (const [which, name] of IDS) writer.id(which, span[name]);
  // Both ways of giving a text are the same.
  TEXTS.forEach(([which, name], i) => {
    const bytes = Buffer.from(`--${span[name]}--`, "latin1");
    if (i % 2 === 0) writer.text(which, span[name]);
    else writer.slice(which, bytes, 2, bytes.length - 2);
  });
  writer.end();
  return true;
}

/** What the reader sees, as an object. */
export function spanOf(stored: StoredSpan): SpanRecord {
  const method = stored.number(SpanNumber.Method);
  const idOf = (which: SpanIdKind, length: number) =>
    new Uint8Array(stored.bytes.subarray(stored.idAt(which), stored.idAt(which) + length));
  return {
    ...Object.fromEntries(NUMBERS.map(([which, name]) => [name, stored.number(which)])),
    ...Object.fromEntries(IDS.map(([which, name]) => [name, idOf(which, name === "traceId" ? 16 : 8)])),
    ...Object.fromEntries(TEXTS.map(([which, name]) => [name, stored.text(which)])),
    tls: stored.number(SpanNumber.Tls) === 1,
    cache: CACHE_RESULT_NAMES[stored.number(SpanNumber.Cache)]!,
    outcome: CALL_OUTCOMES[stored.number(SpanNumber.Outcome)]!,
    method: method > 0 ? methodName(method) : stored.text(SpanText.Method),
  } as SpanRecord;
}

const NUMBERS = [
  [SpanNumber.StartMs, "startMs"],
  [SpanNumber.EndMs, "endMs"],
  [SpanNumber.SentMs, "sentMs"],
  [SpanNumber.UpstreamMs, "upstreamMs"],
  [SpanNumber.BytesIn, "bytesIn"],
  [SpanNumber.BytesOut, "bytesOut"],
  [SpanNumber.Status, "status"],
  [SpanNumber.Attempts, "attempts"],
  [SpanNumber.Port, "port"],
  [SpanNumber.Flags, "flags"],
  [SpanNumber.Protocol, "protocol"],
  [SpanNumber.Fault, "fault"],
  [SpanNumber.Kind, "kind"],
  [SpanNumber.QueueUs, "queueUs"],
] as const;
const IDS = [
  [SpanIdKind.Trace, "traceId"],
  [SpanIdKind.Own, "spanId"],
  [SpanIdKind.Parent, "parentId"],
  [SpanIdKind.Client, "clientSpanId"],
] as const;
const TEXTS = [
  [SpanText.Host, "host"],
  [SpanText.Path, "path"],
  [SpanText.Route, "route"],
  [SpanText.Upstream, "upstream"],
  [SpanText.Client, "client"],
  [SpanText.UserAgent, "userAgent"],
  [SpanText.RequestId, "requestId"],
  [SpanText.Module, "module"],
] as const;
