import { resolve } from "node:path";
import type { ControlOptions } from "../../control/control.ts";
import type { CommandIo } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import { listenFault, listenFlag } from "./listen-flag.ts";
import { quickAddress } from "./quick-address.ts";
import { QUICK_FLAGS, runQuick } from "./quick-gateway.ts";

/** The command as `edge help file-server` shows it. */
export const fileServerCommand = {
  name: "edge file-server",
  page: "one-line.md#edge-file-server",
  summary: "Serves a folder.",
  flags: [
    listenFlag,
    {
      name: "spa",
      type: "bool",
      default: false,
      help: "send index.html for paths without a file, as single-page applications need it",
    },
    { name: "browse", type: "bool", default: false, help: "list the files of folders without an index.html" },
    ...QUICK_FLAGS,
  ],
  operands: { usage: "[DIR]", min: 0, max: 1 },
  notes: ["  edge file-server ./public --listen :8080", "Exit codes: as of edge serve."],
} as const;

/** `edge file-server`. docs/one-line.md#edge-file-server */
export async function runFileServer(
  args: readonly string[],
  io: CommandIo,
  control: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const call = startCommand(fileServerCommand, args, io);
  if (typeof call === "number") return call;
  const { listen, spa, browse, print } = call.values;
  const at = quickAddress(listen, 80);
  if (at === null || at.host !== "") return listenFault(fileServerCommand.name, listen, io);
  const [dir = "."] = call.operands;
  const route = { type: "static", dir: resolve(dir), ...(spa ? { spa } : {}), ...(browse ? { browse } : {}) };
  const flags = { dir: "DIR", fallback: "--spa", browse: "--browse", server: "--listen" };
  return runQuick({ command: fileServerCommand.name, at, server: {}, route, flags }, print, io, control);
}
