import { ShownAddresses } from "../../core/address-mask.ts";
import type { EventArgs, EventRows } from "../../core/event-row.ts";
import { jsonLine, jsonText, type LineSink } from "./log-batch.ts";
import { LogThreshold } from "./log-level.ts";

/** Things of which is known when a line about them was written. */
export const MAX_LOGGED_ORIGINS = 256;

/** What has been written of one kind of event. */
interface Tally {
  second: number;
  lines: number;
  leftOut: number;
}

/** The events of one thread, each with the bound of its row. */
export class EventLog<Rows extends EventRows> {
  private readonly rows: EventRows;
  private readonly sink: LineSink;
  private readonly clock: { readonly nowMs: number };
  private readonly tallies: Map<string, Tally> = new Map();
  /** By event and thing; the one that was written longest ago comes first. */
  private readonly things: Map<string, { atMs: number; leftOut: number }> = new Map();

  private readonly threshold: LogThreshold;
  private readonly addresses: ShownAddresses;

  /**
   * @param rows the events that it knows
   * @param clock milliseconds since the epoch
   * @param threshold the level, which may change
   * @param addresses how addresses of clients are shown, likewise
   */
  constructor(
    rows: Rows,
    sink: LineSink,
    clock: { readonly nowMs: number },
    threshold: LogThreshold = new LogThreshold(),
    addresses: ShownAddresses = new ShownAddresses(),
  ) {
    this.rows = rows;
    this.sink = sink;
    this.clock = clock;
    this.threshold = threshold;
    this.addresses = addresses;
  }

  /** Writes an event, where level and bound let it. */
  event(...event: EventArgs<Rows>): void {
    const [name, fields] = event;
    const hasFailed = "ok" in fields && fields.ok === false && this.threshold.takes("error");
    if (this.takes(name) || hasFailed) this.write(...event);
  }

  /**
   * To be asked where the fields cost something to make; `write` follows where it is true.
   * @returns whether the level and the bound of this kind let it be written; what is beyond the bound counts as left out
   */
  takes(name: keyof Rows & string): boolean {
    const { perSecond, level = "info" } = this.rows[name]!;
    if (level !== "always" && !this.threshold.takes(level)) return false;
    if (perSecond === undefined || this.threshold.isVerbose) return true;
    let tally = this.tallies.get(name);
    if (tally === undefined) {
      tally = { second: -1, lines: 0, leftOut: 0 };
      this.tallies.set(name, tally);
    }
    const second = Math.floor(this.clock.nowMs / 1000);
    if (second !== tally.second) {
      tally.second = second;
      tally.lines = 0;
    }
    if (tally.lines++ < perSecond) return true;
    tally.leftOut++;
    this.sink.leftOut(1);
    return false;
  }

  /** Writes an event that `takes` let pass. */
  write(...[name, fields]: EventArgs<Rows>): void {
    const tally = this.tallies.get(name);
    this.add(name, fields, tally?.leftOut ?? 0);
    if (tally !== undefined) tally.leftOut = 0;
  }

  /** Writes an event about a thing, such as an origin, once in `everyMs` of its row. @param thing whatever tells things apart */
  eventOf(thing: string, ...[name, fields]: EventArgs<Rows>): void {
    const { nowMs } = this.clock;
    const { everyMs = 0, level = "info" } = this.rows[name]!;
    if (level !== "always" && !this.threshold.takes(level)) return;
    const key = `${name} ${thing}`;
    const last = this.things.get(key);
    const sinceMs = last === undefined ? -1 : nowMs - last.atMs;
    // A clock that was set back counts as long enough.
    if (last !== undefined && sinceMs >= 0 && sinceMs < everyMs) {
      last.leftOut++;
      return;
    }
    this.things.delete(key);
    // Clients of a sidecar name the origins: the one that was written longest ago makes way.
    if (this.things.size >= MAX_LOGGED_ORIGINS) this.things.delete(this.things.keys().next().value!);
    this.things.set(key, { atMs: nowMs, leftOut: 0 });
    this.add(name, fields, last?.leftOut ?? 0);
  }

  private add(name: string, fields: EventFields, leftOut: number): void {
    const shown = this.addresses.bits === null ? fields : this.shown(fields);
    this.sink.add(eventLine(this.clock.nowMs, name, leftOut > 0 ? { ...shown, not_logged: leftOut } : shown));
  }

  private shown(fields: EventFields): EventFields {
    const entries = Object.entries(fields).map(([name, value]) =>
      typeof value === "string" && ADDRESS_FIELDS.has(name) ? [name, this.addresses.of(value)] : [name, value],
    );
    return Object.fromEntries(entries);
  }
}

/** Fields of an event, in the order in which they are written. */
type EventFields = Readonly<Record<string, unknown>>;

/**
 * One line of the log for an event: `{"timestamp":…,"event":…,<fields>,"time":…}` and a line break; both are the same, `time` as in every line. docs/operations.md#log
 * @param timestampMs milliseconds since the epoch
 * @param name of the event
 * @param fields those of its row; texts may hold anything that a client sent: they are escaped, and cut at 2048 characters
 */
export function eventLine<Rows extends EventRows = EventRows>(
  timestampMs: number,
  ...[name, fields]: EventArgs<Rows>
): string {
  const time = new Date(timestampMs).toISOString();
  let line = `{"timestamp":"${time}","event":${jsonText(name, MAX_TEXT)}`;
  for (const [field, value] of Object.entries(fields))
    if (value !== undefined) line += `,${jsonText(field, MAX_TEXT)}:${valueText(value)}`;
  return `${line},"time":"${time}"}\n`;
}

function valueText(value: unknown): string {
  if (typeof value === "string") return jsonText(value, MAX_TEXT);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => jsonText(String(item), MAX_TEXT));
    return `[${shown.join(",")}]`;
  }
  return typeof value === "object" && value !== null ? jsonLine({ ...value }) : String(value);
}

/** Fields of events that hold the address of a client. */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set(["client_ip", "from", "peer", "address"]);
const MAX_TEXT = 2048;
const MAX_ITEMS = 100;
