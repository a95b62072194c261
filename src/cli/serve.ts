import { dirname, resolve } from "node:path";
import { type ConfigFault, formatFault } from "../config/config-fault.ts";
import { stateFolderOf } from "../config/state-folder.ts";
import { Control, type ControlOptions } from "../control/control.ts";
import { startNotes } from "../control/start-notes.ts";
import { mayColor } from "../control/start-summary.ts";
import { DEMO_PORTS, startDemoOrigins } from "../demo/origin.ts";
import { judgeRoutes } from "../explain/judge-routes.ts";
import type { RemoteConfig } from "../features/fleet/control/remote-config.ts";
import type { RemoteFlags } from "../features/fleet/control/remote-source.ts";
import { FileConfigurations } from "../features/history/control/file-configurations.ts";
import { StateFolder } from "../features/history/control/state-folder.ts";
import { ClusterLists } from "../features/kubernetes/control/cluster-lists.ts";
import { ApiRoutes } from "../features/providers/control/api-routes.ts";
import type { TraefikReader } from "../features/providers/control/labels/label-routes.ts";
import type { AnyLiveSource } from "../features/providers/control/live/live-source.ts";
import { liveSources } from "../features/providers/control/live/live-sources.ts";
import { StartError } from "../help/error-guide.ts";
import { asEvents } from "../help/start-lines.ts";
import { RepeatedLoad } from "../loading/repeated-load.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { moreLine, moreOf } from "./help/more.ts";
import { isTerminal } from "./is-terminal.ts";
import { loadRequest } from "./load-for-request.ts";
import { localConfig } from "./local-config.ts";
import { isRemoteCall, REMOTE_FLAGS } from "./remote-flags.ts";

/** The command as `edge help serve` shows it. */
export const serveCommand = {
  name: "edge serve",
  page: "operations.md",
  summary: "Runs the gateway until SIGTERM or SIGINT; a second signal ends it at once. SIGHUP reloads both files.",
  flags: [
    ...CONFIG_FLAGS,
    ...REMOTE_FLAGS,
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
      name: "kubernetes",
      type: "bool",
      default: false,
      help: "also serve the Gateways, routes and Ingresses of a cluster, as providers.kubernetes says",
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
      placeholder: "auto|json|text",
      choices: ["auto", "json", "text"],
      help: "text: one readable line each. auto: that on a terminal, with a summary of the start; else JSON",
    },
  ],
  notes: [
    "--config and --routes may be URLs: https://host/config.yaml, s3://bucket/key, redis://host:6379/key (docs/fleet.md).",
    "Exit codes: 0 drained, 3 connections were closed before they were done, 1 the configuration is wrong or the port taken, 2 wrong usage.",
  ],
} as const;

/** `edge serve`: reads the configuration, starts the gateway, stays. */
export async function runServe(
  args: readonly string[],
  given: CommandIo,
  { signals, early }: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const io = wantsJson(args) ? { ...given, err: (text: string) => given.err(asEvents(text)) } : given;
  const call = startCommand(serveCommand, args, io);
  if (typeof call === "number") return call;
  const { config, routes, demo, local } = call.values;
  const files = new RepeatedLoad({
    ...loadRequest({ config, routes }),
    judge: judgeRoutes,
  });
  const remote = isRemoteCall(call.values) ? await remoteOf(call.values, files, io) : null;
  if (typeof remote === "number") return remote;
  const startsDemo = (): void => {
    const own = startDemoOrigins();
    for (const port of DEMO_PORTS.filter((each) => !own.includes(each))) {
      io.err(`edge serve: 127.0.0.1:${port} is in use by another program, so the server there is not the demo\n`);
    }
  };
  const serving: Serving = {
    command: serveCommand.name,
    files,
    remote,
    logFormat: call.values["log-format"] as LogFormat,
    // A trial on this machine alone leaves no state.
    ...(local < 0 ? { stateOf: config || "config.yaml" } : {}),
    placed: (read) => withCluster(local < 0 ? read : localConfig(read, local), call.values.kubernetes),
    onStart() {
      if (demo) startsDemo();
      if (call.values["with-parent"]) void endWithInput();
    },
    onFaults(faults) {
      for (const fault of faults) io.err(`${formatFault(fault)}\n`);
      io.err(moreOf(faults));
    },
  };
  return serveGateway(serving, io, { signals, early });
}

/** `--kubernetes` is short for providers.kubernetes: {}. */
function withCluster(config: RuntimeConfig, isAsked: boolean): RuntimeConfig {
  if (!isAsked || config.providers.kubernetes.enabled) return config;
  const { providers } = config;
  return { ...config, providers: { ...providers, kubernetes: { ...providers.kubernetes, enabled: true } } };
}

/** How standard output shows the log: as text on a terminal and as JSON elsewhere, unless it is named. */
type LogFormat = "auto" | "json" | "text";

/** The readable form of log lines, as `edge logs` has it. */
function shownLines(hasColor: boolean): (line: string) => string {
  const { LogView } = require("../tools/logs/log-view.ts") as typeof import("../tools/logs/log-view.ts");
  const view = new LogView(EVERY_LINE, false, hasColor);
  // The summary of the start is for people already.
  return (line) => (line.startsWith("{") ? view.show(line) : `${line}\n`);
}

/** What a command serves, and how. */
interface Serving {
  /** As typed, for messages. */
  readonly command: string;
  readonly files: RepeatedLoad;
  readonly remote: RemoteConfig | null;
  readonly logFormat: LogFormat;
  /** The configuration whose state outlives the process; without it none does. */
  readonly stateOf?: string;
  /** Changes a configuration that has been read. */
  placed(read: RuntimeConfig): RuntimeConfig;
  onStart(): void;
  /** The configuration is wrong, and nothing starts. */
  onFaults(faults: readonly ConfigFault[]): void;
}

