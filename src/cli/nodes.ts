import { span } from "../core/number-text.ts";
import type { FleetNode } from "../features/fleet/control/fleet.ts";
import { type Column, ENDLESS, NO_COLORS, textTable } from "../tools/watch/text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, GatewayFault } from "./gateway-address.ts";

/** The command as `edge help nodes` shows it. */
export const nodesCommand = {
  name: "edge nodes",
  page: "fleet.md#nodes",
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

const CONFIG: Column<ListedNode> = {
  title: "CONFIG",
  width: 22,
  rank: 0,
  cell: ({ config, trial }) => (trial === "" ? config : `${config} (${trial})`),
  isText: true,
};

interface ListedNode extends FleetNode {
  /** Whether it is the gateway that was asked. */
  readonly own: boolean;
}

/** A line for each gateway, by name. What other gateways say of themselves moves no cursor. @param nowMs milliseconds since the epoch */
function nodeTable(nodes: readonly ListedNode[], nowMs: number): string {
  const columns: readonly Column<ListedNode>[] = [
    { title: "NAME", width: 0, rank: 0, cell: ({ name, own }) => (own ? `${name} *` : name) },
    { title: "STATE", width: 8, rank: 0, cell: ({ state }) => state, isText: true },
    { title: "GENERATION", width: 10, rank: 0, cell: ({ generation }) => String(generation) },
    ...(nodes.some(({ config }) => config !== "") ? [CONFIG] : []),
    { title: "UP", width: 7, rank: 0, cell: ({ started_at }) => span(nowMs - Date.parse(started_at)) },
    { title: "SEEN", width: 7, rank: 0, cell: ({ seen_at }) => `${span(nowMs - Date.parse(seen_at))} ago` },
    { title: "VERSION", width: 7, rank: 0, cell: ({ version }) => version, isText: true },
  ];
  const byName = nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return textTable(columns, byName, ENDLESS, NO_COLORS)
    .map((line) => `${line}\n`)
    .join("");
}
