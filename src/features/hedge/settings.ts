import { block } from "../../config/row.ts";
import { duration } from "../../config/scalars.ts";

/** `hedge` at an upstream route. docs/upstreams.md#hedging */
export const hedge = block(
  {
    after: {
      type: duration(1, 60_000),
      default: "100ms",
      doc: "without a response for so long, a second target gets the request too, and the first to respond wins",
    },
  },
  { shorthand: "after" },
);
