import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { configuredModules } from "../features/functions/control/configured-modules.ts";
import { preloadBundle } from "../tools/edge-test/preload-bundle.ts" with { type: "macro" };
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { loadForRequest } from "./load-for-request.ts";
import { ownCommand } from "./own-command.ts";

/** The command as `edge help test` shows it. */
export const testCommand = {
  name: "edge test",
  page: "functions.md#edge-test",
  summary:
    "Runs the tests of functions and hooks, *.test.ts beside their modules, against the gateway with the project's routes.",
  operands: { usage: "[FILE...]", min: 0, max: Number.MAX_SAFE_INTEGER },
  flags: [
    ...CONFIG_FLAGS,
    {
      name: "filter",
      alias: "t",
      type: "string",
      default: "",
      placeholder: "PATTERN",
      help: "only tests whose names fit this expression",
    },
    { name: "timeout", type: "duration", default: "30s", help: "how long one test may take" },
  ],
  notes: [
    'Tests import { edge } from "edge:test": edge.fetch("/path") asks a gateway that is started on a free port of 127.0.0.1.',
    "Exit codes: 0 all have passed, 1 a test has failed, or there is none, 2 wrong usage.",
  ],
} as const;

/** `edge test`. docs/functions.md#edge-test */
export async function runFunctionTests(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(testCommand, args, io);
  if (typeof call === "number") return call;
  const { filter, timeout } = call.values;
  const config = loadForRequest(call.values, io);
  if (config === null) return ExitCode.Failure;
  const missing = call.operands.find((file) => !existsSync(file));
  if (missing !== undefined) {
    io.err(`edge test: ${missing} is not there\n`);
    return ExitCode.Failure;
  }
  const folders = [...new Set(configuredModules(config).map(({ module }) => dirname(module)))];
  const files = call.operands.length > 0 ? call.operands.map((file) => resolve(file)) : folders.flatMap(testsIn);
  if (files.length === 0) {
    const places = folders.map((folder) => relative(process.cwd(), folder) || ".").join(", ");
    io.err(`edge test: no tests: ${places === "" ? "no route has a module" : `no *.test.ts in ${places}`}\n`);
    return ExitCode.Failure;
  }
  const run = {
    command: ownCommand(),
    config: absolute(call.values.config),
    routes: absolute(call.values.routes),
    cwd: process.cwd(),
  };
  const options = [`--timeout=${timeout}`, ...(filter === "" ? [] : [`--test-name-pattern=${filter}`])];
  return runWith([...options, ...files], run);
}

/** The binary is the runtime's command line for this one child, which runs the tests. */
async function runWith(args: readonly string[], run: object): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "edge-test-"));
  try {
    const preload = join(folder, "preload.js");
    writeFileSync(preload, PRELOAD, { mode: 0o600 });
    const child = Bun.spawn([process.execPath, "test", "--preload", preload, ...args], {
      env: { ...process.env, BUN_BE_BUN: "1", EDGE_FUNCTION_TESTS: JSON.stringify(run) },
      stdio: ["inherit", "inherit", "inherit"],
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
    const code = await child.exited;
    return code === 0 ? ExitCode.Done : child.signalCode === "SIGINT" ? ExitCode.Interrupted : ExitCode.Failure;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function testsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /\.test\.[cm]?[jt]sx?$/.test(name))
    .map((name) => join(folder, name))
    .sort();
}

function absolute(file: string): string {
  return file === "" ? "" : resolve(file);
}

const PRELOAD: string = preloadBundle();
