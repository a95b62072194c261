import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault } from "./gateway-address.ts";

/** The command as `edge help purge` shows it. */
export const purgeCommand = {
  name: "edge purge",
  page: "cache.md#purge",
  summary: "Takes stored responses out of a running gateway's cache, in memory and on disk.",
  operands: { usage: "[URL ...]", min: 0, max: 1000 },
  flags: [
    {
      name: "prefix",
      type: "string",
      default: "",
      placeholder: "URL",
      help: "purge URLs with this prefix; a bare path matches every host",
    },
    {
      name: "tag",
      type: "string",
      default: "",
      placeholder: "TAGS",
      help: "all with one of these, parted by commas, in Cache-Tag or Surrogate-Key",
    },
    { name: "all", type: "bool", default: false, help: "everything" },
    { name: "soft", type: "bool", default: false, help: "leave them there, stale from now on" },
    ...GATEWAY_FLAGS,
  ],
  notes: [
    "Examples:",
    "  edge purge https://shop.example.com/a?b=1 /robots.txt",
    "  edge purge --prefix https://shop.example.com/images/ --soft",
    "  edge purge --tag product-17,prices --socket /run/edge/api.sock",
    "",
    "Exit codes: 0 done, also where nothing was stored, 1 the gateway does not answer or refuses, 2 wrong usage.",
  ],
} as const;

/** `edge purge`: `POST /internal/api/cache/purge` for each URL, or once. docs/cache.md#purge */
export async function runPurge(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(purgeCommand, args, io);
  if (typeof call === "number") return call;
  const orders = ordersOf(call);
  if (orders === null) {
    io.err('edge purge: name URLs, or one of --prefix, --tag and --all.\nTry "edge purge --help".\n');
    return ExitCode.Usage;
  }
  const gateway = findGateway(call.values, io, purgeCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    for (const order of orders) await purge(gateway, order, io);
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge purge: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

interface Order {
  readonly what: string;
  readonly body: object;
}

/** @returns null if nothing, or more than one kind, was named */
function ordersOf({ operands, values }: CommandCall<typeof purgeCommand.flags>): readonly Order[] | null {
  const { prefix, tag, all } = values;
  const kinds = [operands.length > 0, prefix !== "", tag !== "", all].filter((isAsked) => isAsked).length;
  if (kinds !== 1) return null;
  const soft = values.soft ? { soft: true } : {};
  if (prefix !== "") return [{ what: `${prefix}*`, body: { prefix, ...soft } }];
  if (all) return [{ what: "everything", body: { all: true, ...soft } }];
  if (tag === "") return operands.map((url) => ({ what: url, body: { url, ...soft } }));
  const tags = tag.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
  return tags.length === 0 ? null : [{ what: `tag ${tags.join(", ")}`, body: { tags, ...soft } }];
}

async function purge(gateway: GatewayApi, { what, body }: Order, io: CommandIo): Promise<void> {
  const { status, text } = await gateway.post(PATH, body);
  if (status !== 200) throw gateway.refused(PATH, status, text);
  const { purged } = JSON.parse(text) as { purged: number };
  io.out(`${purged} purged: ${what}\n`);
}

const PATH = "/internal/api/cache/purge";
