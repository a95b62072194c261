import { resolved, written } from "./piece.ts";
import { block } from "./row.ts";
import { duration, integer } from "./scalars.ts";

/** `timeouts` of what leads to origins. @param idle by default, as a file would say it. docs/upstreams.md#time-limits */
export function timeoutsWith(idle: string | number) {
  return block({
    connect: { type: duration(1), absent: null, example: "5s", doc: "the transport's by default" },
    response_header: { type: duration(1), absent: null, example: "30s", doc: "the transport's by default" },
    idle: { type: duration(0), default: idle, doc: "longest pause within a response" },
    total: { type: duration(0), default: 0, doc: "0 is no limit" },
  });
}

const retryBlock = block(
  {
    attempts: {
      type: integer(0, 10),
      default: 1,
      doc: "on other targets, only where the first cannot have acted on the request",
    },
  },
  { shorthand: "attempts" },
);

/** `retries`; resolved, the number of further attempts. docs/upstreams.md#retries */
export const retries = written(
  resolved(retryBlock, ({ attempts }) => attempts),
  (attempts) => ({ attempts }),
);
