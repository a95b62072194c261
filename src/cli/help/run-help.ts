import { didYouMean } from "../../config/nearest-name.ts";
import { VERSION } from "../../core/version.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import type { ListedSpec } from "../listed-command.ts";
import type { HelpTopic } from "./help-topics.ts";
import { paragraph, wrappedTable } from "./wrapped.ts";

/** The commands, as help needs them. */
export interface HelpCommands {
  /** Each with its line, in the order of help. */
  readonly list: readonly (readonly [name: string, summary: string])[];
  /** Prints the help of a command; null where there is none of that name. */
  help(name: string): (() => number | Promise<number>) | null;
}

/** The command as `edge help help` shows it. */
export function helpCommand(commands: readonly string[]): ListedSpec {
  return {
    name: "edge help",
    page: "tools.md#help",
    summary: "Prints the list of commands, the help of one, or what a name or a page of the documentation says.",
    operands: {
      usage: "[COMMAND | NAME | PAGE]",
      min: 0,
      max: 2,
      words: [...commands, ...REFERENCES.keys(), "pages"],
    },
    flags: [],
    notes: [
      "NAME: an error, a refusal, an event of the log, a metric, a key or a rule of the firewall:",
      "  edge help port-in-use",
      "  edge help waf_blocked",
      "  edge help server.tls.port",
      "PAGE: a page of the documentation, all of which are in the binary, or a section of one:",
      "  edge help docs/tls.md#redirect",
      "Exit codes: 0 printed, 2 nothing has this name.",
    ],
  };
}

/** `edge help`. docs/tools.md#help */
export async function runHelp(args: readonly string[], io: CommandIo, commands: HelpCommands): Promise<number> {
  const [name = "help", ...more] = args;
  if (/^--?h(elp)?$/.test(name)) {
    const call = startCommand(helpCommand(commands.list.map(([one]) => one)), [name], io);
    return typeof call === "number" ? call : ExitCode.Done;
  }
  const command = name === "help" ? null : commands.help(name);
  // The one command of two words.
  const [extra] = name === "waf" && ["test", "learn", "import"].includes(more[0] ?? "") ? more.slice(1) : more;
  if (extra !== undefined) {
    io.err(`edge help: unexpected argument ${JSON.stringify(extra)}; "edge help" lists the commands\n`);
    return ExitCode.Usage;
  }
  if (command !== null) return command();
  const reference = REFERENCES.get(name);
  if (name === "help") io.out(overview(commands));
  else if (reference !== undefined) io.out(await reference());
  else return explain(name, io, commands);
  return ExitCode.Done;
}

/** Prints the page or the names that are meant. */
async function explain(name: string, io: CommandIo, commands: HelpCommands): Promise<number> {
  const { DocPages } = await import("./doc-pages.ts");
  const pages = new DocPages();
  const page = name === "pages" ? pageList(pages.groups()) : pages.find(name);
  if (page !== null) {
    io.out(page);
    return ExitCode.Done;
  }
  const { HelpTopics } = await import("./help-topics.ts");
  const topics = new HelpTopics();
  const found = topics.find(name);
  if (found.length === 0) {
    const known = [
      ...commands.list.map(([one]) => one),
      ...REFERENCES.keys(),
      ...pages.names,
      ...topics.all().map((topic) => topic.name),
    ];
    io.err(`edge help: nothing has the name ${JSON.stringify(name)}${didYouMean(name, known)}\n`);
    io.err('"edge help" lists the commands, "edge help pages" the documentation.\n');
    return ExitCode.Usage;
  }
  io.out(found.map(topicText).join("\n"));
  return ExitCode.Done;
}

function topicText({ name, kind, text, pages }: HelpTopic): string {
  const plain = text.replaceAll("`", "").split("\n").map(paragraph).join("\n");
  return `${paragraph(`${name}: ${kind}`)}\n\n${plain}\n\n${paragraph(`More: ${pages.join(", ")}`)}\n`;
}

function pageList(groups: readonly { title: string; pages: readonly (readonly [string, string])[] }[]): string {
  const text = groups.map(({ title, pages }) => {
    const rows = pages.map(([name, about]) => [name, about.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1")] as const);
    return `${title}\n${wrappedTable(rows)}`;
  });
  const head = 'The documentation. "edge help tls" prints a page, "edge help docs/tls.md#redirect" a section.';
  return `${paragraph(head)}\n\n${text.join("\n")}`;
}

/** What help knows beside the commands. */
const REFERENCES: ReadonlyMap<string, () => Promise<string>> = new Map([
  ["config", async () => (await import("../settings-reference.ts")).CONFIG_REFERENCE],
  ["routes", async () => (await import("../settings-reference.ts")).ROUTES_REFERENCE],
  ["log", async () => (await import("../../help/log-reference.ts")).logReference(wrappedTable)],
]);

function overview({ list }: HelpCommands): string {
  const more = [
    "edge help config and edge help routes show every key of the two files, edge help log the lines of the log.",
    "edge help NAME explains an error, an event, a metric, a key or a rule by its name.",
    "edge help pages lists the documentation, which is in this binary: edge help quickstart is where to begin.",
  ];
  return (
    `edge ${VERSION}, an HTTP edge gateway.\n\nUsage: edge COMMAND [flags]\n\n${wrappedTable(list)}\n` +
    `${more.map(paragraph).join("\n")}\n`
  );
}
