import { nullable, numberField, textField } from "../../core/event-row.ts";

/** What shedding writes to the log. docs/pressure.md#shedding */
export const OVERLOAD_EVENTS = {
  overload: {
    level: "warn",
    meaning:
      "The gateway itself is short of something, and sheds other requests than before; `sheds` `none` says that it is over.",
    advice: "Give your gateway more of what `reason` names, or add a gateway. Routes that matter get `priority: high`.",
    fields: {
      reason: nullable(textField("`cpu`, `memory`, `descriptors` or `loop_delay`; null when it is over")),
      value: numberField("the value: a share, or milliseconds"),
      threshold: numberField("its threshold in `server.overload`"),
      sheds: textField("`none`, `low`, `normal` or `signed_in`: this and everything before it"),
      shed: numberField("requests shed since the last such line"),
    },
  },
} as const;
