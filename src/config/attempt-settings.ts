import { list, resolved, written } from "./piece.ts";
import { block, type Rows } from "./row.ts";
import { duration, flag, integer } from "./scalars.ts";

/** `timeouts` of what leads to origins. @param idle by default, as a file would say it. docs/upstreams.md#time-limits */
export function timeoutsWith(idle: string | number) {
  return block({
    connect: { type: duration(1), absent: null, example: "5s", doc: "time to connect; as the transport by default" },
    response_header: {
      type: duration(1),
      absent: null,
      example: "30s",
      doc: "time until the head of the response; as the transport by default",
    },
    idle: { type: duration(0), default: idle, doc: "longest pause within a response" },
    total: { type: duration(0), default: 0, doc: "time for the whole request; 0: no limit" },
  });
}

const attemptRows = {
  attempts: {
    type: integer(0, 10),
    default: 1,
    doc: "further attempts on other targets, if the first cannot have acted on the request",
  },
} as const satisfies Rows;

const retryBlock = block(attemptRows, { shorthand: "attempts" });

/** `retries` of a route to origins. docs/upstreams.md#retries */
export const routeRetries = block(
  {
    ...attemptRows,
    statuses: {
      type: list(integer(400, 599), "statuses, such as 503", true),
      example: [503],
      doc: "statuses after which edge retries GET and other idempotent methods",
    },
    backoff: { type: duration(0, 60_000), default: "0s", doc: "pause before each further attempt" },
  },
  { shorthand: "attempts" },
);

/** `retries`; resolved, the number of further attempts. docs/upstreams.md#retries */
export const retries = written(
  resolved(retryBlock, ({ attempts }) => attempts),
  (attempts) => ({ attempts }),
);

/** The keys of a circuit breaker. */
export const breakerRows = {
  enabled: { type: flag(), default: true, doc: "false: a failing server keeps its requests" },
  failure_threshold: {
    type: integer(1, 1_000_000),
    default: 5,
    doc: "failures in a row: no connection, timeout, reset, malformed response",
  },
  open_duration: {
    type: duration(1),
    default: "30s",
    doc: "most time out; it ends when a connection or the health check succeeds",
  },
  failure_statuses: {
    type: list(integer(400, 599), "statuses, such as 503", true),
    doc: "statuses that count as failures; edge retries elsewhere if it can: [502, 503]",
  },
  success_rate: {
    type: integer(0, 99),
    default: 0,
    doc: "percent: edge takes out a target if fewer requests succeed; 0: off",
  },
  success_rate_requests: {
    type: integer(10, 1_000_000),
    default: 100,
    doc: "how many requests success_rate looks at",
  },
  slow_start: {
    type: duration(0),
    default: "0s",
    doc: "time over which a recovered target returns to its full share",
  },
} as const satisfies Rows;

/** `circuit_breaker` of a route. docs/upstreams.md#circuit-breaker */
export const circuitBreaker = block(breakerRows);

/** The same of a split, which has none unless you write it. docs/sidecar.md#failing-backends */
export const splitBreaker = block(breakerRows, { absent: { enabled: false } });

/** How often a target is asked or tried, and how many answers in a row count: the `doc` of each use says of what. */
export const probeRows = {
  interval: { type: duration(1), default: "10s" },
  timeout: { type: duration(1), default: "2s" },
  healthy_threshold: { type: integer(1, 1000), default: 2 },
  unhealthy_threshold: { type: integer(1, 1000), default: 3 },
} as const satisfies Rows;
