import type { Environment } from "../config/variable-expansion.ts";
import { runtimeVariables } from "../control/start-notes.ts";
import { hostAndPort } from "../core/ip-address.ts";
import { exactly, series } from "../core/number-text.ts";
import { judgeRoutes } from "../explain/judge-routes.ts";
import type { UsedModule } from "../features/functions/control/configured-modules.ts";
import { configuredModules, moduleSettings } from "../features/functions/control/configured-modules.ts";
import { shownFile } from "../features/functions/control/module-text.ts";
import { unwritableLogs } from "../features/telemetry/control/log-outputs.ts";
import { listConfig } from "../loading/config-listing.ts";
import { type ConfigResult, loadConfig } from "../loading/load-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { listenerAddress } from "../settings/server-listeners.ts";
import { CheckReport } from "./check-report.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";

/** What `edge check` looks at beside its arguments. */
interface CheckPorts {
  readonly cwd: string;
  /** What is examined where `cwd` has no configuration; the system's where it is left out. */
  readonly systemConfig?: string;
  readonly env: Environment;
  /** Rule names for `server.waf.disabled_rules`; an empty list leaves that check out. */
  readonly knownWafRules: readonly string[];
}

/**
 * `edge check` (alias `validate`): reads both files as a start would, resolves folders and certificates, and prints
 * every fault. Gives the exit code: 0 in order, 1 faulty, 2 wrong usage. docs/configuration.md#mistakes
 */
export function runCheck(
  args: readonly string[],
  io: CommandIo,
  around: CheckPorts = { cwd: process.cwd(), env: process.env, knownWafRules: [] },
): number | Promise<number> {
  const call = startCommand(checkCommand, args, io);
  if (typeof call === "number") return call;
  const { config, routes, print, json, online } = call.values;
  if (print && json) {
    io.err(`${checkCommand.name}: --print and --json cannot be given together\n`);
    return ExitCode.Usage;
  }
  const report = new CheckReport(json ? null : io);
  for (const { note } of runtimeVariables(around.env)) report.warnOfVariable(note);
  const result = loadConfig({
    configPath: config || null,
    routesPath: routes || null,
    judge: judgeRoutes,
    ...around,
  });
  report.add("warning", result.warnings);
  const end = (): number => {
    if (json) io.out(report.json());
    else io.err(report.more());
    return report.isFaulty ? ExitCode.Failure : ExitCode.Done;
  };
  if (!result.ok) {
    report.add("fault", result.faults);
    report.sum(exactly(result.faults.length, "fault"));
    return end();
  }
  const left = result.beside.left.flatMap(({ faults }) => faults);
  report.add("fault", left);
  if (left.length > 0) report.sum(exactly(left.length, "fault"));
  tellOfRoutes(result.config, report);
  report.addLogs(unwritableLogs(result.config));
  const tell = (text: string): void => (print || json ? undefined : io.out(text));
  tell(summary(result));
  if (print) io.out(listConfig(result.config));
  runTests(result, report, tell);
  const modules = configuredModules(result.config);
  if (modules.length === 0 && !online) return end();
  const loaded =
    modules.length === 0 ? Promise.resolve() : loadModules(modules, result.config, report, around.cwd, tell);
  return loaded.then(() => (online ? tryOnline(result.config, report, tell) : undefined)).then(end);
}

/** Tries names, targets, folders and logs. docs/configuration.md#online @param tell takes what is in order */
async function tryOnline(config: RuntimeConfig, report: CheckReport, tell: (text: string) => void): Promise<void> {
  const { findingLine, onlineFindings } = await import("./online-check.ts");
  const found = await onlineFindings(config);
  for (const one of found) if (one.ok) tell(`${findingLine(one)}\n`);
  report.addOnline(found, findingLine);
}

/** Loads the modules of routes, hooks and jobs, each in a thread of its own. docs/functions.md#edge-check @param tell takes what is in order */
async function loadModules(
  modules: readonly UsedModule[],
  config: RuntimeConfig,
  report: CheckReport,
  cwd: string,
  tell: (text: string) => void,
): Promise<void> {
  const { checkModules } = await import("../features/functions/control/module-check.ts");
  const faults = await checkModules(modules, moduleSettings(config));
  report.addModules(faults.map((fault) => ({ fault, shown: shownFile(fault.file, cwd) })));
  if (faults.length > 0) report.sum(`${exactly(faults.length, "fault")} in modules`);
  else tell(`${exactly(modules.length, "module")} loaded.\n`);
}

