import { existsSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { reasonOf } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { STARTER_PAGE, starterFiles } from "./starter-files.ts";

/**
 * `edge init`: writes a commented `config.yaml` and `routes.yaml` and a first page to serve. Where one of the two files
 * is there already, nothing is written at all. Gives the exit code: 0 written, 1 not, 2 wrong usage.
 */
export function runInit(args: readonly string[], io: CommandIo, cwd: string = process.cwd()): number {
  const call = startCommand(initCommand, args, io);
  if (typeof call === "number") return call;
  const dir = resolve(cwd, call.values.dir);
  const { config, routes } = starterFiles("./public");
  const files = [
    { name: "config.yaml", text: config },
    { name: "routes.yaml", text: routes },
  ];
  const there = files.filter((file) => isThere(join(dir, file.name)));
  if (there.length > 0) {
    io.err(`edge init: ${there.map((file) => file.name).join(" and ")} already present, nothing written.\n`);
    return ExitCode.Failure;
  }
  try {
    writeStarter(dir, files);
  } catch (error) {
    io.err(`edge init: cannot write to ${call.values.dir}: ${reasonOf(error)}\n`);
    return ExitCode.Failure;
  }
  io.out(`Wrote config.yaml, routes.yaml and public/index.html.\nNext: edge check, then edge serve.\n`);
  return ExitCode.Done;
}

/** The command as `edge help init` shows it. */
export const initCommand = {
  name: "edge init",
  summary: "Writes a commented config.yaml and routes.yaml to start from. Never overwrites a file.",
  flags: [
    {
      name: "dir",
      type: "string",
      default: ".",
      placeholder: "FOLDER",
      help: "where to write; created if missing",
    },
  ],
  notes: ["Exit codes: 0 written, 1 a file exists already or could not be written, 2 wrong usage."],
} as const;

/** Whether something has the name, were it a link that leads nowhere. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function writeStarter(dir: string, files: readonly { readonly name: string; readonly text: string }[]): void {
  mkdirSync(join(dir, "public"), { recursive: true });
  // "wx" fails where a file has appeared since the look above.
  for (const file of files) writeFileSync(join(dir, file.name), file.text, { flag: "wx" });
  const page = join(dir, "public", "index.html");
  if (!existsSync(page)) writeFileSync(page, STARTER_PAGE, { flag: "wx" });
}
