import type { ControlOptions } from "../../control/control.ts";
import { escapedTemplate } from "../../proto/template/template.ts";
import type { CommandIo } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import { listenFault, listenFlag } from "./listen-flag.ts";
import { quickAddress } from "./quick-address.ts";
import { QUICK_FLAGS, runQuick } from "./quick-gateway.ts";

/** The command as `edge help respond` shows it. */
export const respondCommand = {
  name: "edge respond",
  page: "one-line.md#edge-respond",
  summary: "Sends one fixed response to every request.",
  flags: [
    listenFlag,
    { name: "status", alias: "s", type: "int", default: 200, min: 200, max: 599, help: "the status" },
    {
      name: "type",
      type: "string",
      default: "text/plain; charset=utf-8",
      placeholder: "TYPE",
      help: "the Content-Type of the body",
    },
    ...QUICK_FLAGS,
  ],
  operands: { usage: "[BODY]", min: 0, max: 1 },
  notes: ["  edge respond --status 503 'Back at noon.'", "Exit codes: as of edge serve."],
} as const;

/** `edge respond`. docs/one-line.md#edge-respond */
export async function runRespond(
  args: readonly string[],
  io: CommandIo,
  control: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const call = startCommand(respondCommand, args, io);
  if (typeof call === "number") return call;
  const { listen, status, type, print } = call.values;
  const at = quickAddress(listen, 80);
  if (at === null || at.host !== "") return listenFault(respondCommand.name, listen, io);
  const [body = ""] = call.operands;
  const hasBody = body !== "";
  const route = {
    type: "respond",
    status,
    ...(hasBody ? { body: escapedTemplate(body), content_type: type } : {}),
  };
  const flags = { content_type: "--type", body: "BODY", status: "--status", server: "--listen" };
  return runQuick({ command: respondCommand.name, at, server: {}, route, flags }, print, io, control);
}
