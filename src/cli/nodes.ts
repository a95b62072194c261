import type { FleetNode } from "../app/fleet.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, GatewayFault } from "./gateway-address.ts";

/** The command as `edge help nodes` shows it. */
export const nodesCommand = {
  name: "edge nodes",
  summary: "Lists the gateways of the fleet that the running gateway belongs to (cluster in config.yaml).",
  flags: [...GATEWAY_FLAGS, { name: "json", type: "bool", default: false, help: "print one JSON object" }],
  notes: [
    "Without --socket and --url the gateway is found by the configuration that edge serve would take here.",
    "Exit codes: 0 done, 1 the gateway does not answer, has no fleet, or its store is away, 2 wrong usage.",
  ],
} as const;

/** `edge nodes`. docs/fleet.md#nodes */
export async function runNodes(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(nodesCommand, args, io);
  if (typeof call === "number") return call;
  const gateway = findGateway(call.values, io, nodesCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    const found = await gateway.json<{ readonly nodes: readonly ListedNode[] }>("/internal/api/nodes");
    io.out(call.values.json ? `${JSON.stringify(found, null, 2)}\n` : nodeTable(found.nodes, Date.now()));
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge nodes: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

interface ListedNode extends FleetNode {
  /** Whether it is the gateway that was asked. */
  readonly own: boolean;
}

/** A line for each gateway, by name. @param nowMs milliseconds since the epoch */
export function nodeTable(nodes: readonly ListedNode[], nowMs: number): string {
  const rows = nodes
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((node) => [
      `${printable(node.name)}${node.own ? " *" : ""}`,
      node.state,
      printable(node.version),
      String(node.generation),
      span(nowMs - Date.parse(node.started_at)),
      `${span(nowMs - Date.parse(node.seen_at))} ago`,
    ]);
  const table = [["NAME", "STATE", "VERSION", "GENERATION", "UP", "SEEN"], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Other gateways say what they are called: nothing that a terminal obeys. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_NAME);
}

function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const MAX_NAME = 64;
