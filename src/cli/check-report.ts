import { type ConfigFault, formatFault } from "../config/config-fault.ts";
import { moduleFaultText } from "../features/functions/control/module-text.ts";
import type { ModuleFault } from "../features/functions/module-fault.ts";
import type { CommandIo } from "./command-io.ts";
import { errorHelp, type FaultHelp, faultHelp, moreLine } from "./help/more.ts";
import type { OnlineFinding } from "./online-check.ts";

/** How bad it is: faults, failed tests and faults in modules make the exit code 1. */
type Severity = "fault" | "warning" | "note" | "test" | "module" | "online";

/** One entry of `edge check --json`. docs/configuration.md#mistakes */
interface Entry extends FaultHelp {
  readonly severity: Severity;
  /** "" if it is not about a file. */
  readonly file: string;
  /** From 1; 0 if it is about the file as a whole. */
  readonly line: number;
  readonly col: number;
  /** As in the text: `routes[0].target`; "" if it is not about a key. */
  readonly key: string;
  readonly message: string;
}

/** What `edge check` has found, as lines while it goes on, or as one JSON object at its end. */
export class CheckReport {
  private readonly entries: Entry[] = [];
  /** Null unless they were made. */
  private online: readonly OnlineFinding[] | null = null;

  /** @param io null if the lines are not wanted */
  constructor(private readonly io: Pick<CommandIo, "err"> | null) {}

  /** Whether the exit code is 1. */
  get isFaulty(): boolean {
    return this.entries.some(({ severity }) => severity !== "warning" && severity !== "note");
  }

  add(severity: Exclude<Severity, "module" | "online">, faults: readonly ConfigFault[]): void {
    const mark = severity === "warning" || severity === "note" ? ` (${severity})` : "";
    for (const fault of faults) {
      const { path: key, ...others } = fault;
      const where = severity === "test" ? errorHelp("failed-test") : faultHelp(fault);
      this.entries.push({ severity, ...others, key, ...where });
      this.say(`${formatFault(fault)}${mark}`);
    }
  }

  warnOfVariable(message: string): void {
    this.entries.push({ severity: "warning", ...NO_PLACE, message, ...errorHelp("runtime-variable") });
    this.say(`${message} (warning)`);
  }

  /** Files of the log that cannot be written. */
  addLogs(messages: readonly string[]): void {
    for (const message of messages) {
      this.entries.push({ severity: "fault", ...NO_PLACE, message, ...errorHelp("log-file") });
      this.say(message);
    }
  }

  /** @param found each fault with the name of its file as it is shown */
  addModules(found: readonly { readonly fault: ModuleFault; readonly shown: string }[]): void {
    for (const { fault, shown } of found) {
      const { line, column: col, message } = fault;
      const where = errorHelp("module-fault");
      this.entries.push({ severity: "module", file: shown, line, col, key: "", message, ...where });
      this.say(moduleFaultText(fault, shown));
    }
  }

  /** Tries of names, targets, folders and logs. */
  addOnline(found: readonly OnlineFinding[], lineOf: (one: OnlineFinding) => string): void {
    this.online = found;
    for (const one of found) {
      if (one.ok) continue;
      this.entries.push({ severity: "online", ...NO_PLACE, message: lineOf(one), ...errorHelp("failed-try") });
      this.say(lineOf(one));
    }
  }

  /** A line that sums up those before it. */
  sum(text: string): void {
    this.say(text);
  }

  /** The last line: where all of them are explained; "" if there is nothing to explain. */
  more(): string {
    return moreLine(this.entries.filter(({ severity }) => severity !== "note").map(({ help }) => help));
  }

  json(): string {
    return `${JSON.stringify({ ok: !this.isFaulty, found: this.entries, ...(this.online === null ? {} : { online: this.online }) }, null, 2)}\n`;
  }

  private say(line: string): void {
    this.io?.err(`${line}\n`);
  }
}

const NO_PLACE = { file: "", line: 0, col: 0, key: "" } as const;
