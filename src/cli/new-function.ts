import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import FUNCTION_TEST from "./function-files/function.test.ts.txt" with { type: "text" };
import FUNCTION from "./function-files/function.ts.txt" with { type: "text" };

/** The command as `edge help new` shows it. */
export const newFunctionCommand = {
  name: "edge new",
  page: "functions.md#edge-new-function",
  summary: "Writes functions/NAME.ts, an example with comments, and its test. Never overwrites a file.",
  operands: { usage: "function NAME", min: 2, max: 2, words: ["function"] },
  flags: [{ name: "dir", type: "string", default: ".", placeholder: "FOLDER", help: "the folder of routes.yaml" }],
  notes: ["Exit codes: 0 written, 1 a file exists already or could not be written, 2 wrong usage."],
} as const;

/** `edge new function NAME`. docs/functions.md#edge-new-function */
export function runNew(args: readonly string[], io: CommandIo, cwd: string = process.cwd()): number {
  const call = startCommand(newFunctionCommand, args, io);
  if (typeof call === "number") return call;
  const [, name] = call.operands as readonly [string, string];
  if (!NAME.test(name)) {
    io.err(`edge new: expected a name of small letters, digits and dashes, found ${JSON.stringify(name)}\n`);
    return ExitCode.Usage;
  }
  const files = [
    { path: join("functions", `${name}.ts`), text: FUNCTION },
    { path: join("functions", `${name}.test.ts`), text: FUNCTION_TEST },
  ];
  const root = resolve(cwd, call.values.dir);
  const there = files.filter(({ path }) => existsSync(join(root, path)));
  if (there.length > 0) {
    io.err(`edge new: ${there.map(({ path }) => path).join(" and ")} already present, nothing written.\n`);
    return ExitCode.Failure;
  }
  try {
    mkdirSync(join(root, dirname(files[0]!.path)), { recursive: true });
    // "wx" fails where a file has appeared since the look above.
    for (const { path, text } of files) writeFileSync(join(root, path), text.replaceAll("NAME", name), { flag: "wx" });
  } catch (error) {
    io.err(`edge new: cannot write to ${call.values.dir}: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  }
  io.out(`Wrote ${files.map(({ path }) => path).join(" and ")}. Add to routes.yaml:\n\n${routeOf(name)}\n`);
  io.out("Then: edge types, edge dev, edge test.\n");
  return ExitCode.Done;
}

function routeOf(name: string): string {
  return `- type: function\n  prefix: /${name}\n  module: ./functions/${name}.ts\n`;
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
