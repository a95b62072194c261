import { layered } from "../../../config/row.ts";
import type { ControlService } from "../../../core/control-service.ts";
import type { FieldsOf } from "../../../core/event-row.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { LogOutputConfig } from "../access-log-settings.ts";
import { hasOwnOutputs, outputsKey } from "../access-outputs.ts";
import type { TELEMETRY_EVENTS } from "../events.ts";
import { FdOutput } from "../fd-output.ts";
import type { LogAddresses } from "../log-addresses.ts";
import { type LogOutput, LogWriter } from "../log-writer.ts";
import { logFileFault } from "../rotating-file.ts";

/** How it is called for people. */
export const STANDARD_OUTPUT = "standard output";

/** An output that is in use. */
interface OpenOutput {
  readonly key: string;
  readonly writer: LogWriter;
  reopen(): void;
  close(): void;
  /** For people. */
  readonly name: string;
}

/** Where lines of the access log go that have outputs of their own, in the control thread. docs/operations.md#access-log */
export class LogOutputs implements ControlService<RuntimeConfig> {
  private readonly onFailed: (output: string, error: string) => void;
  private open: readonly OpenOutput[] = [];
  /** By the name of the set. */
  private sets: ReadonlyMap<string, readonly OpenOutput[]> = new Map();
  /** Lines that outputs dropped that are gone. */
  private droppedBefore = 0;

  private readonly addresses: LogAddresses;

  /** @param onFailed learns when an output begins to fail @param addresses how events of this thread show addresses */
  constructor(onFailed: (output: string, error: string) => void, addresses: LogAddresses) {
    this.onFailed = onFailed;
    this.addresses = addresses;
  }

  get droppedLines(): number {
    return this.open.reduce((sum, { writer }) => sum + writer.droppedLines, this.droppedBefore);
  }

  /** Those that cannot be written now. */
  get failing(): readonly string[] {
    return this.open.filter(({ writer }) => writer.isFailing).map(({ name }) => name);
  }

  /** Takes the outputs of a configuration; an output that was there goes on. */
  async use(config: RuntimeConfig): Promise<void> {
    this.addresses.use(config);
    const sets = outputSets(config);
    const wanted = new Map(sets.flat().map((output) => [keyOf(output), output]));
    const before = new Map(this.open.map((one) => [one.key, one]));
    const made = [...wanted].map(async ([key, output]) => before.get(key) ?? this.make(output));
    const next = await Promise.all(made);
    const byKey = new Map(next.map((one) => [one.key, one]));
    this.sets = new Map(sets.map((set) => [outputsKey(set), set.map((output) => byKey.get(keyOf(output))!)]));
    for (const one of this.open) {
      if (next.includes(one)) continue;
      this.droppedBefore += one.writer.droppedLines;
      void one.writer.drain(DRAIN_MS).then(() => one.close());
    }
    this.open = next;
  }

  /** Takes lines for a set of outputs; a set that a reload has just taken away is not there any more. @param outputs from `outputsKey` */
  add(batch: string, outputs: string): void {
    for (const { writer } of this.sets.get(outputs) ?? []) writer.add(batch);
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
      name: file || syslog || STANDARD_OUTPUT,
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
    return opened(output, { reopen: () => output.reopen(), close: () => output.reopen() });
  }
}

/** The files of the access log, of the server and of routes, each with the reason why this user could not write it; "" for none. */
export function logFiles(config: RuntimeConfig): readonly { readonly file: string; readonly fault: string }[] {
  const files = new Set(outputSets(config).flatMap((set) => set.map(({ file }) => file)));
  files.delete("");
  return [...files].map((file) => ({ file, fault: logFileFault(file) }));
}

/** The files of the access log that this user could not write. */
export function unwritableLogs(config: RuntimeConfig): readonly string[] {
  return logFiles(config).flatMap(({ file, fault }) =>
    fault === "" ? [] : [`access_log.outputs: ${file} cannot be written: ${fault}`],
  );
}

/** The outputs of the server and of each route that has its own, once each. */
function outputSets({ server, routes }: RuntimeConfig): readonly (readonly LogOutputConfig[])[] {
  const all = [null, ...routes.map(({ accessLog }) => accessLog)].map((own) => layered(own, server.accessLog));
  const sets = new Map(all.filter(hasOwnOutputs).map(({ outputs }) => [outputsKey(outputs), outputs]));
  return [...sets.values()];
}

/** What the log says of outputs that were opened anew. */
export function reopened(outputs: number): FieldsOf<(typeof TELEMETRY_EVENTS)["log_reopen"]> {
  return outputs > 0 ? { outputs } : { note: "the log goes to standard output: there is no file to reopen" };
}

function keyOf(config: LogOutputConfig): string {
  return JSON.stringify(config);
}

const DRAIN_MS = 1000;
