import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import type { ListedCommand } from "./listed-command.ts";
import { commandPage, referencePage } from "./man/manual-page.ts";
import { CONFIG_REFERENCE, ROUTES_REFERENCE } from "./settings-reference.ts";

/** The command as `edge help man` shows it. */
export const manCommand = {
  name: "edge man",
  page: "tools.md#manual-pages",
  summary: "Prints the manual page edge(1), or that of a file: edge-config(5), edge-routes(5).",
  operands: { usage: "[edge|config|routes]", min: 0, max: 1, words: ["edge", "config", "routes"] },
  flags: [],
  notes: [
    "Examples:",
    "  edge man | man -l -",
    "  edge man > /usr/local/share/man/man1/edge.1",
    "  edge man config > /usr/local/share/man/man5/edge-config.5",
    "The date of a page is today's, or that of SOURCE_DATE_EPOCH.",
  ],
} as const;

/** `edge man`. docs/tools.md#manual-pages @param list gives all commands */
export async function runMan(
  args: readonly string[],
  io: CommandIo,
  list: () => Promise<readonly ListedCommand[]>,
): Promise<number> {
  const call = startCommand(manCommand, args, io);
  if (typeof call === "number") return call;
  const date = dateOf(process.env.SOURCE_DATE_EPOCH ?? "");
  const page = call.operands[0] ?? "edge";
  if (page === "config") {
    io.out(referencePage("config", "configuration of the gateway edge", CONFIG_REFERENCE, date));
  } else if (page === "routes") {
    io.out(referencePage("routes", "routes of the gateway edge", ROUTES_REFERENCE, date));
  } else io.out(commandPage(await list(), date));
  return ExitCode.Done;
}

/** @param epoch seconds since 1970, as builds that must be the same twice are told; otherwise today */
function dateOf(epoch: string): string {
  const time = /^\d{1,11}$/.test(epoch) ? new Date(Number(epoch) * 1000) : new Date();
  return time.toISOString().slice(0, 10);
}
