import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ConfigFault, formatFault } from "../config/config-fault.ts";
import type { HeldSignals } from "../control/held-signals.ts";
import { mayColor } from "../control/start-summary.ts";
import { exactly } from "../core/number-text.ts";
import { configuredModules, moduleSettings } from "../features/functions/control/configured-modules.ts";
import { checkModules } from "../features/functions/control/module-check.ts";
import { moduleFaultText, shownFile } from "../features/functions/control/module-text.ts";
import { faultAt, thrownAt } from "../features/functions/module-fault.ts";
import { moduleFiles } from "../features/functions/module-files.ts";
import { type ConfigResult, loadConfig } from "../loading/load-config.ts";
import { FileWatch } from "../net/file-watch.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { LineCutter } from "../tools/logs/line-source.ts";
import { LogView } from "../tools/logs/log-view.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { moreLine, moreOf } from "./help/more.ts";
import { isTerminal } from "./is-terminal.ts";
import { loadRequest } from "./load-for-request.ts";
import { gatewayEnvironment, ownCommand } from "./own-command.ts";

/** The command as `edge help dev` shows it. */
export const devCommand = {
  name: "edge dev",
  page: "functions.md#edge-dev",
  summary:
    "Runs the gateway on this machine and reloads it when you save one of the two files, a module or a file that it imports.",
  flags: [
    ...CONFIG_FLAGS,
    {
      name: "port",
      type: "int",
      default: -1,
      placeholder: "PORT",
      min: -1,
      max: 65_535,
      help: "of 127.0.0.1; 0: any free port; -1: server.port",
    },
  ],
  notes: [
    "As edge serve --local: in clear text, without TLS, ACME, sidecar, cluster and telemetry. The log is shown as edge logs shows it.",
    "Exit codes: 0 ended by SIGINT or SIGTERM, 2 wrong usage.",
  ],
} as const;

/** `edge dev`. docs/functions.md#edge-dev */
export async function runDev(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const call = startCommand(devCommand, args, io);
  if (typeof call === "number") return call;
  return new DevSession(call.values, io).run(signals);
}

interface DevFlags {
  readonly config: string;
  readonly routes: string;
  readonly port: number;
}

/**
 * A gateway process, and what is watched for it. What does not load is told with its line, and the version before goes on.
 */
class DevSession {
  private readonly flags: DevFlags;
  private readonly io: CommandIo;
  private readonly view: LogView;
  private readonly watch = new FileWatch(() => void this.onChange());
  private readonly over = Promise.withResolvers<number>();
  private child: Bun.Subprocess<"pipe", "pipe", "inherit"> | null = null;
  /** Files that count, with what they were. */
  private files: ReadonlyMap<string, string> = new Map();
  private isBusy = false;

  constructor(flags: DevFlags, io: CommandIo) {
    this.flags = flags;
    this.io = io;
    const hasColor = isTerminal(STDOUT) && mayColor(process.env);
    this.view = new LogView({ statuses: [], route: "", events: [], id: "", sinceMs: 0 }, false, hasColor);
  }

