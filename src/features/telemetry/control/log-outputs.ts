import type { ControlService } from "../../../core/control-service.ts";
import type { FieldsOf } from "../../../core/event-row.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { LogOutputConfig } from "../access-log-settings.ts";
import type { TELEMETRY_EVENTS } from "../events.ts";
import { FdOutput } from "../fd-output.ts";
import { type LogOutput, LogWriter } from "../log-writer.ts";
import { logFileFault } from "../rotating-file.ts";

/** An output that is in use. */
interface OpenOutput {
  readonly key: string;
  readonly writer: LogWriter;
  reopen(): void;
  close(): void;
  /** What cannot be written now; "" while it can. */
  failing(): string;
}

/** Where lines of the access log go that have outputs of their own, in the control thread. docs/operations.md#access-log */
export class LogOutputs implements ControlService<RuntimeConfig> {
  private readonly onFailed: (output: string, error: string) => void;
  private open: readonly OpenOutput[] = [];
  /** Lines that outputs dropped that are gone. */
  private droppedBefore = 0;

  /** @param onFailed is told when an output begins to fail */
  constructor(onFailed: (output: string, error: string) => void) {
    this.onFailed = onFailed;
  }

  get droppedLines(): number {
    return this.open.reduce((sum, { writer }) => sum + writer.droppedLines, this.droppedBefore);
  }

  /** Those that cannot be written now. */
  get failing(): readonly string[] {
    return this.open.map((one) => one.failing()).filter((name) => name !== "");
  }

  /** Takes the outputs of a configuration; those that were there go on. */
  async use({ server }: RuntimeConfig): Promise<void> {
    const wanted = hasOwnOutputs(server.accessLog) ? server.accessLog.outputs : [];
    const before = new Map(this.open.map((one) => [one.key, one]));
    const made = wanted.map(async (config) => before.get(keyOf(config)) ?? this.make(config));
    const next = await Promise.all(made);
    for (const one of this.open) {
      if (next.includes(one)) continue;
      this.droppedBefore += one.writer.droppedLines;
      void one.writer.drain(DRAIN_MS).then(() => one.close());
    }
    this.open = next;
  }

  add(batch: string): void {
    for (const { writer } of this.open) writer.add(batch);
  }

  /** Files may have been renamed. @returns how many are reopened */
  reopen(): number {
    for (const one of this.open) one.reopen();
    return this.open.length;
  }

  /** Resolves when all is out, or after `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    await Promise.all(this.open.map(({ writer }) => writer.drain(limitMs)));
  }

  private async make(config: LogOutputConfig): Promise<OpenOutput> {
    const key = keyOf(config);
    const { file, rotate, syslog, stdout } = config;
    const opened = (output: LogOutput, parts: Partial<OpenOutput> = {}): OpenOutput => ({
      key,
      writer: new LogWriter(output, Date.now),
      reopen() {},
      close() {},
      failing: () => "",
      ...parts,
    });
    const listener = { onFailed: this.onFailed };
    if (stdout) return opened(new FdOutput(1));
    if (syslog !== "") {
      const { SyslogOutput } = await import("../syslog-output.ts");
      const output = new SyslogOutput(syslog, listener);
      return opened(output, { close: () => output.close() });
    }
    const { RotatingFile } = await import("../rotating-file.ts");
    const output = new RotatingFile(file, rotate, listener);
    const failing = () => (output.isFailing ? file : "");
    return opened(output, { reopen: () => output.reopen(), close: () => output.reopen(), failing });
  }
}

/** The files of the access log that this user could not write. */
export function unwritableLogs({ server }: RuntimeConfig): readonly string[] {
  if (!server.accessLog.enabled) return [];
  return server.accessLog.outputs.flatMap(({ file }) => {
    const fault = file === "" ? "" : logFileFault(file);
    return fault === "" ? [] : [`server.access_log.outputs: ${file} cannot be written: ${fault}`];
  });
}

/** What the log says of outputs that were opened anew. */
export function reopened(outputs: number): FieldsOf<(typeof TELEMETRY_EVENTS)["log_reopen"]> {
  return outputs > 0 ? { outputs } : { note: "the log goes to standard output: there is no file to reopen" };
}

/** Whether lines go anywhere else than to standard output, among those of events. */
export function hasOwnOutputs({ enabled, outputs }: RuntimeConfig["server"]["accessLog"]): boolean {
  return enabled && outputs.length > 0 && !(outputs.length === 1 && outputs[0]!.stdout);
}

function keyOf(config: LogOutputConfig): string {
  return JSON.stringify(config);
}

const DRAIN_MS = 1000;
