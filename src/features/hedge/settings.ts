import { block } from "../../config/row.ts";
import { duration } from "../../config/scalars.ts";

/** `hedge` at an upstream route. docs/upstreams.md#hedging */
export const hedge = block(
  {
    after: {
      type: duration(1, 60_000),
      default: "100ms",
      doc: "time without a response after which edge asks a second target; the first response wins",
    },
  },
  { shorthand: "after" },
);
