import { block, type ConfigOf, OFF } from "../../config/row.ts";
import { decimal, duration, flag } from "../../config/scalars.ts";

/** `server.overload`: what counts as a shortage of the gateway's own. docs/pressure.md#shedding */
export const overload = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge sheds nothing" },
    cpu: { type: decimal(0.01, 1), default: 0.95, doc: "share of its processors above which edge sheds requests" },
    loop_delay: {
      type: duration(1),
      default: "50ms",
      doc: "delay of a worker's event loop above which edge sheds requests",
    },
    memory: {
      type: decimal(0.0001, 1),
      default: 0.9,
      doc: "share of the machine's or control group's memory above which edge sheds requests",
    },
  },
  { absent: OFF },
);

export type OverloadConfig = ConfigOf<typeof overload>;

/** Which requests go first if the gateway is short of something. */
export const PRIORITIES = ["high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];
