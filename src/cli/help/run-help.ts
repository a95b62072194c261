import { VERSION } from "../../core/version.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import type { ListedSpec } from "../listed-command.ts";
import type { HelpAnswer } from "./help-answer.ts";
import { paragraph, wrappedTable } from "./wrapped.ts";

/** The commands, as help needs them. */
export interface HelpCommands {
  /** Each with its line, in the order of help. */
  readonly list: readonly (readonly [name: string, summary: string])[];
  /** Prints the help of a command; null if there is none of that name. */
  help(name: string): (() => number | Promise<number>) | null;
}

/** The command as `edge help help` shows it. */
export function helpCommand(commands: readonly string[]) {
  return {
    name: "edge help",
    page: "tools.md#help",
    summary:
      "Prints the list of commands, the help of one, the explanation of a name, a page, or a search for your words.",
    operands: {
      usage: "[COMMAND | NAME | PAGE | WORDS]",
      min: 0,
      max: MAX_WORDS,
      words: [...new Set([...commands, ...REFERENCES.keys()])],
    },
    flags: [{ name: "json", type: "bool", default: false, help: "print one JSON object" }],
    notes: [
      "NAME: an error, a refusal, an event of the log, a metric, a key or a rule of the firewall:",
      "  edge help port-in-use",
      "  edge help waf_blocked",
      "  edge help server.tls.port",
      "PAGE: a page of the documentation, all of which are in the binary, or a section of one:",
      "  edge help docs/tls.md#redirect",
      "WORDS: what you look for, in your own words. At most 10 lines, the best first:",
      "  edge help basic auth",
      "  edge help 502",
      "Exit codes: 0 printed, 2 nothing has this name or is about these words.",
    ],
  } as const satisfies ListedSpec;
}

/** `edge help`. docs/tools.md#help */
export async function runHelp(args: readonly string[], io: CommandIo, commands: HelpCommands): Promise<number> {
  const spec = helpCommand(commands.list.map(([one]) => one));
  const { usage, min, max } = spec.operands;
  // The words of the spec are what a shell offers; others are searched for.
  const call = startCommand({ ...spec, operands: { usage, min, max } }, args, io);
  if (typeof call === "number") return call;
  const words = call.operands.flatMap((operand) => operand.split(/\s+/)).filter((word) => word !== "");
  if (call.values.json) return responseJson(words, io, commands);
  const [name = "help", ...more] = words;
  // The one command of two words.
  const isOne = more.length === 0 || (name === "waf" && more.length === 1 && WAF_COMMANDS.has(more[0]!));
  // The keys of routes.yaml come before the command of that name, whose own help is edge routes --help.
  const reference = isOne ? REFERENCES.get(name) : undefined;
  const command = isOne && name !== "help" && reference === undefined ? commands.help(name) : null;
  if (command !== null) return command();
  if (isOne && name === "help") io.out(overview(commands));
  else if (reference !== undefined) io.out(await reference());
  else return answer(words, io, commands);
  return ExitCode.Done;
}

async function answer(words: readonly string[], io: CommandIo, commands: HelpCommands): Promise<number> {
  const { helpAnswer } = await import("./help-answer.ts");
  const { found, text, meant } = helpAnswer(words, commands.list, [...REFERENCES.keys()]);
  if (found.length > 0) {
    io.out(text);
    return ExitCode.Done;
  }
  const [first = "", second] = words;
  if (second !== undefined && (commands.help(first) !== null || REFERENCES.has(first))) {
    io.err(`edge help: unexpected argument ${JSON.stringify(second)}; "edge help" lists the commands\n`);
    return ExitCode.Usage;
  }
  io.err(`edge help: nothing has the name ${JSON.stringify(words.join(" "))}${meant}\n`);
  io.err('"edge help" lists the commands, "edge help pages" the documentation.\n');
  return ExitCode.Usage;
}

/** What is found, as JSON; without words, the commands. */
async function responseJson(words: readonly string[], io: CommandIo, { list }: HelpCommands): Promise<number> {
  const chosen = words.length === 0 ? list : list.filter(([name]) => words.length === 1 && name === words[0]);
  let found: HelpAnswer["found"] = chosen.map(([name, text]) => ({ name, kind: "a command", text }));
  if (found.length === 0) {
    const { helpAnswer } = await import("./help-answer.ts");
    ({ found } = helpAnswer(words, list, [...REFERENCES.keys()]));
  }
  io.out(`${JSON.stringify({ words: words.join(" "), found })}\n`);
  return found.length > 0 ? ExitCode.Done : ExitCode.Usage;
}

/** What help knows beside the commands. */
const REFERENCES: ReadonlyMap<string, () => Promise<string>> = new Map([
  ["config", async () => (await import("../settings-reference.ts")).CONFIG_REFERENCE],
  ["routes", async () => (await import("../settings-reference.ts")).ROUTES_REFERENCE],
  ["log", async () => (await import("../../help/log-reference.ts")).logReference(wrappedTable)],
  ["pages", async () => (await import("./help-answer.ts")).listOfPages()],
]);
const WAF_COMMANDS: ReadonlySet<string> = new Set(["test", "learn", "import"]);
/** So many words may be searched for. */
const MAX_WORDS = 64;

function overview({ list }: HelpCommands): string {
  const more = [
    "edge help config and edge help routes show every key of the two files, edge help log the lines of the log.",
    "edge help NAME explains an error, an event, a metric, a key or a rule by its name, and edge help WORDS searches for your words: edge help basic auth.",
    "edge help pages lists the documentation, which is in this binary: edge help quickstart is where to begin.",
  ];
  return (
    `edge ${VERSION}, an HTTP edge gateway.\n\nUsage: edge COMMAND [flags]\n\n${wrappedTable(list)}\n` +
    `${more.map(paragraph).join("\n")}\n`
  );
}
