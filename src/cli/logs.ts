import { mayColor } from "../control/start-summary.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { followLines, readLines } from "../tools/logs/line-source.ts";
import { LogView, sinceOf } from "../tools/logs/log-view.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { isTerminal } from "./is-terminal.ts";

/** The command as `edge help logs` shows it. */
export const logsCommand = {
  name: "edge logs",
  page: "tools.md#logs",
  summary: "Shows the gateway's log for people: the JSON lines of a file or of standard input, filtered.",
  operands: { usage: "[FILE|-]", min: 0, max: 1 },
  flags: [
    {
      name: "status",
      type: "string",
      default: "",
      placeholder: "5xx",
      help: "only these status codes, comma-separated: 404,5xx",
    },
    { name: "route", type: "string", default: "", placeholder: "/api", help: "of requests of this route" },
    {
      name: "event",
      type: "string",
      default: "",
      placeholder: "NAME",
      help: "only these events, comma-separated: access,waf_block,config_reload",
    },
    { name: "id", type: "string", default: "", placeholder: "ID", help: "all about one request: its X-Request-Id" },
    { name: "since", type: "string", default: "", placeholder: "10m", help: "not older than 10m, 2h, 1d, or a date" },
    { name: "follow", alias: "f", type: "bool", default: false, help: "follow FILE as it grows" },
    { name: "json", type: "bool", default: false, help: "show lines as they are" },
  ],
  notes: [
    "Examples:",
    "  journalctl -u edge -o cat | edge logs --status 5xx --since 1h",
    "  edge logs --follow --route /api /var/log/edge/access.log",
    "Files that were put aside and compressed (.zst, .gz) are read as they are. Times are UTC, as in the log.",
    "Exit codes: 0 all was shown, 1 FILE cannot be read, 2 wrong usage.",
  ],
} as const;

/** `edge logs`. docs/tools.md#logs */
export async function runLogs(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(logsCommand, args, io);
  if (typeof call === "number") return call;
  const { status, route, event, id, since, follow, json } = call.values;
  const [file = "-"] = call.operands;
  const sinceMs = since === "" ? 0 : sinceOf(since, Date.now());
  const statuses = words(status);
  const wrong = statuses.find((one) => !/^[1-5](\d\d|xx)$/.test(one));
  const fault = Number.isNaN(sinceMs)
    ? `--since: expected a time such as 10m, 2h or 2026-01-31T12:00:00Z, found "${since}"`
    : wrong !== undefined
      ? `--status: expected 404 or 5xx, found "${wrong}"`
      : follow && file === "-"
        ? "--follow needs a FILE: standard input is followed by itself"
        : "";
  if (fault !== "") {
    io.err(`edge logs: ${fault}\nTry "edge logs --help".\n`);
    return ExitCode.Usage;
  }
  const view = new LogView(
    { statuses, route, events: words(event), id, sinceMs },
    json,
    isTerminal(STDOUT) && mayColor(process.env),
  );
  const show = (line: string): void => {
    const shown = view.show(line);
    if (shown !== "") io.out(shown);
  };
  try {
    if (follow) await followLines(file, show, () => false);
    else await readLines(file, show);
    return ExitCode.Done;
  } catch (error) {
    io.err(`edge logs: ${file}: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  }
}

function words(text: string): readonly string[] {
  return text.split(",").filter((one) => one !== "");
}

const STDOUT = 1;
