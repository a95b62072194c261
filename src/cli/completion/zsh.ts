import { VERSION } from "../../core/version.ts";
import { dashed, type FlagSpec } from "../flags.ts";
import {
  type CommandValues,
  choicesOf,
  commandWords,
  type ListedCommand,
  type ListedSpec,
  operandsOf,
} from "../listed-command.ts";

/** The completion for zsh: a file `_edge` in a folder of `fpath`, or sourced after compinit. docs/tools.md#completion */
export function zshScript(commands: readonly ListedCommand[]): string {
  return `#compdef edge
# Completion of edge ${VERSION} for zsh: edge completion zsh
_edge() {
  local -a list
  if (( CURRENT == 2 )); then
${described(commands.map(({ name, summary }) => [name, summary]))}
    return
  fi
  case $words[2] in
${commands.map(zshCommand).join("\n")}
  esac
}

if [[ $funcstack[1] == _edge ]]; then
  _edge "$@"
else
  compdef _edge edge
fi
`;
}

function described(rows: readonly (readonly [word: string, summary: string])[]): string {
  const list = rows.map(([word, summary]) => `      ${quoted(`${escaped(word)}:${escaped(summary)}`)}`);
  return `    list=(\n${list.join("\n")}\n    )\n    _describe -t commands command list`;
}

function zshCommand(command: ListedCommand): string {
  const [spec] = command.specs;
  if (commandWords(command, spec!).length === 1) return zshSpec(command.name, 1, spec!);
  const rows = command.specs.map((one) => [commandWords(command, one)[1]!, one.summary] as const);
  return `  ${command.name})
    if (( CURRENT == 3 )); then
${described(rows)}
    return
    fi
    case $words[3] in
${command.specs.map((one) => zshSpec(commandWords(command, one)[1]!, 2, one)).join("\n")}
    esac
    ;;`;
}

/** @param depth how many words after `edge` lead to it */
function zshSpec(word: string, depth: number, entry: ListedSpec): string {
  const lines = [
    ...entry.flags.flatMap(flagLines),
    quoted("(- *)-h[show this text]"),
    quoted("(- *)--help[show this text]"),
  ];
  if (entry.operands !== undefined) {
    const { first, others } = operandsOf(entry);
    const usage = escaped(entry.operands.usage);
    if (entry.operands.words !== undefined) lines.push(quoted(`1:${usage}:${action(first)}`));
    lines.push(quoted(`*:${usage}:${action(others)}`));
  }
  return `  ${word})
    shift ${depth} words
    (( CURRENT -= ${depth} ))
    _arguments \\
      ${lines.join(" \\\n      ")}
    ;;`;
}

/** The last of a repeated flag wins, and some are collected: each may come again. */
function flagLines(flag: FlagSpec): string[] {
  const values = choicesOf(flag);
  const [equals, value] =
    values.kind === "none" ? ["", ""] : ["=", `:${escaped(flag.placeholder ?? flag.name)}:${action(values)}`];
  const names = flag.alias === undefined ? [flag.name] : [flag.name, flag.alias];
  return names.map((name) => quoted(`*${dashed(name)}${equals}[${escaped(flag.help)}]${value}`));
}

function action(values: CommandValues): string {
  if (values.kind === "words") return `(${values.words.join(" ")})`;
  return { files: "_files", folders: "_files -/", text: " ", none: " " }[values.kind];
}

function escaped(text: string): string {
  return text.replace(/[\\:[\]]/g, "\\$&");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