  async run(signals: HeldSignals): Promise<number> {
    const quit = (): void => this.over.resolve(ExitCode.Done);
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, quit);
    // The terminal is gone.
    signals.react({ SIGHUP: quit });
    await this.reload();
    const code = await this.over.promise;
    this.watch.stop();
    await this.end();
    return code;
  }

  private async onChange(): Promise<void> {
    if (this.isBusy || !this.hasChanged()) return;
    this.isBusy = true;
    try {
      // What is saved meanwhile is applied as well.
      while (this.hasChanged()) await this.reload();
    } finally {
      this.isBusy = false;
    }
  }

  private hasChanged(): boolean {
    return [...this.files].some(([file, before]) => stampOf(file) !== before);
  }

  private async reload(): Promise<void> {
    const loaded = this.load();
    this.use(loaded);
    if (!loaded.ok) {
      this.tell(loaded.faults.map(configFaultText), "fault", moreOf(loaded.faults));
      return;
    }
    const { config } = loaded;
    const faults = await checkModules(configuredModules(config), moduleSettings(config));
    this.tell(
      faults.map((fault) => moduleFaultText(fault, shown(fault.file))),
      "fault",
      moreLine(["module-fault"]),
    );
    if (this.child === null) this.start(config);
    else if (faults.length === 0) this.child.kill("SIGHUP");
  }

  private load(): ConfigResult {
    return loadConfig(loadRequest(this.flags));
  }

  /** Watches what the configuration is made of; if it cannot be read, its files and what was watched before. */
  private use(loaded: ConfigResult): void {
    const { config, routes } = this.flags;
    const usual = [config || "config.yaml", routes || join(config === "" ? "." : join(config, ".."), "routes.yaml")];
    const others = loaded.ok
      ? [
          loaded.sources.config,
          loaded.sources.routes,
          ...configuredModules(loaded.config).flatMap(({ module }) => moduleFiles(module)),
        ]
      : this.files.keys();
    const names = [...usual.map((file) => resolve(file)), ...others].filter((file) => file !== "");
    this.files = new Map(names.map((file) => [file, stampOf(file)]));
    this.watch.use(names);
  }

  /** @param more the line that says where they are explained */
  private tell(faults: readonly string[], noun: string, more: string): void {
    for (const fault of faults) this.io.err(`${fault}\n`);
    if (faults.length === 0) return;
    const meanwhile = this.child === null ? "" : ", the version before goes on";
    this.io.err(`edge dev: ${exactly(faults.length, noun)}${meanwhile}\n${more}`);
  }

  private start(config: RuntimeConfig): void {
    const { flags } = this;
    const port = flags.port >= 0 ? flags.port : Math.max(0, config.server.port);
    const files = [
      ...(flags.config === "" ? [] : ["--config", flags.config]),
      ...(flags.routes === "" ? [] : ["--routes", flags.routes]),
    ];
    const command = [...ownCommand(), "serve", `--local=${port}`, "--with-parent", "--log-format=json", ...files];
    const child = Bun.spawn(command, {
      env: gatewayEnvironment(),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.child = child;
    const cutter = new LineCutter((line) => this.show(line));
    void (async () => {
      for await (const chunk of child.stdout) cutter.push(chunk);
      cutter.end();
    })();
    void child.exited.then((code) => {
      if (this.child === child) this.io.err(`edge dev: the gateway has ended with ${code}; a save starts it again\n`);
      this.child = null;
    });
  }

  /** A line of the gateway's log; below an error of a module, the line of its file. */
  private show(text: string): void {
    const line = lineOf(text);
    if (line.event === "listening") {
      this.io.out(`edge dev: http://127.0.0.1:${line.port}/, reloads at each save; Ctrl-C ends it\n`);
      return;
    }
    if (typeof line.stack !== "string") {
      this.io.out(this.view.show(text));
      return;
    }
    this.io.out(this.view.show(JSON.stringify({ ...line, stack: undefined })));
    this.io.out(`${line.stack.replaceAll(/[^\n\t\x20-\x7e\u00a0-\uffff]/g, "?")}\n`);
    const place = thrownAt(line.stack);
    if (place === null) return;
    const fault = faultAt(place.file, place.line, place.column, "");
    if (fault.source !== "") this.io.out(`${moduleFaultText(fault, shown(place.file))}\n`);
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null) return;
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await child.exited;
    clearTimeout(late);
  }
}

/** What tells a saved file from the one before. */
function stampOf(file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "";
  }
}

/** A fault of one of the two files, with its line. */
function configFaultText(fault: ConfigFault): string {
  const { line, col } = fault;
  return line === 0
    ? formatFault(fault)
    : moduleFaultText({ ...faultAt(resolve(fault.file), line, col, textOf(fault)) }, fault.file);
}

function textOf({ path, message }: ConfigFault): string {
  return path === "" ? message : `${path}: ${message}`;
}

function shown(file: string): string {
  return shownFile(file, process.cwd());
}

function lineOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? (line as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

const STDOUT = 1;
const END_MS = 35_000;
