import { printable } from "../../core/printable.ts";

/** What lines are shown. */
interface LogFilter {
  /** Statuses of `access` lines: `404`, or `5xx` for a class; none for all. */
  readonly statuses: readonly string[];
  /** As in the field `route`; "" for all. */
  readonly route: string;
  /** Names of events, `access` among them; none for all. */
  readonly events: readonly string[];
  /** `request_id` of a request and of all lines about it; "" for all. */
  readonly id: string;
  /** Milliseconds since the epoch; lines from before are left out. 0 for all. */
  readonly sinceMs: number;
}

/** A line of the log, read. */
type Line = Readonly<Record<string, unknown>>;

/** Reads lines of the gateway's log, chooses among them, and writes them for people. docs/tools.md#logs */
export class LogView {
  private readonly filter: LogFilter;
  private readonly paint: Paint;
  private readonly isJson: boolean;

  /** @param isJson shows lines as they are @param hasColor for a terminal */
  constructor(filter: LogFilter, isJson: boolean, hasColor: boolean) {
    this.filter = filter;
    this.isJson = isJson;
    this.paint = hasColor ? COLORED : PLAIN;
  }

  /** @param text one line, without its end @returns what is shown for it, with a line break; "" for nothing */
  show(text: string): string {
    const line = readLine(text);
    if (line === null) return isUnfiltered(this.filter) && text.trim() !== "" ? `${printable(text)}\n` : "";
    if (!this.takes(line)) return "";
    if (this.isJson) return `${text}\n`;
    return `${line.event === "access" ? this.access(line) : this.event(line)}\n`;
  }

  private takes(line: Line): boolean {
    const { statuses, route, events, id, sinceMs } = this.filter;
    const status = String(line.status ?? "");
    if (statuses.length > 0 && !statuses.some((one) => one === status || one === `${status[0]}xx`)) return false;
    if (route !== "" && line.route !== route) return false;
    if (id !== "" && line.request_id !== id) return false;
    if (events.length > 0 && !events.includes(String(line.event ?? ""))) return false;
    return sinceMs === 0 || Date.parse(timeOf(line)) >= sinceMs;
  }

  private access(line: Line): string {
    const { faint, strong } = this.paint;
    const status = Number(line.status ?? 0);
    const way = [line.client_ip, line.upstream].filter((one) => typeof one === "string" && one !== "").map(String);
    const notes = [
      line.route === undefined ? "" : `route ${line.route}`,
      known(line.cache) ? `cache ${line.cache}` : "",
      known(line.user) ? `user ${line.user}` : "",
      Number(line.waf_score ?? 0) > 0 ? `waf ${line.waf_score}` : "",
      known(line.fault) ? `fault ${causeOf(line)}` : "",
      Number(line.attempts ?? 0) > 1 ? `${line.attempts} attempts${attemptTimes(line.attempt_ms)}` : "",
      known(line.request_id) ? String(line.request_id) : "",
    ].filter((one) => one !== "");
    const target = `${known(line.host) ? line.host : ""}${known(line.path) ? line.path : ""}`;
    return [
      faint(clock(line)),
      this.colored(status, String(line.status ?? "-").padStart(3)),
      duration(line.duration_ms).padStart(8),
      strong(printable(`${known(line.method) ? line.method : "-"} ${target}`)),
      faint(printable(`${way.join(" → ")}${notes.length === 0 ? "" : `  ${notes.join(", ")}`}`)),
    ].join("  ");
  }

  private event(line: Line): string {
    const { faint, strong } = this.paint;
    const { time: _, timestamp: __, event, ...others } = line;
    const fields = Object.entries(others).map(([name, value]) => `${name}=${fieldText(value)}`);
    return `${faint(clock(line))}  ${strong(printable(String(event ?? "-")))}  ${fields.join(" ")}`.trimEnd();
  }

  private colored(status: number, text: string): string {
    const { good, warn, bad } = this.paint;
    return status >= 500 ? bad(text) : status >= 400 ? warn(text) : good(text);
  }
}

/** One time in a filter: `10m` before now, or a date. NaN where it is neither. */
export function sinceOf(text: string, nowMs: number): number {
  const parts = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text);
  return parts === null ? Date.parse(text) : nowMs - Number(parts[1]) * UNITS_MS[parts[2]!]!;
}

function readLine(text: string): Line | null {
  if (!text.startsWith("{")) return null;
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null && !Array.isArray(line) ? (line as Line) : null;
  } catch {
    return null;
  }
}

function isUnfiltered({ statuses, route, events, id, sinceMs }: LogFilter): boolean {
  return statuses.length === 0 && route === "" && events.length === 0 && id === "" && sinceMs === 0;
}

function timeOf(line: Line): string {
  return String(line.time ?? line.timestamp ?? "");
}

/** The time of day, in UTC as in the line. */
function clock(line: Line): string {
  return timeOf(line).slice("2026-01-31T".length, -1) || "-";
}

function known(value: unknown): boolean {
  return value !== null && value !== undefined && value !== "";
}

function duration(value: unknown): string {
  if (typeof value !== "number") return "-";
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

function fieldText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const plain = printable(text);
  return /^[^\s"=]+$/.test(plain) ? plain : JSON.stringify(plain);
}

/** A fault with its cause, unless that says the same. */
function causeOf({ fault, fault_detail: detail }: Line): string {
  return known(detail) && detail !== fault ? `${fault}: ${detail}` : String(fault);
}

function attemptTimes(times: unknown): string {
  return Array.isArray(times) && times.length > 0 ? ` (${times.map(duration).join(", ")})` : "";
}

type Paint = Readonly<Record<"strong" | "faint" | "good" | "warn" | "bad", (text: string) => string>>;

const same = (text: string): string => text;
const PLAIN: Paint = { strong: same, faint: same, good: same, warn: same, bad: same };
const COLORED: Paint = {
  strong: (text) => `\x1b[1m${text}\x1b[0m`,
  faint: (text) => `\x1b[2m${text}\x1b[0m`,
  good: (text) => `\x1b[32m${text}\x1b[0m`,
  warn: (text) => `\x1b[33m${text}\x1b[0m`,
  bad: (text) => `\x1b[31m${text}\x1b[0m`,
};
const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
