import { readFileSync } from "node:fs";
import { importCrsExclusions } from "../features/waf/crs-exclusions.ts";
import {
  type Learned,
  type LearnedExclusion,
  type LearnedLine,
  learnExclusions,
} from "../features/waf/learned-exclusions.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";

export const wafLearnCommand = {
  name: "edge waf learn",
  page: "waf.md#learning",
  summary:
    "Writes exclusions from a day of detection: what several ordinary clients do, smallest first, with the reason of each.",
  operands: { usage: "access|incidents LOG...", min: 2, max: 1000, words: ["access", "incidents"] },
  flags: [
    {
      name: "min-clients",
      type: "int",
      default: 3,
      min: 1,
      max: 1_000_000,
      help: "clients that must have had the same find",
    },
    {
      name: "scanner-families",
      type: "int",
      default: 3,
      min: 2,
      max: 100,
      help: "clients that match this many rule families are ignored as scanners",
    },
  ],
  notes: [
    "LOG is the log of the gateway (JSON lines), or the body of /internal/api/security/incidents.",
    "incidents: every find counts. access: only if the access log has a status below 400 for the request.",
    "",
    "Exit codes: 0 done, 1 a file cannot be read, 2 wrong usage.",
  ],
} as const;

export const wafImportCommand = {
  name: "edge waf import",
  page: "waf.md#from-the-core-rule-set",
  summary: "Writes exclusions from SecRuleRemoveById and SecRuleUpdateTargetById of a file for ModSecurity or Coraza.",
  operands: { usage: "FILE", min: 1, max: 1 },
  flags: [],
  notes: ["Numbers without a counterpart and other directives are named as comments."],
} as const;

/** `edge waf learn`. docs/waf.md#learning */
export function runWafLearn(args: readonly string[], io: CommandIo): number {
  const call = startCommand(wafLearnCommand, args, io);
  if (typeof call === "number") return call;
  const [kind = "", ...files] = call.operands;
  const lines: LearnedLine[] = [];
  for (const file of files) {
    const text = read(file, io, wafLearnCommand.name);
    if (text === null) return ExitCode.Failure;
    for (const line of linesOf(text)) lines.push(line);
  }
  const limits = { minClients: call.values["min-clients"], scannerFamilies: call.values["scanner-families"] };
  io.out(learnedYaml(learnExclusions(lines, limits, kind === "access"), limits.minClients));
  return ExitCode.Done;
}

/** `edge waf import`. docs/waf.md#from-the-core-rule-set */
export function runWafImport(args: readonly string[], io: CommandIo): number {
  const call = startCommand(wafImportCommand, args, io);
  if (typeof call === "number") return call;
  const text = read(call.operands[0]!, io, wafImportCommand.name);
  if (text === null) return ExitCode.Failure;
  const { disabled, exclusions, unknown, ignored } = importCrsExclusions(text);
  const lines = ["server:", "  waf:", `    disabled_rules:${disabled.length === 0 ? " []" : ""}`];
  for (const [number, ids] of disabled) lines.push(`      - ${number} # ${ids.join(", ")}`);
  lines.push(`    exclusions:${exclusions.length === 0 ? " []" : ""}`);
  for (const { rule, param } of exclusions) lines.push(`      - {rule: ${rule}, param: ${JSON.stringify(param)}}`);
  for (const number of unknown) lines.push(`# ${number}: no rule here has it for its main counterpart`);
  for (const line of ignored) lines.push(`# line ${line.replace(/[^\x20-\x7e]/g, "?")}: not imported`);
  io.out(`${lines.join("\n")}\n`);
  return ExitCode.Done;
}

function read(file: string, io: CommandIo, command: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    io.err(`${command}: cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? "error"}\n`);
    return null;
  }
}

/** Lines of JSON, others left out; or the incidents of the endpoint. */
function linesOf(text: string): LearnedLine[] {
  const whole = parsed(text) as { incidents?: unknown } | null;
  if (Array.isArray(whole?.incidents)) return whole.incidents.filter(isObject);
  return text.split("\n").map(parsed).filter(isObject);
}

function parsed(text: string): unknown {
  try {
    return text.startsWith("{") ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is LearnedLine {
  return typeof value === "object" && value !== null;
}

function learnedYaml(learned: Learned, minClients: number): string {
  const { exclusions, hits, clients, scanners, refused, rare } = learned;
  const lines = [
    `# ${hits} finds of ${clients} clients. Left out: ${scanners} clients that look like scanners, ${rare} places with fewer than ${minClients} clients${refused > 0 ? `, ${refused} requests that the application refused or that have no line in the access log` : ""}.`,
    "server:",
    "  waf:",
    `    exclusions:${exclusions.length === 0 ? " []" : ""}`,
    ...exclusions.map(exclusionLine),
  ];
  return `${lines.join("\n")}\n`;
}

function exclusionLine({ rule, path, param, requests, clients }: LearnedExclusion): string {
  const parts = [`rule: ${rule}`];
  if (path !== "" && path !== "/") parts.push(`path: ${JSON.stringify(path)}`);
  if (param !== "") parts.push(`param: ${JSON.stringify(param)}`);
  return `      - {${parts.join(", ")}} # ${requests} requests of ${clients} clients`;
}
