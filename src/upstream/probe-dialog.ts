// How a probe asks, whatever protocol it speaks.
import type { FaultDetail } from "../core/fault-detail.ts";
import type { ExpectedBody } from "./probe-body.ts";

/** How a probe asks and understands. */
export interface ProbeDialog {
  readonly request: Buffer;
  /** The beginning of the response's body, one character a byte; "" if the check does not need it. */
  body(): string;
  /** Takes further bytes. @returns the status of the final response; 0 before it is whole as far as the check needs it; -1 if it is malformed */
  take(chunk: Buffer): number;
  /** The origin has closed the connection. @returns the status of a response whose body ends with that; 0 if it is not whole */
  close(): number;
  /** Why there is no whole response. */
  causeOf(failure: ProbeFailure): FaultDetail;
}

/** How a response was not one. */
export const enum ProbeFailure {
  Malformed = 0,
  Closed,
  Reset,
  Late,
}

/** The question of a probe beside its path, and the body that it expects. docs/upstreams.md#health-checks */
export interface ProbeQuestion {
  readonly method: string;
  /** In the order of the configuration; they take the place of the probe's own. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null if the status is enough. */
  readonly body: ExpectedBody | null;
}

/** A question for a status. */
export const PLAIN_QUESTION: ProbeQuestion = { method: "GET", headers: [], body: null };

/** The fields of a question: the configuration's, and the probe's own. */
export function questionFields({ method, headers, body }: ProbeQuestion): [name: string, value: string][] {
  const named = new Set(headers.map(([name]) => name.toLowerCase()));
  const own: [string, string][] = [
    ["User-Agent", "edge-health-check"],
    ["Accept", "*/*"],
  ];
  // A probe decodes nothing.
  if (body !== null) own.push(["Accept-Encoding", "identity"]);
  if (method === "POST") own.push(["Content-Length", "0"]);
  return [
    ...own.filter(([name]) => !named.has(name.toLowerCase())),
    ...headers.map(([name, value]) => [name, value] as [string, string]),
  ];
}
