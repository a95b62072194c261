import { series } from "../core/number-text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault, type GatewayFlags } from "./gateway-address.ts";

const JSON_FLAG = { name: "json", type: "bool", default: false, help: "print one JSON object" } as const;
const EXIT_CODES = "Exit codes: 0 done, 1 the gateway does not answer or refuses, 2 wrong usage.";
const KEPT = "It holds over reloads, restarts and upgrades until it is put back: edge status shows it.";

/** The command as `edge help drain` shows it. */
export const drainCommand = {
  name: "edge drain",
  page: "operations.md#draining-a-target",
  summary: "Takes a target out of service: it gets no new requests, and those under way end.",
  operands: { usage: "URL|NAME", min: 1, max: 1 },
  flags: [...GATEWAY_FLAGS, JSON_FLAG],
  notes: [KEPT, "Examples:", "  edge drain http://10.0.0.5:8000", "  edge drain web-1", "", EXIT_CODES],
} as const;

/** The command as `edge help undrain` shows it. */
export const undrainCommand = {
  name: "edge undrain",
  page: "operations.md#draining-a-target",
  summary: "Takes a drained target back into service.",
  operands: { usage: "URL|NAME", min: 1, max: 1 },
  flags: [...GATEWAY_FLAGS, JSON_FLAG],
  notes: [EXIT_CODES],
} as const;

/** The command as `edge help maintenance` shows it. */
export const maintenanceCommand = {
  name: "edge maintenance",
  page: "pages.md#maintenance-at-run-time",
  summary: "Switches maintenance on or off: routes respond with 503 and Retry-After.",
  operands: { usage: "on|off", min: 1, max: 1, words: ["on", "off"] },
  flags: [
    {
      name: "route",
      type: "string",
      default: "",
      placeholder: "PATH",
      help: "the prefix or path of one route (default all)",
    },
    ...GATEWAY_FLAGS,
    JSON_FLAG,
  ],
  notes: [KEPT, "Examples:", "  edge maintenance on", "  edge maintenance off --route /shop", "", EXIT_CODES],
} as const;

/** `edge drain`. docs/operations.md#draining-a-target */
export function runDrain(args: readonly string[], io: CommandIo): Promise<number> {
  return drainOrNot(drainCommand, "drain", args, io);
}

/** `edge undrain`. docs/operations.md#draining-a-target */
export function runUndrain(args: readonly string[], io: CommandIo): Promise<number> {
  return drainOrNot(undrainCommand, "undrain", args, io);
}

async function drainOrNot(
  command: typeof drainCommand | typeof undrainCommand,
  action: "drain" | "undrain",
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const call = startCommand(command, args, io);
  if (typeof call === "number") return call;
  const [target] = call.operands;
  const order = { path: `/internal/api/upstreams/${action}`, body: { target } };
  return operate(
    command.name,
    call.values,
    order,
    io,
    ({ target: origin = "", targets = [origin], without_target: empty = [], drained = [] }) => {
      for (const one of targets) io.out(`${one} ${action === "drain" ? "is drained" : "is in use again"}.\n`);
      const left = drained.filter((one) => !targets.includes(one));
      if (left.length > 0) io.out(`Still drained: ${series(left)}.\n`);
      if (empty.length > 0)
        io.err(`${command.name}: no target is left for ${series(empty)}: requests get 503 until one is back\n`);
    },
  );
}

/** `edge maintenance`. docs/pages.md#maintenance-at-run-time */
export async function runMaintenance(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(maintenanceCommand, args, io);
  if (typeof call === "number") return call;
  const on = call.operands[0] === "on";
  const { route } = call.values;
  const order = { path: "/internal/api/maintenance", body: route === "" ? { on } : { on, route } };
  return operate(maintenanceCommand.name, call.values, order, io, ({ routes = [] }) => {
    const of = route === "" ? "" : ` for ${route}`;
    io.out(
      `Maintenance is ${on ? "on" : "off"}${of}. ${routes.length === 0 ? "All routes serve." : `Under maintenance: ${series(routes)}.`}\n`,
    );
  });
}

/** An action of operators as the endpoint takes it. */
interface Order {
  readonly path: string;
  readonly body: object;
}

/** The response to any of these actions. docs/endpoints.md#actions */
interface Answer {
  readonly target?: string;
  /** All, if a name is that of several. */
  readonly targets?: readonly string[];
  readonly drained?: readonly string[];
  readonly without_target?: readonly string[];
  readonly routes?: readonly string[];
}

/** Longer than the gateway waits for its workers. */
const ORDER_LIMIT_MS = 150_000;

async function operate(
  name: string,
  flags: GatewayFlags & { readonly json: boolean },
  order: Order,
  io: CommandIo,
  tell: (response: Answer) => void,
): Promise<number> {
  const gateway = findGateway(flags, io, name);
  if (gateway === null) return ExitCode.Failure;
  try {
    const response = await ordered(gateway, order);
    if (flags.json) io.out(`${JSON.stringify(response, null, 2)}\n`);
    else tell(response);
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`${name}: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

async function ordered(gateway: GatewayApi, { path, body }: Order): Promise<Answer> {
  const { status, text } = await gateway.post(path, body, ORDER_LIMIT_MS);
  if (status !== 200) throw gateway.refused(path, status, text);
  return gateway.parsed(path, text) as Answer;
}
