import type { StreamEnd } from "./stream-counters.ts";

/** What a line of the log says of a forwarded connection. docs/streams.md#log */
export interface StreamRecord {
  readonly route: string;
  readonly protocol: "tcp" | "udp" | "tls";
  readonly clientIp: string;
  /** The name that the client asked for in its handshake; "" if none is known. */
  readonly host: string;
  /** "" if no connection to one came about. */
  readonly target: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
  /** From the client's connection until the target's was there; -1 if it never was. */
  readonly connectMs: number;
  readonly end: StreamEnd;
}
