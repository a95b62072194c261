import { messageOf } from "../core/error-text.ts";
import { fetchDirectory, usableKeys } from "../features/agents/control/agent-directories.ts";
import { directoryUrl } from "../proto/signatures/agent-keys.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { loadForRequest } from "./load-for-request.ts";

const JSON_FLAG = { name: "json", type: "bool", default: false, help: "print one JSON object" } as const;

/** The command as `edge help agents` shows it. */
export const agentsListCommand = {
  name: "edge agents list",
  page: "agents.md#commands",
  summary: "Lists the agents that the configuration knows, with their keys and rules; directories are fetched now.",
  flags: [...CONFIG_FLAGS, JSON_FLAG],
  notes: [
    "edge agents check URL fetches one directory: see edge agents check --help.",
    "Exit codes: 0 done, 1 a directory has no usable key, 2 wrong usage or a faulty configuration.",
  ],
} as const;

/** The same of the other one. */
export const agentsCheckCommand = {
  name: "edge agents check",
  page: "agents.md#commands",
  summary: "Fetches the key directory of an agent and shows its keys.",
  operands: { usage: "URL", min: 1, max: 1 },
  flags: [
    { name: "ca", type: "string", default: "", placeholder: "FILE", help: "roots to trust, in PEM form" },
    JSON_FLAG,
  ],
  notes: [
    "URL is the origin of the agent, or its directory.",
    "Exit codes: 0 there is a usable key, 1 there is none, 2 wrong usage.",
  ],
} as const;

/** An agent's directory or file, as it is shown. */
interface ShownAgent {
  readonly agent: string;
  /** The file or URL of its keys. */
  readonly source: string;
  readonly keys: readonly { readonly keyid: string }[];
  /** Why keys are missing. */
  readonly notes: readonly string[];
}

/** `edge agents`. docs/agents.md#commands */
export async function runAgents(args: readonly string[], io: CommandIo): Promise<number> {
  const [word = "", ...rest] = args;
  if (word === "list") return runList(rest, io);
  if (word === "check") return runCheck(rest, io);
  if (["", "help", "-h", "-help", "--help"].includes(word)) {
    const asked = startCommand(agentsListCommand, ["--help"], io);
    return typeof asked === "number" ? asked : ExitCode.Done;
  }
  io.err(`edge agents: no command "${word}"; there are edge agents list and check.\n`);
  return ExitCode.Usage;
}

async function runCheck(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(agentsCheckCommand, args, io);
  if (typeof call === "number") return call;
  const url = directoryUrl(call.operands[0]!);
  if (url === "") {
    io.err("edge agents check: expected the origin of an agent or its directory, such as https://bot.example\n");
    return ExitCode.Usage;
  }
  const found = await fetchedAgent(url, call.values.ca);
  io.out(call.values.json ? `${JSON.stringify(found, null, 2)}\n` : agentText(found));
  return found.keys.length > 0 ? ExitCode.Done : ExitCode.Failure;
}

async function runList(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(agentsListCommand, args, io);
  if (typeof call === "number") return call;
  const config = loadForRequest(call.values, io);
  if (config === null) return ExitCode.Usage;
  const { directories, keys, keysFile, caFile, rules, unsigned } = config.server.agents;
  const own = Map.groupBy(keys, ({ agent }) => agent);
  const found: readonly ShownAgent[] = [
    ...(await Promise.all(directories.map((url) => fetchedAgent(url, caFile)))),
    ...Array.from(own, ([agent, all]) => ({
      agent,
      source: keysFile,
      keys: all.map(({ ids }) => ({ keyid: ids[0]! })),
      notes: [],
    })),
  ];
  const shown = rules.map(({ agent, action }) => ({ agent, action }));
  if (call.values.json) io.out(`${JSON.stringify({ agents: found, rules: shown, unsigned }, null, 2)}\n`);
  else {
    for (const one of found) io.out(agentText(one));
    for (const { agent, action } of shown) io.out(`rule     ${agent}  ${action}\n`);
    io.out(`unsigned ${unsigned}\n`);
  }
  return found.every((one) => one.keys.length > 0) ? ExitCode.Done : ExitCode.Failure;
}

/** A directory as it is now. */
async function fetchedAgent(url: string, caFile: string): Promise<ShownAgent> {
  const agent = new URL(url).hostname;
  try {
    const read = usableKeys((await fetchDirectory(url, caFile)).text);
    if (read instanceof Error) throw read;
    return { agent, source: url, keys: read.keys.map(({ ids }) => ({ keyid: ids[0]! })), notes: read.notes };
  } catch (error) {
    return { agent, source: url, keys: [], notes: [messageOf(error)] };
  }
}

function agentText({ agent, source, keys, notes }: ShownAgent): string {
  const lines = [
    `agent    ${agent}  ${source}`,
    ...keys.map(({ keyid }) => `  key    ${keyid}`),
    ...notes.map((note) => `  note   ${note}`),
  ];
  return `${lines.join("\n")}\n`;
}
