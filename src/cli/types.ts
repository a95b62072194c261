import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { VERSION } from "../core/version.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import EDGE_TYPES from "./function-files/edge.d.ts.txt" with { type: "text" };

/** The command as `edge help types` shows it. */
export const typesCommand = {
  name: "edge types",
  page: "functions.md#edge-types",
  summary: "Writes edge.d.ts, the types of functions, hooks and their tests, for editors and tsc.",
  flags: [
    { name: "dir", type: "string", default: ".", placeholder: "FOLDER", help: "where to write" },
    { name: "force", type: "bool", default: false, help: "also over a file that has been edited" },
    { name: "print", type: "bool", default: false, help: "to standard output, no file" },
  ],
  notes: [
    'A tsconfig.json beside it that includes the file makes the modules "edge" and "edge:test" known.',
    "Exit codes: 0 written, or as it was, 1 the file has been edited or cannot be written, 2 wrong usage.",
  ],
} as const;

/** `edge types`. docs/functions.md#edge-types */
export function runTypes(args: readonly string[], io: CommandIo, cwd: string = process.cwd()): number {
  const call = startCommand(typesCommand, args, io);
  if (typeof call === "number") return call;
  const { dir, force, print } = call.values;
  if (print) {
    io.out(typesFile());
    return ExitCode.Done;
  }
  const path = join(resolve(cwd, dir), TYPES_NAME);
  const there = textThere(path);
  if (there === typesFile()) {
    io.out(`${TYPES_NAME} is up to date.\n`);
    return ExitCode.Done;
  }
  if (there !== null && !force && isEdited(there)) {
    io.err(`edge types: ${TYPES_NAME} has been edited, nothing written; --force replaces it.\n`);
    return ExitCode.Failure;
  }
  try {
    writeFileSync(path, typesFile());
  } catch (error) {
    io.err(`edge types: cannot write ${TYPES_NAME} to ${dir}: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  }
  io.out(`Wrote ${TYPES_NAME}.\n`);
  return ExitCode.Done;
}

/** The text of edge.d.ts. Its first line has a digest of the rest, by which an edited file is known. */
function typesFile(): string {
  return `${HEADING} ${VERSION} ${digest(EDGE_TYPES)}\n${EDGE_TYPES}`;
}

const TYPES_NAME = "edge.d.ts";

function isEdited(text: string): boolean {
  const end = text.indexOf("\n");
  const heading = text.slice(0, end);
  return !heading.startsWith(HEADING) || heading.split(" ").at(-1) !== digest(text.slice(end + 1));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_DIGITS);
}

/** null if there is no such file, "" if it cannot be read: what cannot be read is not ours to replace. */
function textThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? null : "";
  }
}

const HEADING = "// Written by edge types";
const DIGEST_DIGITS = 16;
