import { Control, type ControlOptions } from "../app/control.ts";
import { judgeRoutes } from "../app/judge-routes.ts";
import { localConfig } from "../app/local-config.ts";
import type { ReloadResult } from "../app/reload.ts";
import { startNotes } from "../app/start-notes.ts";
import { mayColor } from "../app/start-summary.ts";
import { formatFault } from "../config/config-fault.ts";
import type { ConfigResult } from "../config/load-config.ts";
import { RepeatedLoad } from "../config/repeated-load.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { DEMO_PORTS, startDemoOrigins } from "../demo/origin.ts";
import { RULE_NAMES } from "../features/waf/rule-table.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { isTerminal } from "./is-terminal.ts";

/** The command as `edge help serve` shows it. */
export const serveCommand = {
  name: "edge serve",
  summary: "Runs the gateway until SIGTERM or SIGINT; a second signal ends it at once. SIGHUP reloads both files.",
  flags: [
    ...CONFIG_FLAGS,
    {
      name: "demo",
      type: "bool",
      default: false,
      help: "also start three small demo servers on 127.0.0.1, ports 9001 to 9003",
    },
    {
      name: "local",
      type: "int",
      default: -1,
      placeholder: "PORT",
      min: -1,
      max: 65_535,
      help: "on 127.0.0.1:PORT alone, in clear text, without TLS, ACME, sidecar, cluster and telemetry; 0: any free port; -1: as the files say",
    },
    {
      name: "with-parent",
      type: "bool",
      default: false,
      help: "also end when standard input ends",
    },
    {
      name: "log-format",
      type: "string",
      default: "auto",
      placeholder: "auto|json",
      choices: ["auto", "json"],
      help: "auto: on a terminal a summary of the start replaces its log lines",
    },
  ],
  notes: [
    "Exit codes: 0 drained, 3 connections were closed before they were done, 1 the configuration is wrong or the port taken, 2 wrong usage.",
  ],
} as const;

/** `edge serve`: reads the configuration, starts the gateway, stays. */
export async function runServe(
  args: readonly string[],
  io: CommandIo,
  { signals, early }: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const call = startCommand(serveCommand, args, io);
  if (typeof call === "number") return call;
  const { config, routes, demo, local } = call.values;
  const placed = (read: RuntimeConfig) => (local < 0 ? read : localConfig(read, local));
  const files = new RepeatedLoad({
    configPath: config || null,
    routesPath: routes || null,
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: RULE_NAMES,
    routeFormat: ROUTE_FORMAT,
    judge: judgeRoutes,
  });
  const loaded = files.load();
  for (const warning of loaded.warnings) io.err(`${formatFault(warning)} (warning)\n`);
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.err(`${formatFault(fault)}\n`);
    return ExitCode.Failure;
  }
  const control = new Control({
    config: placed(loaded.config),
    notes: startNotes(loaded.config, loaded.usingDefaults, process.env),
    summary:
      isTerminal(STDOUT) && call.values["log-format"] === "auto"
        ? { hasColor: mayColor(process.env), cwd: process.cwd() }
        : null,
    reload: () => reloadResult(files.load(), placed),
    signals,
    early,
  });
  if (demo) {
    const own = startDemoOrigins();
    for (const port of DEMO_PORTS.filter((each) => !own.includes(each))) {
      io.err(`edge serve: 127.0.0.1:${port} is taken, so what answers there is not the demo\n`);
    }
  }
  if (call.values["with-parent"]) void endWithInput();
  try {
    return await control.run();
  } catch (error) {
    io.err(`edge serve: ${(error as Error).message}\n`);
    return ExitCode.Failure;
  }
}

const STDOUT = 1;

/** The process that has started the gateway holds the other end of its standard input, which ends with that process, however it ends. */
async function endWithInput(): Promise<void> {
  for await (const _ of Bun.stdin.stream());
  process.kill(process.pid, "SIGTERM");
}

function reloadResult(loaded: ConfigResult, placed: (config: RuntimeConfig) => RuntimeConfig): ReloadResult {
  return loaded.ok
    ? { ok: true, config: placed(loaded.config) }
    : { ok: false, faults: loaded.faults.map((fault) => formatFault(fault)) };
}
