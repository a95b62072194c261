import { exactly, span } from "../core/number-text.ts";
import { plainLine } from "../core/printable.ts";
import type { BanListing } from "../features/bans/control/ban-service.ts";
import { type Column, ENDLESS, NO_COLORS, textTable } from "../tools/watch/text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault } from "./gateway-address.ts";

/** The command as `edge help bans` shows it. */
export const bansCommand = {
  name: "edge bans",
  page: "bans.md#by-hand",
  summary: "Lists, adds and lifts bans of the running gateway (server.bans in config.yaml).",
  operands: { usage: "list | add ADDRESS | rm ADDRESS", min: 1, max: 2, words: ["list", "add", "rm"] },
  flags: [
    {
      name: "for",
      type: "string",
      default: "",
      placeholder: "TIME",
      help: "of add: how long, such as 2h (default: for of server.bans)",
    },
    ...GATEWAY_FLAGS,
    { name: "json", type: "bool", default: false, help: "print one JSON object" },
  ],
  notes: [
    "ADDRESS is an IP address or a network such as 10.0.0.0/8. Of IPv6 the whole /64 is banned.",
    "Bans hold over reloads, restarts and upgrades until they end.",
    "Examples:",
    "  edge bans list",
    "  edge bans add 192.0.2.7 --for 2h",
    "  edge bans rm 192.0.2.7",
    "",
    "Exit codes: 0 done, 1 the gateway does not answer or refuses, 2 wrong usage.",
  ],
} as const;

type Ban = BanListing["bans"][number];

/** `edge bans`. docs/bans.md#by-hand */
export async function runBans(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(bansCommand, args, io);
  if (typeof call === "number") return call;
  const [action = "", address = ""] = call.operands;
  const fault = usageFault(action, address, call.values.for);
  if (fault !== "") {
    io.err(`edge bans: ${fault}\n`);
    return ExitCode.Usage;
  }
  const gateway = findGateway(call.values, io, bansCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    const { found, text } = await answered(gateway, action, address, call.values.for);
    io.out(call.values.json ? `${JSON.stringify(found, null, 2)}\n` : text);
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge bans: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

function usageFault(action: string, address: string, time: string): string {
  if (!["list", "add", "rm"].includes(action)) return `expected list, add or rm, found "${plainLine(action)}"`;
  if ((action === "list") !== (address === ""))
    return action === "list" ? "list takes no address" : `${action} takes an address`;
  return time !== "" && action !== "add" ? "--for goes with add" : "";
}

/** Something that the gateway has told, as JSON and for people. */
interface Told {
  readonly found: unknown;
  readonly text: string;
}

async function answered(gateway: GatewayApi, action: string, address: string, time: string): Promise<Told> {
  if (action === "list") {
    const found = await gateway.json<BanListing>("/internal/api/bans");
    return { found, text: listText(found, Date.now()) };
  }
  const path = `/internal/api/bans/${action}`;
  const { status, text } = await gateway.post(path, time === "" ? { address } : { address, for: time }, CALL_LIMIT_MS);
  if (status !== 200) throw gateway.refused(path, status, text);
  const found = gateway.parsed(path, text) as Partial<Ban>;
  const name = plainLine(found.address ?? address);
  return {
    found,
    text: action === "add" ? `${name} is banned until ${found.until}.\n` : `${name} is not banned any more.\n`,
  };
}

/** The bans and the feeds. @param nowMs milliseconds since the epoch */
function listText({ bans, total, feeds }: BanListing, nowMs: number): string {
  const columns: readonly Column<Ban>[] = [
    { title: "ADDRESS", width: 0, rank: 0, cell: ({ address }) => address },
    { title: "SOURCE", width: 8, rank: 0, cell: ({ source }) => source, isText: true },
    { title: "COUNT", width: 5, rank: 0, cell: ({ count }) => String(count) },
    { title: "SINCE", width: 10, rank: 0, cell: ({ since }) => `${span(nowMs - Date.parse(since))} ago` },
    { title: "LEFT", width: 7, rank: 0, cell: ({ until }) => span(Math.max(0, Date.parse(until) - nowMs)) },
  ];
  const lines = total === 0 ? ["No client is banned."] : textTable(columns, bans, ENDLESS, NO_COLORS);
  const more = total > bans.length ? [`${total - bans.length} more.`] : [];
  const lists = feeds.map(
    ({ feed, networks, error }) =>
      `Feed ${plainLine(feed)}: ${exactly(networks, "network")}${error === null ? "" : `, the last look failed: ${plainLine(error)}`}`,
  );
  return [...lines, ...more, ...lists].map((line) => `${line}\n`).join("");
}

const CALL_LIMIT_MS = 30_000;
