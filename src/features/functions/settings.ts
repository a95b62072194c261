import { TEXT } from "../../config/form.ts";
import { moduleFile } from "../../config/module-file.ts";
import { describe, list, pairs, piece, type Spot, Wrong, written } from "../../config/piece.ts";
import { block, type ConfigOf, orWritten, type Rows, type Values } from "../../config/row.ts";
import { duration, fileName, flag, integer, size, textOrNumber, word } from "../../config/scalars.ts";
import { MASK } from "../../core/secret-name.ts";
import { scheduleFault } from "./schedule.ts";

const schedule = piece<string>((value) => {
  if (typeof value !== "string")
    return new Wrong(`expected a schedule such as "*/5 * * * *", found ${describe(value)}`);
  const fault = scheduleFault(value);
  return fault === "" ? value.trim() : new Wrong(fault);
}, TEXT);

const cronRows = {
  schedule: {
    type: schedule,
    required: 'when it runs, as cron writes it: "*/5 * * * *"',
    example: "*/5 * * * *",
    doc: "minute, hour, day of the month, month, day of the week; in UTC",
  },
  module: {
    type: moduleFile(),
    required: "the module that runs, such as ./functions/refresh.ts",
    example: "./functions/refresh.ts",
    doc: "your module, which exports scheduled(event, ctx)",
  },
  timeout: { type: duration(1), default: "60s", doc: "time for one run" },
} as const satisfies Rows;

const rows = {
  workers: { type: integer(1, 64), default: 1, doc: "threads for each module" },
  memory: {
    type: size(16_777_216),
    default: "256MiB",
    doc: "most memory of one thread; edge replaces a thread with more",
  },
  concurrency: {
    type: integer(1, 65_536),
    default: 64,
    doc: "requests that one thread runs at once; others wait",
  },
  queue: {
    type: integer(0, 1_000_000),
    default: 1024,
    doc: "most requests that wait for a module, in all workers; more get 503",
  },
  env: {
    // Values are often secrets: listings show names alone.
    type: written(pairs(textOrNumber("a text"), "NAME: value"), (all) =>
      Object.fromEntries(all.map(([name]) => [name, MASK])),
    ),
    example: { SHOP_TOKEN: "${SHOP_TOKEN}" },
    doc: "your variables: all that process.env and ctx.env hold",
  },
  allow: {
    type: list(word("process"), "words", true),
    example: ["process"],
    doc: "process: your functions may change the process, such as its folder and signals, and load native code (.node)",
  },
  cron: { type: list(block(cronRows), "jobs"), doc: "your modules on a schedule: docs/functions.md#schedules" },
} as const satisfies Rows;

/** `functions`: how modules of routes and hooks run. docs/functions.md */
export const functions = block(rows, { check: checkFunctions });

/** The resolved section. */
export type FunctionsConfig = ConfigOf<typeof functions>;

function checkFunctions({ env }: Values<typeof rows>, { log, path }: Spot): void {
  for (const [name] of env)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      log.fault([...path, "env", name], "expected the name of a variable: letters, digits and _", true);
}

const hookRows = {
  module: {
    type: moduleFile(),
    required: "a module with onRequest or onResponse, such as ./hooks/shop.ts",
    example: "./hooks/shop.ts",
  },
  timeout: { type: duration(1), default: "5s", doc: "time for each of both calls; then 504" },
  bodies: { type: flag(), default: false, doc: "true: your module sees bodies too, which edge buffers for it" },
  max_body_bytes: {
    type: size(1, 67_108_864),
    default: "1MiB",
    doc: "largest buffered body: a longer request gets 413, a longer response 500",
  },
} as const satisfies Rows;

/** `hooks` of a route: what a module does to its requests and responses. docs/functions.md#hooks */
export const hooks = orWritten(block(hookRows, { shorthand: "module" }), fileName().form, (value) =>
  typeof value === "string" ? { module: value } : value,
);
