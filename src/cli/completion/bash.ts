import { VERSION } from "../../core/version.ts";
import { dashed } from "../flags.ts";
import {
  type CommandValues,
  choicesOf,
  commandWords,
  type ListedCommand,
  type ListedSpec,
  operandsOf,
} from "../listed-command.ts";

/**
 * The completion for bash 4 or later, with no other script. bash takes `=` for a word of its own (COMP_WORDBREAKS), so that
 * `--flag=value` comes as three. docs/tools.md#completion
 */
export function bashScript(commands: readonly ListedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const groups = commands.filter((command) => command.specs.some((spec) => commandWords(command, spec).length > 1));
  const leaves = commands.flatMap((command) =>
    command.specs.map((spec) => ({ words: commandWords(command, spec).join(" "), spec })),
  );
  return `# Completion of edge ${VERSION} for bash: edge completion bash
${HELPERS}
_edge() {
  COMPREPLY=()
  local cur=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]-} at=2
  local flags= valued= first= others= flag= equals= operands=0 i word
  if ((COMP_CWORD == 1)); then
    _edge_words '${names}'
    return
  fi
  case $command in
${groups.map(bashGroup).join("\n")}
  esac
  case $command in
${leaves.map(({ words, spec }) => bashSpec(words, spec)).join("\n")}
    *) return ;;
  esac
${WHERE}
    case "$command $flag" in
${leaves.flatMap(({ words, spec }) => bashFlags(words, spec)).join("\n")}
    esac
    return
  fi
  [[ $cur == -[!-]* ]] && flags=\${flags//--/-}
  if [[ $cur == -* ]]; then
    _edge_words "$flags"
  elif ((operands == 0)); then
    _edge_values "$first"
  else
    _edge_values "$others"
  fi
}

complete -F _edge edge
`;
}

const HELPERS = `_edge_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# What one of several kinds is completed with: words, files, folders or nothing.
_edge_values() {
  case $1 in
    @files) compopt -o default ;;
    @folders) compopt -o dirnames ;;
    *) _edge_words "$1" ;;
  esac
}
`;

/** Which word is being typed: a flag's value, or an operand and how many there are before it. */
const WHERE = `  for ((i = at; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $flag && $word == = ]]; then
      equals=yes
    elif [[ -n $equals || ( -n $flag && $valued == *" $flag "* ) ]]; then
      flag= equals=
    elif [[ $word == -?* ]]; then
      flag=\${word#-} flag=\${flag#-}
    else
      flag=
      operands=$((operands + 1))
    fi
  done
  if [[ $cur == = ]]; then
    cur= equals=yes
  fi
  if [[ -n $equals || ( -n $flag && $valued == *" $flag "* ) ]]; then`;

function bashGroup(command: ListedCommand): string {
  const words = command.specs.map((spec) => commandWords(command, spec)[1]).join(" ");
  return `    ${command.name})
      if ((COMP_CWORD == 2)); then
        _edge_words '${words}'
        return
      fi
      command+=" \${COMP_WORDS[2]}" at=3
      ;;`;
}

function bashSpec(words: string, entry: ListedSpec): string {
  const names = entry.flags.flatMap(({ name, alias = "" }) => (alias === "" ? [name] : [name, alias]));
  const valued = entry.flags
    .filter(({ type }) => type !== "bool")
    .flatMap(({ name, alias = "" }) => (alias === "" ? [name] : [name, alias]));
  const { first, others } = operandsOf(entry);
  // If nothing else can come, the flags are shown without a dash typed.
  const atFirst = entry.operands === undefined ? "$flags" : bashValues(first);
  return `    ${quoted(words)})
      flags='${[...names, "help", "h"].map(dashed).join(" ")}' valued=' ${valued.join(" ")} '
      first="${atFirst}" others="${entry.operands === undefined ? "$flags" : bashValues(others)}"
      ;;`;
}

function bashFlags(words: string, entry: ListedSpec): string[] {
  return entry.flags.flatMap((flag) => {
    const values = choicesOf(flag);
    const completed = values.kind === "none" ? "true false" : bashValues(values);
    if (completed === "") return [];
    const names = flag.alias === undefined ? [flag.name] : [flag.name, flag.alias];
    return [`      ${names.map((name) => quoted(`${words} ${name}`)).join(" | ")}) _edge_values '${completed}' ;;`];
  });
}

function bashValues(values: CommandValues): string {
  if (values.kind === "words") return values.words.join(" ");
  return values.kind === "files" || values.kind === "folders" ? `@${values.kind}` : "";
}

function quoted(words: string): string {
  return words.includes(" ") ? `'${words}'` : words;
}
