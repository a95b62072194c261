import { isAbsolute } from "node:path";
import type { ModuleProblem } from "../wire.ts";

/** Characters of a stack that go to the log. */
const MAX_STACK_CHARS = 4096;
const MAX_ERROR_CHARS = 1024;

/** What a module threw, for the log: the text, the place in a file of the user's, the stack without frames of the gateway. */
export function problemOf(thrown: unknown, place = ""): ModuleProblem {
  const { name, message, stack } = partsOf(thrown);
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line) && !isOwn(line));
  const error = message.startsWith(name) || name === "" ? message : `${name}: ${message}`;
  return {
    error: error.slice(0, MAX_ERROR_CHARS),
    at: placeOf(thrown) || (frames.map(placeIn).find((found) => found !== "") ?? place),
    stack: [error, ...frames].join("\n").slice(0, MAX_STACK_CHARS),
  };
}

/** Whatever may be thrown: a getter of it may throw as well. */
function partsOf(thrown: unknown): { readonly name: string; readonly message: string; readonly stack: string } {
  try {
    if (thrown instanceof AggregateError && thrown.errors.length > 0) return partsOf(thrown.errors[0]);
    if (thrown instanceof Error)
      return { name: String(thrown.name), message: String(thrown.message), stack: String(thrown.stack ?? "") };
    // What the runtime says of a file that is no program.
    if (typeof thrown === "object" && thrown !== null && "message" in thrown)
      return { name: "", message: String(thrown.message), stack: "" };
    return { name: "", message: String(thrown), stack: "" };
  } catch {
    return { name: "", message: "a value that cannot be shown", stack: "" };
  }
}

/** The place that the runtime notes at errors of reading a module. */
function placeOf(thrown: unknown): string {
  try {
    const one = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
    const { position, referrer } = one as {
      readonly position?: { readonly file?: unknown; readonly line?: unknown; readonly column?: unknown };
      readonly referrer?: unknown;
    };
    if (position != null && typeof position.file === "string" && isAbsolute(position.file))
      return `${position.file}:${Number(position.line)}:${Number(position.column)}`;
    return typeof referrer === "string" && isAbsolute(referrer) ? referrer : "";
  } catch {
    return "";
  }
}

/** Frames of the gateway and of the runtime tell users nothing. */
function isOwn(frame: string): boolean {
  return frame.includes(import.meta.dir) || /\/\$bunfs\/|\bnative:|\bbun:|[( ]src\/features\/functions\//.test(frame);
}

function placeIn(frame: string): string {
  const text = frame.trim().replace(/\)$/, "");
  const last = text.slice(Math.max(text.lastIndexOf("("), text.lastIndexOf(")")) + 1);
  const url = last.indexOf("file:///");
  const slash = last.indexOf("/");
  if (slash < 0 || !/:\d+:\d+$/.test(last)) return "";
  return last.slice(url >= 0 && url < slash ? url + "file://".length : slash);
}
