import { VERSION } from "../../core/version.ts";
import type { FlagSpec } from "../flags.ts";
import { type CommandValues, choicesOf, commandWords, type ListedCommand, operandsOf } from "../listed-command.ts";

/** The completion for fish 3 or later. docs/tools.md#completion */
export function fishScript(commands: readonly ListedCommand[]): string {
  return `# Completion of edge ${VERSION} for fish: edge completion fish
# Whether these are the words before the one that is typed, all of them or the first of them.
function __edge_at
    set -l words (commandline -opc)
    test "$words[2..-1]" = "$argv"
end

function __edge_in
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

complete -c edge -f
${commands.map(({ name, summary }) => `complete -c edge -n 'test (count (commandline -opc)) -eq 1' -a ${name} -d ${quoted(summary)}`).join("\n")}
${commands.map(fishCommand).join("\n")}
`;
}

function fishCommand(command: ListedCommand): string {
  const lines: string[] = [];
  for (const spec of command.specs) {
    const words = commandWords(command, spec);
    const [, below] = words;
    if (below !== undefined) {
      lines.push(`complete -c edge -n '__edge_at ${command.name}' -a ${below} -d ${quoted(spec.summary)}`);
    }
    const inside = `complete -c edge -n '__edge_in ${words.join(" ")}'`;
    for (const flag of spec.flags) lines.push(`${inside} ${fishFlag(flag)}`);
    lines.push(`${inside} -s h -l help -d 'show this text'`);
    const { first, others } = operandsOf(spec);
    if (first.kind === "words") {
      lines.push(`complete -c edge -n '__edge_at ${words.join(" ")}' -a ${quoted(first.words.join(" "))}`);
    }
    if (others.kind === "files") {
      lines.push(
        first.kind === "words" ? `${inside.slice(0, -1)}; and not __edge_at ${words.join(" ")}' -F` : `${inside} -F`,
      );
    }
  }
  return lines.join("\n");
}

function fishFlag(flag: FlagSpec): string {
  const names = flag.alias === undefined ? [flag.name] : [flag.name, flag.alias];
  const typed = names.map((name) => (name.length === 1 ? `-s ${name}` : `-l ${name}`)).join(" ");
  return `${typed}${fishValues(choicesOf(flag))} -d ${quoted(flag.help)}`;
}

function fishValues(values: CommandValues): string {
  if (values.kind === "words") return ` -x -a ${quoted(values.words.join(" "))}`;
  return { files: " -r -F", folders: " -x -a '(__fish_complete_directories)'", text: " -x", none: "" }[values.kind];
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
