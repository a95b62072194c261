import type { EventRows } from "../../../core/event-row.ts";
import type { LogLevel } from "../log-level.ts";
import { anyValue, exportRequest, keyValues, unixNano } from "./messages.ts";
import type { OtlpSender } from "./sender.ts";

/**
 * Lines of the log as records: the event is a record's name, the fields are its attributes. docs/tracing.md#metrics-and-logs
 * @param lines of JSON, or whatever a format of the access log makes
 * @param rows of the events
 * @param nowMs milliseconds since the epoch
 */
export function logsRequest(lines: readonly string[], sender: OtlpSender, rows: EventRows, nowMs: number): Uint8Array {
  const records = lines.map((line) => logRecordOf(line, rows, nowMs));
  return exportRequest("logs", sender, records);
}

function logRecordOf(line: string, rows: EventRows, nowMs: number): object {
  const fields = fieldsOf(line);
  const { time, timestamp, event, trace_id: traceId, ...others } = fields ?? {};
  const at = Date.parse(String(time ?? timestamp));
  const name = typeof event === "string" ? event : "access";
  const severity = severityOf(rows, name, others.ok === false);
  return {
    timeUnixNano: unixNano(Number.isNaN(at) ? nowMs : at),
    observedTimeUnixNano: unixNano(nowMs),
    severityNumber: NUMBERS[severity],
    severityText: severity.toUpperCase(),
    body: anyValue(fields === null ? line : name),
    eventName: name,
    attributes: keyValues(others),
    ...(typeof traceId === "string" && TRACE_ID.test(traceId) ? { traceId: Buffer.from(traceId, "hex") } : {}),
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

/** That of the event's row; what has come to nothing is an error. */
function severityOf(rows: EventRows, event: string, hasFailed: boolean): LogLevel {
  if (hasFailed) return "error";
  const level = (Object.hasOwn(rows, event) ? rows[event]!.level : undefined) ?? "info";
  return level === "always" ? "info" : level;
}

const NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };
const TRACE_ID = /^[0-9a-f]{32}$/;
