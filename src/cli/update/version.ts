import { VERSION } from "../../core/version.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import { RELEASE_FLAGS, ReleaseFault, ReleaseFolder } from "./release-folder.ts";

/** The command as `edge help version` shows it. */
export const versionCommand = {
  name: "edge version",
  page: "upgrade.md#update",
  summary: "Prints the version; with --check, also the newest signed release.",
  flags: [
    { name: "check", type: "bool", default: false, help: "ask the folder of releases for the newest version" },
    ...RELEASE_FLAGS,
    { name: "json", type: "bool", default: false, help: "print one JSON object" },
  ],
  notes: ["Exit codes: 0 done, 1 a newer release is there or the folder cannot be read, 2 wrong usage."],
} as const;

/** `edge version`. docs/upgrade.md#update */
export async function runVersion(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(versionCommand, args, io);
  if (typeof call === "number") return call;
  const { check, json } = call.values;
  if (!check) {
    io.out(json ? `${JSON.stringify({ version: VERSION })}\n` : `edge ${VERSION}\n`);
    return ExitCode.Done;
  }
  try {
    const { version: newest } = await ReleaseFolder.of(call.values, process.env).newest();
    const isNewer = Bun.semver.order(newest, VERSION) > 0;
    if (json) io.out(`${JSON.stringify({ version: VERSION, newest, newer: isNewer })}\n`);
    else
      io.out(
        `edge ${VERSION}\n${isNewer ? `edge ${newest} is available: edge update` : "It is the newest release."}\n`,
      );
    return isNewer ? ExitCode.Failure : ExitCode.Done;
  } catch (error) {
    if (!(error instanceof ReleaseFault)) throw error;
    io.err(`edge version: ${error.message}\n`);
    return ExitCode.Failure;
  }
}