/** Reads the configuration, starts the gateway, and stays until it ends. Gives the exit code. */
export async function serveGateway(
  serving: Serving,
  io: CommandIo,
  { signals, early }: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const { command, files, remote } = serving;
  const placed = (read: RuntimeConfig): RuntimeConfig => serving.placed(read);
  const cwd = process.cwd();
  const { stateOf } = serving;
  const state =
    stateOf === undefined
      ? new StateFolder("", "")
      : new StateFolder(stateFolderOf(process.env, cwd), resolve(cwd, stateOf));
  const folder = dirname(resolve(cwd, stateOf ?? "config.yaml"));
  const api = new ApiRoutes(state, folder);
  const live = liveSources(folder, readTraefik, state);
  files.others = () => [...api.files(), ...live.flatMap((source) => source.files())];
  const cluster = new ClusterLists();
  files.sources = cluster;
  const kept = remote === null ? new FileConfigurations(files, state, placed) : null;
  const read = await firstLoad(serving, kept, io);
  if (read === null) return ExitCode.Failure;
  const loaded = await withLiveRoutes(read, live, kept);
  const onTerminal = isTerminal(STDOUT) && serving.logFormat !== "json";
  const hasColor = mayColor(process.env);
  const control = new Control({
    config: loaded.isPlaced ? loaded.config : placed(loaded.config),
    notes: [...startNotes(loaded.config, loaded.usingDefaults, process.env), ...loaded.notes.map((note) => ({ note }))],
    summary: onTerminal ? { hasColor, cwd } : null,
    showLine: onTerminal || serving.logFormat === "text" ? shownLines(onTerminal && hasColor) : null,
    reload: kept === null ? () => remote!.read(placed) : () => kept.read(),
    beside: {
      files: () => files.beside,
      read: () => (kept === null ? remote!.read(placed) : kept.again()),
    },
    apiRoutes: api,
    cluster,
    live,
    lostSecrets: () => files.takeLostSecrets(),
    remote,
    files: kept,
    state,
    signals,
    early,
    explain: explained,
  });
  serving.onStart();
  try {
    return await control.run();
  } catch (error) {
    io.err(`${command}: ${(error as Error).message}\n`);
    io.err(moreLine([error instanceof StartError ? error.guide : "start-failed"]));
    return ExitCode.Failure;
  }
}

/** What explains requests is loaded if an operator asks. */
const explained: ControlOptions["explain"] = (asked, config) => {
  const { explainCall } = require("../explain/explain-call.ts") as typeof import("../explain/explain-call.ts");
  return explainCall(asked, config);
};

/** The converter is loaded if there are labels for it. */
const readTraefik: TraefikReader = (containers, around) => {
  const { traefikRoutes } =
    require("../tools/convert/traefik/traefik-labels.ts") as typeof import("../tools/convert/traefik/traefik-labels.ts");
  return traefikRoutes(containers, around);
};

/** The first configuration with the routes of sources that change by themselves, as far as they say them in time. */
async function withLiveRoutes<T extends { readonly config: RuntimeConfig }>(
  read: T,
  live: readonly AnyLiveSource[],
  files: FileConfigurations | null,
): Promise<T & { readonly isPlaced: boolean }> {
  const plain = { ...read, isPlaced: false };
  const sources = live.filter((source) => source.isOn(read.config));
  if (sources.length === 0 || files === null) return plain;
  await Promise.all(sources.map((source) => source.use(read.config)));
  for (const source of sources) source.read();
  if (sources.every((source) => source.files().length === 0)) return plain;
  const again = files.again();
  return again.ok ? { ...read, config: again.config, isPlaced: true } : plain;
}

const EVERY_LINE = { statuses: [], route: "", events: [], id: "", sinceMs: 0 } as const;

/** Whether all that is written is to be JSON, as far as the flags can be read. */
function wantsJson(args: readonly string[]): boolean {
  const at = args.findLastIndex((arg) => /^--?log-format(=|$)/.test(arg));
  return at >= 0 && (args[at]!.endsWith("=json") || args[at + 1] === "json");
}

/** Null for files; the code to leave with where the flags are wrong. */
async function remoteOf(
  flags: RemoteFlags,
  files: RepeatedLoad,
  io: CommandIo,
): Promise<RemoteConfig | null | ExitCode> {
  const { remoteConfigOf } = await import("../features/fleet/control/remote-source.ts");
  try {
    return remoteConfigOf(flags, { env: process.env, cwd: process.cwd(), load: (given) => files.load(given) });
  } catch (error) {
    io.err(`${serveCommand.name}: ${(error as Error).message}\nTry "${serveCommand.name} --help".\n`);
    return ExitCode.Usage;
  }
}

/** The configuration to start with; null if there is none, which `io` has been told. */
async function firstLoad({ remote, onFaults }: Serving, files: FileConfigurations | null, io: CommandIo) {
  const start = files === null ? await remote!.start() : { ok: true as const, ...files.start() };
  if (!start.ok) {
    for (const fault of start.faults) io.err(`${fault}\n`);
    io.err(moreLine(["remote-configuration"]));
    return null;
  }
  const { result, notes } = start;
  for (const warning of result.warnings) io.err(`${formatFault(warning)} (warning)\n`);
  if (result.ok) return { config: result.config, usingDefaults: result.usingDefaults, notes };
  onFaults(result.faults);
  return null;
}

const STDOUT = 1;

/** The process that has started the gateway holds the other end of its standard input, which ends with that process, however it ends. */
async function endWithInput(): Promise<void> {
  for await (const _ of Bun.stdin.stream());
  process.kill(process.pid, "SIGTERM");
}
