import { orWord } from "../../config/form.ts";
import { type Kind, piece, Wrong, written } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { duration, integer } from "../../config/scalars.ts";
import { AUTO_LIMIT, MAX_LIMIT } from "./adaptive-limit.ts";

/** The bound of every queue, whatever `queue` says: each waiting request takes memory. */
export const MAX_QUEUE = 10_000;
const LARGEST_QUEUE = 1_000_000_000;

/** `concurrency`, of a route or of a target: how many requests there are at once. docs/pressure.md#concurrency */
export const concurrency = block(
  {
    limit: {
      type: limitOrAuto(),
      required: "the number of requests at once, such as limit: 50, or limit: auto",
      example: 50,
      doc: "most requests at once, in all workers; auto finds the number by the latency",
    },
    queue: { type: integer(0, LARGEST_QUEUE), default: 100, doc: "most requests that wait for a place; more get 503" },
    queue_timeout: { type: duration(1), default: "1s", doc: "most time in the queue; then 503" },
  },
  {
    shorthand: "limit",
    check({ queue }, { log, path }) {
      if (queue > MAX_QUEUE) log.warn([...path, "queue"], `at most ${MAX_QUEUE} requests wait: each takes memory`);
    },
  },
);

export type ConcurrencyConfig = ConfigOf<typeof concurrency>;

/** A number of 1 and up, or `auto`, which is AUTO_LIMIT. */
function limitOrAuto(): Kind<number> {
  const plain = integer(1, MAX_LIMIT);
  const kind = piece<number>(
    (value) => {
      if (value === "auto") return AUTO_LIMIT;
      const result = plain["~run"]({ value }, {});
      return result.issues === undefined ? Number(result.value) : new Wrong(`${result.issues[0].message}, or auto`);
    },
    orWord(plain.form, "auto"),
  );
  return written(kind, (limit) => (limit === AUTO_LIMIT ? "auto" : limit));
}
