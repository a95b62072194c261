import {
  ERROR,
  type EventArgs,
  flagField,
  numberField,
  optional,
  ROUTE,
  textField,
  texts,
} from "../../core/event-row.ts";
import type { FunctionLine } from "./wire.ts";

const MODULE = textField("file of the module");
const AT = textField("file, line and column");
const STACK = textField("the stack of the error");

/** A line that a function, or its thread, has caused, with the name of its module. */
export function eventOfLine(
  module: string,
  { event, level, fields }: FunctionLine,
): EventArgs<Pick<typeof FUNCTION_EVENTS, FunctionLine["event"]>> {
  return event === "function_log" ? [event, { module, level, ...fields }] : [event, { module, ...fields }];
}

/** What functions write to the log. docs/functions.md#mistakes */
export const FUNCTION_EVENTS = {
  function_log: {
    level: "always",
    perSecond: 100,
    isOpen: true,
    meaning: "A function has written it by `ctx.log` or `console`. Lines below `log.level` are left out.",
    advice: "Ask the function's author.",
    fields: {
      module: MODULE,
      level: textField("level of the line"),
      message: optional(textField("the text")),
      route: optional(ROUTE),
      request_id: optional(textField("the request, as in its access line")),
    },
  },
  function_failed: {
    level: "error",
    perSecond: 20,
    isOpen: true,
    meaning: "A function, or a hook, has thrown, gave no response that can be sent, or none in time.",
    advice: "Fix your module at the place in `at`, and reload. The request in `request_id` got 500, 502 or 504.",
    fields: {
      module: MODULE,
      what: optional(textField("the failure")),
      error: optional(ERROR),
      at: optional(AT),
      stack: optional(STACK),
      route: optional(ROUTE),
      request_id: optional(textField("the request, as in its access line")),
      request_ids: optional(texts("those under way, if it may belong to any of them")),
    },
  },
  function_load_failed: {
    level: "error",
    meaning:
      "A module does not load, or lacks the needed export. An earlier version of it goes on; without one its requests get 500.",
    advice: "Fix your module at the place in `at`, and reload; `edge check` loads all of them beforehand.",
    fields: { module: MODULE, error: ERROR, at: AT, stack: STACK },
  },
  function_thread_ended: {
    level: "warn",
    perSecond: 10,
    meaning: "The thread of a module has ended.",
    advice:
      "stuck: find the loop in your module, in the line `function_failed` before it. memory: find the data that grows, or raise `functions.memory`. exit: remove `process.exit`.",
    fields: {
      module: MODULE,
      reason: textField(
        "stuck (it did not come back within the time-out), memory, exit (`process.exit`, or a failure of the runtime) or broken (edge cannot read its message)",
      ),
      restarted: flagField("whether it is started again"),
    },
  },
  function_scheduled: {
    meaning: "A run of `functions.cron` was due. What another gateway of the fleet runs has no line.",
    advice:
      "With `ok: false`: error and died: fix your module; timeout: raise `timeout`, or do less; overlap: run it less often; store_away: check your Redis.",
    fields: {
      module: MODULE,
      schedule: textField("its line of the schedule"),
      due: textField("when it was due"),
      ok: flagField("whether it succeeded"),
      result: textField(
        "ok, error, timeout, died (its thread has ended), overlap (the run before is still under way) or store_away (the store of the fleet does not answer)",
      ),
      duration_ms: optional(numberField("how long it took")),
      error: optional(ERROR),
      stack: optional(STACK),
    },
  },
} as const;
