import { exactly } from "../core/number-text.ts";
import type { BehaviourDifference, KeyChange } from "../loading/behaviour-difference.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import {
  findGateways,
  GATEWAY_FLAGS,
  type GatewayApi,
  GatewayFault,
  type GatewayFlags,
  type GatewayResponse,
} from "./gateway-address.ts";
import { moreOf } from "./help/more.ts";

const JSON_FLAG = { name: "json", type: "bool", default: false, help: "print one JSON object" } as const;

/** The command as `edge help reload` shows it. */
export const reloadCommand = {
  name: "edge reload",
  page: "operations.md#reload",
  summary: "Makes the running gateway read both files again, waits until it serves them, and reports the result.",
  flags: [
    {
      name: "dry-run",
      type: "bool",
      default: false,
      help: "show which routes, targets, policies and listeners would change, and apply nothing",
    },
    ...GATEWAY_FLAGS,
    JSON_FLAG,
  ],
  notes: [
    "The same as SIGHUP, which says it in the log alone. With a mistake in the files nothing changes.",
    "Exit codes: 0 the new configuration serves, or with --dry-run: it is in order, whether it changes anything or not; 1 it does not, or no gateway answers, 2 wrong usage.",
  ],
} as const;

/** The command as `edge help rollback` shows it. */
export const rollbackCommand = {
  name: "edge rollback",
  page: "operations.md#rollback",
  summary: "Makes the running gateway serve the configuration before the serving one, or N before it.",
  operands: { usage: "[N]", min: 0, max: 1 },
  flags: [...GATEWAY_FLAGS, JSON_FLAG],
  notes: [
    "The files stay as they are. The next reload takes them up again, and so does a restart after they were changed; edge status says that they are not in use.",
    "Exit codes: 0 the earlier configuration serves, 1 it does not, or no gateway answers, 2 wrong usage.",
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
  readonly rolled_back_to?: string;
  /** Of a dry run. */
  readonly changes?: BehaviourDifference;
}

/** `edge reload`. docs/operations.md#reload */
export async function runReload(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(reloadCommand, args, io);
  if (typeof call === "number") return call;
  const isDry = call.values["dry-run"];
  const order = { name: reloadCommand.name, path: "/internal/api/reload", body: isDry ? { dry_run: true } : {} };
  return carryOut(order, call.values, io, isDry ? tellOfChanges : tellOfReload);
}

/** `edge rollback`. docs/operations.md#rollback */
export async function runRollback(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(rollbackCommand, args, io);
  if (typeof call === "number") return call;
  const [typed = "1"] = call.operands;
  if (!/^[1-9]\d{0,5}$/.test(typed)) {
    io.err(`${rollbackCommand.name}: expected a number of at least 1, found ${JSON.stringify(typed)}\n`);
    return ExitCode.Usage;
  }
  const order = { name: rollbackCommand.name, path: "/internal/api/rollback", body: { steps: Number(typed) } };
  return carryOut(order, call.values, io, tellOfReload);
}

interface Order {
  /** Of the command. */
  readonly name: string;
  readonly path: string;
  readonly body: object;
}

async function carryOut(
  order: Order,
  flags: GatewayFlags & { readonly json: boolean },
  io: CommandIo,
  tell: (outcome: Outcome, io: CommandIo) => void,
): Promise<number> {
  const gateways = findGateways(flags, io, order.name);
  if (gateways.length === 0) return ExitCode.Failure;
  try {
    const outcome = await ask(gateways, order);
    if (flags.json) io.out(`${JSON.stringify(outcome, null, 2)}\n`);
    else if (outcome.ok) tell(outcome, io);
    else tellOfFaults(outcome, io);
    return outcome.ok ? ExitCode.Done : ExitCode.Failure;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`${order.name}: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

/** The files may name listeners that the running gateway does not have yet: each is asked until one answers. */
async function ask(gateways: readonly GatewayApi[], order: Order): Promise<Outcome> {
  let first: GatewayFault | null = null;
  for (const gateway of gateways) {
    try {
      return outcomeOf(gateway, order.path, await gateway.post(order.path, order.body, LIMIT_MS));
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      first ??= error;
    }
  }
  throw first!;
}

function outcomeOf(gateway: GatewayApi, path: string, { status, text }: GatewayResponse): Outcome {
  if (status !== 200 && status !== 422) throw gateway.refused(path, status, text);
  return gateway.parsed(path, text) as Outcome;
}

function tellOfFaults({ faults }: Outcome, io: CommandIo): void {
  for (const fault of faults) io.err(`${fault}\n`);
  io.err(`Nothing was changed.\n${moreOf(faults.map((fault) => ({ path: pathIn(fault) })))}`);
}

function tellOfReload(outcome: Outcome, io: CommandIo): void {
  const { generation, routes = 0, late = [], rolled_back_to: back } = outcome;
  const did = back === undefined ? "Reloaded" : `Rolled back to the configuration of ${back}`;
  io.out(`${did}: configuration ${generation}, ${exactly(routes, "route")}.\n`);
  if (back !== undefined) io.out("The files are as they were, and are not in use until the next reload.\n");
  tellOfRest(outcome, io);
  for (const worker of late) io.out(`${worker}\n`);
}

function tellOfRest({ needs_restart: waiting = [], removed = [] }: Outcome, io: CommandIo): void {
  if (waiting.length > 0) io.out(`After a restart: ${waiting.join(", ")}.\n`);
  if (removed.length > 0) io.out(`No longer there: ${removed.join(", ")}.\n`);
}

function tellOfChanges(outcome: Outcome, io: CommandIo): void {
  const { routes = [], settings = [], omitted = 0 } = outcome.changes ?? {};
  const marks = { added: "+", removed: "-", changed: "~", moved: "^" } as const;
  for (const { change, kind, name, keys } of routes) {
    io.out(
      `${marks[change]} ${kind} ${name}${change === "moved" ? " (its place among routes of the same path)" : ""}\n`,
    );
    for (const key of keys) io.out(`    ${changeText(key, change === "changed")}\n`);
  }
  for (const setting of settings) io.out(`~ ${changeText(setting, true)}\n`);
  if (omitted > 0) io.out(`and ${exactly(omitted, "change")} more\n`);
  tellOfRest(outcome, io);
  const counts = (["added", "removed", "changed", "moved"] as const).flatMap((change) => {
    const count = routes.filter((one) => one.change === change).length;
    return count === 0 ? [] : [`${exactly(count, "entry", "entries")} ${change}`];
  });
  if (settings.length > 0) counts.push(`${exactly(settings.length, "setting")} changed`);
  io.out(
    `${counts.length === 0 ? "A reload would change nothing" : `A reload would change this: ${counts.join(", ")}`}. Nothing was applied.\n`,
  );
}

function changeText({ key, before, after }: KeyChange, isChange: boolean): string {
  if (!isChange) return `${key}: ${valueText(after ?? before)}`;
  if (Array.isArray(before ?? []) && Array.isArray(after ?? [])) {
    const gone = ((before ?? []) as unknown[]).map((one) => `- ${valueText(one)}`);
    const come = ((after ?? []) as unknown[]).map((one) => `+ ${valueText(one)}`);
    return `${key}: ${[...gone, ...come].join("  ")}`;
  }
  return `${key}: ${valueText(before)} -> ${valueText(after)}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "(none)";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** The key of a fault that is written as a line. */
function pathIn(fault: string): string {
  return /:\d+:\d+: ((?:[a-z]\w*)(?:\.\w+|\[\d+\])*): /.exec(fault)?.[1] ?? "";
}

/** Longer than the gateway waits for its workers. */
const LIMIT_MS = 150_000;