/** Says what the router and the phases tell of the routes. */
function tellOfRoutes(config: RuntimeConfig, report: CheckReport): void {
  if (config.routes.length === 0) return;
  const { unreachedRoutes } =
    require("../explain/unreached-routes.ts") as typeof import("../explain/unreached-routes.ts");
  report.add("warning", unreachedRoutes(config));
  if (!config.routes.some((route) => "to" in route)) return;
  const { doubtfulRedirects } =
    require("../explain/redirect-loops.ts") as typeof import("../explain/redirect-loops.ts");
  report.add("note", doubtfulRedirects(config));
  const { passedRoutes } = require("../explain/passed-routes.ts") as typeof import("../explain/passed-routes.ts");
  report.add("note", passedRoutes(config));
}

/** Runs what routes.yaml says under `tests`. docs/explain.md#tests @param tell takes what is in order */
function runTests(
  { config, tests }: Extract<ConfigResult, { ok: true }>,
  report: CheckReport,
  tell: (text: string) => void,
): void {
  if (tests.length === 0) return;
  // The gateway is loaded if there is something to run through it.
  const { failedTests } = require("../explain/run-tests.ts") as typeof import("../explain/run-tests.ts");
  const failures = failedTests(config, tests);
  report.add("test", failures);
  if (failures.length > 0) report.sum(`${failures.length} of ${exactly(tests.length, "test")} failed`);
  else tell(`${exactly(tests.length, "test")} passed.\n`);
}

/** The command as `edge help check` shows it. */
export const checkCommand = {
  name: "edge check",
  page: "configuration.md#mistakes",
  summary:
    "Checks config.yaml and routes.yaml and shows you every mistake, with file, line and cure. It starts nothing.",
  flags: [
    ...CONFIG_FLAGS,
    {
      name: "print",
      type: "bool",
      default: false,
      help: "show the effective configuration, every default filled in, secrets as ***",
    },
    {
      name: "online",
      type: "bool",
      default: false,
      help: "also look up names, connect to targets, and try folders and logs, each within 3 s",
    },
    {
      name: "json",
      type: "bool",
      default: false,
      help: "print one JSON object: each fault and warning with its key, its place and its page",
    },
  ],
  notes: [
    "Requests under tests in routes.yaml are run as well, without a network: edge help routes.",
    "Exit codes: 0 no faults, 1 faults, failed tests, or with --online a failed try, 2 wrong usage.",
  ],
} as const;

function summary(result: Extract<ConfigResult, { ok: true }>): string {
  const { config, sources, usingDefaults } = result;
  const from = usingDefaults
    ? "No config.yaml here: the embedded defaults are in force."
    : `${sources.config} is in order.`;
  const streams = config.streams.length === 0 ? "" : `, ${exactly(config.streams.length, "stream")}`;
  const routes =
    sources.routes === ""
      ? "No routes.yaml."
      : `${sources.routes} is in order: ${exactly(config.routes.length, "route")}${streams}.`;
  return `${from}\n${routes}\n${listening(config)}\n`;
}

function listening({ server, sidecar, internalApi, routes }: RuntimeConfig): string {
  const places = server.listeners.map((one) => {
    const { name, tls, socket } = one;
    const at = socket === "" ? `${tls ? "https" : "http"}://${listenerAddress(one)}` : listenerAddress(one);
    return server.isListed ? `${at} (${name})` : at;
  });
  const udp = [...new Set(server.listeners.flatMap(({ http3, http3Port }) => (http3 ? [http3Port] : [])))];
  if (udp.length > 0) places.push(`UDP port${udp.length > 1 ? "s" : ""} ${series(udp.map(String))} (HTTP/3)`);
  if (sidecar.enabled && sidecar.mode !== "egress")
    places.push(`${hostAndPort(sidecar.ingressHost, sidecar.ingressPort)} (sidecar, in)`);
  if (sidecar.enabled && sidecar.mode !== "ingress")
    places.push(`${hostAndPort(sidecar.egressHost, sidecar.egressPort)} (sidecar, out)`);
  if (internalApi.listenPort >= 0)
    places.push(`${hostAndPort(internalApi.listenHost, internalApi.listenPort)} (internal)`);
  if (internalApi.socket !== "") places.push(`${internalApi.socket} (internal)`);
  const waf = server.waf.enabled ? `on (${server.waf.mode})` : "off";
  const own = routes.filter((route) => route.waf !== null).length;
  const elsewhere = own === 0 ? "" : `, of its own at ${exactly(own, "route")}`;
  return `Listens on ${series(places)}, firewall ${waf}${elsewhere}.`;
}
