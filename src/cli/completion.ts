import { type CommandIo, ExitCode } from "./command-io.ts";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";
import { startCommand } from "./flags.ts";
import { commandWords, type ListedCommand } from "./listed-command.ts";

/** The command as `edge help completion` shows it. */
export const completionCommand = {
  name: "edge completion",
  page: "tools.md#completion",
  summary: "Prints a script by which a shell completes commands, flags, their words and the names of files.",
  operands: { usage: "bash|zsh|fish", min: 1, max: 1, words: ["bash", "zsh", "fish"] },
  flags: [],
  notes: [
    "For one user:",
    "  edge completion bash > ~/.local/share/bash-completion/completions/edge",
    '  edge completion zsh > "${fpath[1]}/_edge"',
    "  edge completion fish > ~/.config/fish/completions/edge.fish",
    "For this shell alone:",
    "  source <(edge completion bash)",
  ],
} as const;

/** `edge completion SHELL`. docs/tools.md#completion @param list gives all commands */
export async function runCompletion(
  args: readonly string[],
  io: CommandIo,
  list: () => Promise<readonly ListedCommand[]>,
): Promise<number> {
  const call = startCommand(completionCommand, args, io);
  if (typeof call === "number") return call;
  const shell = call.operands[0] as keyof typeof SCRIPTS;
  io.out(SCRIPTS[shell]((await list()).map(completed)));
  return ExitCode.Done;
}

/** A command as shells complete it: with flags of its own, or with words below it that have flags, not both. */
function completed(command: ListedCommand): ListedCommand {
  const own = command.specs.find((spec) => commandWords(command, spec).length === 1);
  return own === undefined ? command : { ...command, specs: [own] };
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
