import { ShownAddresses } from "../../../../src/core/address-mask.ts";
import { EVENTS, type GatewayLog } from "../../../../src/facts/events.ts";
import { EventLog } from "../../../../src/features/telemetry/event-log.ts";
import { LogBatch } from "../../../../src/features/telemetry/log-batch.ts";
import { LogThreshold } from "../../../../src/features/telemetry/log-level.ts";
import { Refusals } from "../../../../src/features/telemetry/refusals.ts";
import { TelemetryLabels } from "../../../../src/features/telemetry/route-labels.ts";
import { createCounterBuffers, WorkerCounters } from "../../../../src/memory/counter-table.ts";
import { CounterTotals } from "../../../../src/memory/counter-totals.ts";

export interface FakeTelemetry {
  readonly labels: TelemetryLabels;
  readonly counters: WorkerCounters;
  readonly totals: CounterTotals;
  readonly batches: string[];
  readonly batch: LogBatch;
  readonly clock: { nowMs: number };
  readonly events: GatewayLog;
  readonly refusals: Refusals;
}

/** The access log without any key. */
export const USUAL_LINES = {
  enabled: true,
  sample: 1,
  only: "",
  exclude: { paths: [] },
  format: "json",
  fields: [],
} as const;

/** Leaves requests without an id. */
export const NAMES = { idOf: () => "" };

/** The telemetry of one worker, with a log that keeps its batches. */
export function fakeTelemetry(routes: readonly string[] = [], upstreams: readonly string[] = []): FakeTelemetry {
  const labels = new TelemetryLabels();
  const buffers = createCounterBuffers();
  const counters = new WorkerCounters(buffers, labels.forConfiguration(routes, upstreams));
  const totals = new CounterTotals([buffers], labels.routes, labels.upstreams);
  const batches: string[] = [];
  const batch = new LogBatch({ write: (text) => batches.push(text) }, counters);
  const clock = { nowMs: Date.parse("2026-01-31T12:00:00.000Z") };
  const events = new EventLog(EVENTS, batch, clock);
  return {
    labels,
    counters,
    totals,
    batches,
    batch,
    clock,
    events,
    refusals: new Refusals(counters, events, NAMES),
  };
}

/** The lines of the log so far, parsed. */
export function loggedLines(telemetry: FakeTelemetry): Record<string, unknown>[] {
  telemetry.batch.flush();
  const text = telemetry.batches.join("");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** What an access log needs, with everything named. */
export function fakeAccessPorts({ clock }: ReturnType<typeof fakeTelemetry>) {
  return {
    clock,
    random: () => 0,
    namesUsers: true,
    namesTraces: true,
    namesCountries: true,
    namesListeners: true,
    names: NAMES,
    threshold: new LogThreshold(),
    addresses: new ShownAddresses(),
  };
}
