import type { CommandSpec, FlagSpec } from "./flags.ts";

/** The help of a command: what it does, how it is called, each flag with its default. */
export function helpText(command: CommandSpec<readonly FlagSpec[]>): string {
  const usage = [command.name, "[flags]", command.operands?.usage ?? ""].filter((part) => part !== "").join(" ");
  const rows = command.flags.map((flag) => [heading(flag), `${flag.help}${defaultNote(flag)}`] as const);
  rows.push(["-h, --help", "show this text"]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = [command.summary, "", `Usage: ${usage}`, "", "Flags:"];
  for (const [name, help] of rows) lines.push(`  ${name.padEnd(width)}  ${help}`);
  if (command.notes !== undefined) lines.push("", ...command.notes);
  return `${lines.join("\n")}\n`;
}

/** A flag's name as help and messages show it: one dash before a letter, two before a word. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

function heading(flag: FlagSpec): string {
  const value = flag.type === "bool" ? "" : ` ${flag.placeholder ?? PLACEHOLDERS[flag.type]}`;
  const names = flag.alias === undefined ? [flag.name] : [flag.name, flag.alias].sort((a, b) => a.length - b.length);
  return names.map(dashed).join(", ") + value;
}

function defaultNote(flag: FlagSpec): string {
  return flag.default === "" || flag.default === false ? "" : ` (default ${flag.default})`;
}

const PLACEHOLDERS = { string: "TEXT", int: "N", float: "X", duration: "TIME" } as const;
