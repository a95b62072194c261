import { isObject } from "../../core/value-kind.ts";
import {
  type FromFunction,
  type FunctionLine,
  type ModuleExports,
  type ModuleProblem,
  RecordFault,
  type Records,
} from "./wire.ts";

// What a thread says is examined before it is used: its module can change all that the thread's own code is made of.

/** Reads the field of the record of a line for the log. @throws RecordFault if it is none */
export function readLine(records: Records): FunctionLine {
  const text = records.raw();
  try {
    const line: unknown = JSON.parse(text);
    if (isLine(line)) return line;
  } catch {
    // It is no JSON.
  }
  throw new RecordFault("no line of the log");
}

/** Whether this is a message of the gateway's part of a thread, and none of its module. */
export function isFromFunction(value: unknown): value is FromFunction {
  if (!isObject(value)) return false;
  const { kind, exports, problem, line } = value;
  if (kind === "loaded") return isExports(exports);
  if (kind === "failed") return isProblem(problem);
  return kind === "finished" || (kind === "log" && isLine(line));
}

function isLine(value: unknown): value is FunctionLine {
  if (!isObject(value)) return false;
  const { event, level, fields } = value;
  return EVENTS.has(event) && LEVELS.has(level) && isObject(fields);
}

function isExports(value: unknown): value is ModuleExports {
  if (!isObject(value)) return false;
  const { places } = value;
  return NAMES.every(
    (name) => typeof value[name] === "boolean" && isObject(places) && typeof places[name] === "string",
  );
}

function isProblem(value: unknown): value is ModuleProblem {
  return isObject(value) && ["error", "at", "stack"].every((name) => typeof value[name] === "string");
}

const EVENTS: ReadonlySet<unknown> = new Set(["function_log", "function_failed"]);
const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"]);
const NAMES = ["fetch", "onRequest", "onResponse"] as const;
