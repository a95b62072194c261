import { existsSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { LineCounter } from "yaml";
import { MAX_CONFIG_FILE_BYTES } from "../config/config-file.ts";
import { strictYaml } from "../config/yaml-document.ts";
import { explainSyntaxError } from "../config/yaml-syntax.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { inOneForm } from "./yaml-form.ts";

/** The command as `edge help fmt` shows it. */
export const fmtCommand = {
  name: "edge fmt",
  page: "tools.md#edge-fmt",
  summary: "Formats config.yaml and routes.yaml, or the files that you name. Comments stay.",
  flags: [
    {
      name: "write",
      alias: "w",
      type: "bool",
      default: false,
      help: "write the files; without it, the result goes to standard output",
    },
    {
      name: "check",
      type: "bool",
      default: false,
      help: "print the names of files that are not formatted, and end with 1",
    },
  ],
  operands: { usage: "[FILE…]", min: 0, max: 1000 },
  notes: [
    "Exit codes: 0 done, 1 a file is no YAML, cannot be written or, with --check, is not formatted, 2 wrong usage.",
  ],
} as const;

/** `edge fmt`. docs/tools.md#edge-fmt */
export function runFmt(args: readonly string[], io: CommandIo): number {
  const call = startCommand(fmtCommand, args, io);
  if (typeof call === "number") return call;
  const { write, check } = call.values;
  const files = call.operands.length > 0 ? call.operands : USUAL_FILES.filter((file) => existsSync(file));
  if (files.length === 0) {
    io.err("edge fmt: no config.yaml and no routes.yaml here; name the files\n");
    return ExitCode.Failure;
  }
  let code: number = ExitCode.Done;
  for (const file of files) {
    try {
      const before = textOf(file);
      const after = formatted(before);
      if (check) {
        if (after === before) continue;
        io.out(`${file}\n`);
        code = ExitCode.Failure;
      } else if (!write) io.out(after);
      else if (after !== before) {
        replace(file, after);
        io.out(`${file}\n`);
      }
    } catch (error) {
      const { message } = error as Error;
      io.err(`edge fmt: ${file}${error instanceof FormatFault ? message : `: ${errorReason(error)}`}\n`);
      code = ExitCode.Failure;
    }
  }
  return code;
}

/** A file that cannot be formatted: `: why`, or `:line:column: why`. */
class FormatFault extends Error {}

/** A text in one form; values and comments stay as they were. Throws a `FormatFault` if it is no YAML, or a value would change. */
function formatted(text: string): string {
  const lines = new LineCounter();
  const document = strictYaml(text, lines);
  const [fault] = document.errors;
  if (fault !== undefined) {
    const { line, col } = lines.linePos(fault.pos[0]);
    throw new FormatFault(`:${line}:${col}: ${explainSyntaxError(fault.code, fault.message)}`);
  }
  const result = inOneForm(text);
  const again = strictYaml(result);
  if (again.errors.length > 0 || !isDeepStrictEqual(again.toJS(), document.toJS()))
    throw new FormatFault(": a value would change; the file stays as it is");
  return result;
}

function textOf(file: string): string {
  if (statSync(file).size > MAX_CONFIG_FILE_BYTES)
    throw new FormatFault(": larger than 16 MiB: this is not a configuration file");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch (error) {
    throw error instanceof TypeError ? new FormatFault(": not a text file in UTF-8") : error;
  }
}

/** Writes beside the file and renames, so that a gateway never reads half of it. A link stays a link. */
function replace(file: string, text: string): void {
  const path = realpathSync(file);
  const beside = `${path}.${process.pid}.tmp`;
  writeFileSync(beside, text, { mode: statSync(path).mode & 0o777, flag: "wx" });
  renameSync(beside, path);
}

const USUAL_FILES = ["config.yaml", "routes.yaml"];
