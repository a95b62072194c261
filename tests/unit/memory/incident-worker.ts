import { IncidentWriter } from "../../../src/memory/incident-ring.ts";
import { incidentOf } from "./incident-of.ts";

/** A worker thread that records incidents as fast as it can; all fields of one follow from its number. */
declare const self: Worker;

interface Order {
  readonly buffer: SharedArrayBuffer;
  readonly writer: number;
  readonly count: number;
  readonly seed: number;
}

self.onmessage = ({ data }: MessageEvent<Order>) => {
  const writer = new IncidentWriter(data.buffer, data.writer);
  for (let i = 0; i < data.count; i++) writer.record(incidentOf(data.seed + data.writer * data.count + i));
  self.postMessage("done");
};
