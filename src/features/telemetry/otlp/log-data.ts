import type { AnyValue, Attributes } from "@opentelemetry/api";
import type { ReadableLogRecord } from "@opentelemetry/sdk-logs";
import { EVENTS, type EventName, type EventRow } from "../events.ts";
import type { LogLevel } from "../log-level.ts";
import { type Sender, splitTime } from "./resource.ts";

/**
 * A line of the log as a record: the event is its name, the fields are its attributes. docs/tracing.md#metrics-and-logs
 * @param line of JSON, or whatever a format of the access log makes
 * @param nowMs milliseconds since the epoch
 */
export function logRecordOf(line: string, { resource, scope }: Sender, nowMs: number): ReadableLogRecord {
  const fields = fieldsOf(line);
  const { time, timestamp, event, trace_id: traceId, ...others } = fields ?? {};
  const at = Date.parse(String(time ?? timestamp));
  const name = typeof event === "string" ? event : "access";
  const severity = severityOf(name, others.ok === false);
  return {
    hrTime: splitTime(Number.isNaN(at) ? nowMs : at),
    hrTimeObserved: splitTime(nowMs),
    ...(typeof traceId === "string" && traceId.length === 32
      ? { spanContext: { traceId, spanId: NO_SPAN, traceFlags: 0 } }
      : {}),
    severityNumber: NUMBERS[severity],
    severityText: severity.toUpperCase(),
    body: fields === null ? line : name,
    eventName: name,
    attributes: attributesOf(others),
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
  };
}

function fieldsOf(line: string): Record<string, unknown> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function attributesOf(fields: Readonly<Record<string, unknown>>): Attributes {
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(known) as Record<string, AnyValue> as Attributes;
}

/** That of the event's row; what has come to nothing is an error. */
function severityOf(event: string, hasFailed: boolean): LogLevel {
  if (hasFailed) return "error";
  const row: EventRow | undefined = Object.hasOwn(EVENTS, event) ? EVENTS[event as EventName] : undefined;
  const level = row?.level ?? "info";
  return level === "always" ? "info" : level;
}

const NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };
const NO_SPAN = "0000000000000000";
