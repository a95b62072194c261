import { exactly } from "../core/number-text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateways, GATEWAY_FLAGS, type GatewayApi, GatewayFault, type GatewayReply } from "./gateway-address.ts";
import { moreOf } from "./help/more.ts";

/** The command as `edge help reload` shows it. */
export const reloadCommand = {
  name: "edge reload",
  page: "operations.md#reload",
  summary: "Makes the running gateway read both files again, waits until it serves them, and says what has come of it.",
  flags: GATEWAY_FLAGS,
  notes: [
    "The same as SIGHUP, which says it in the log alone. With a mistake in the files nothing changes.",
    "Exit codes: 0 the new configuration serves, 1 it does not, or no gateway answers, 2 wrong usage.",
  ],
} as const;

/** What `POST /internal/api/reload` says. docs/endpoints.md#actions */
interface Outcome {
  readonly ok: boolean;
  readonly generation: number;
  readonly faults: readonly string[];
  readonly routes?: number;
  readonly needs_restart?: readonly string[];
  readonly removed?: readonly string[];
  /** What workers that take it up later have said. */
  readonly late?: readonly string[];
}

/** `edge reload`. docs/operations.md#reload */
export async function runReload(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(reloadCommand, args, io);
  if (typeof call === "number") return call;
  const gateways = findGateways(call.values, io, reloadCommand.name);
  if (gateways.length === 0) return ExitCode.Failure;
  try {
    return tell(await ask(gateways), io);
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`${reloadCommand.name}: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

/** The files may name listeners that the running gateway does not have yet: each is asked until one answers. */
async function ask(gateways: readonly GatewayApi[]): Promise<Outcome> {
  let first: GatewayFault | null = null;
  for (const gateway of gateways) {
    try {
      return outcomeOf(gateway, await gateway.post(PATH, {}, LIMIT_MS));
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      first ??= error;
    }
  }
  throw first!;
}

function outcomeOf(gateway: GatewayApi, { status, text }: GatewayReply): Outcome {
  if (status !== 200 && status !== 422) throw new GatewayFault(gateway.refusal(PATH, status, text));
  try {
    return JSON.parse(text) as Outcome;
  } catch {
    throw new GatewayFault(`${gateway.label}${PATH}: the response is no JSON; is this an edge?`);
  }
}

function tell(outcome: Outcome, io: CommandIo): number {
  const { ok, generation, faults, routes = 0, needs_restart: waiting = [], removed = [], late = [] } = outcome;
  if (!ok) {
    for (const fault of faults) io.err(`${fault}\n`);
    io.err(`Nothing was changed.\n${moreOf(faults.map((fault) => ({ path: pathIn(fault) })))}`);
    return ExitCode.Failure;
  }
  io.out(`Reloaded: configuration ${generation}, ${exactly(routes, "route")}.\n`);
  if (waiting.length > 0) io.out(`After a restart: ${waiting.join(", ")}.\n`);
  if (removed.length > 0) io.out(`No longer there: ${removed.join(", ")}.\n`);
  for (const worker of late) io.out(`${worker}\n`);
  return ExitCode.Done;
}

/** The key of a fault that is written as a line. */
function pathIn(fault: string): string {
  return /:\d+:\d+: ((?:[a-z]\w*)(?:\.\w+|\[\d+\])*): /.exec(fault)?.[1] ?? "";
}

const PATH = "/internal/api/reload";
/** Longer than the gateway waits for its workers. */
const LIMIT_MS = 150_000;
