import { mayColor } from "../control/start-summary.ts";
import { liveStates } from "../tools/watch/live-source.ts";
import { statusJson, statusText } from "../tools/watch/status-view.ts";
import { COLORS, ENDLESS, NO_COLORS } from "../tools/watch/text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault } from "./gateway-address.ts";
import { isTerminal } from "./is-terminal.ts";

/** The command as `edge help status` shows it. */
export const statusCommand = {
  name: "edge status",
  page: "tools.md#status",
  summary: "Shows on one screen whether the running gateway is well: traffic, workers, upstreams, cache, certificates.",
  flags: [...GATEWAY_FLAGS, { name: "json", type: "bool", default: false, help: "print one JSON object" }],
  notes: [
    "Without --socket and --url the gateway is found by the configuration that edge serve would take here.",
    "Exit codes: 0 it is well, 1 it is not or does not answer, 2 wrong usage.",
  ],
} as const;

/** `edge status`. docs/tools.md#status */
export async function runStatus(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(statusCommand, args, io);
  if (typeof call === "number") return call;
  const gateway = findGateway(call.values, io, statusCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    const state = await firstState(gateway);
    if (call.values.json) io.out(statusJson(state));
    else {
      const isLive = isTerminal(STDOUT);
      const paints = isLive && mayColor(process.env) ? COLORS : NO_COLORS;
      io.out(statusText(state, gateway.label, isLive ? (process.stdout.columns ?? DEFAULT_COLUMNS) : ENDLESS, paints));
    }
    return state.verdict.isWell ? ExitCode.Done : ExitCode.Failure;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge status: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

async function firstState(gateway: GatewayApi) {
  const response = await gateway.openStream();
  try {
    for await (const state of liveStates(response)) return state;
  } catch (error) {
    throw new GatewayFault(`${gateway.label}: the stream broke off: ${(error as Error).message}`);
  } finally {
    response.destroy();
  }
  throw new GatewayFault(`${gateway.label}: the stream ended before its first event`);
}

const STDOUT = 1;
const DEFAULT_COLUMNS = 80;
