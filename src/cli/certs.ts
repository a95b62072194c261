import { existsSync } from "node:fs";
import { formatFault } from "../config/config-fault.ts";
import { loadConfig } from "../config/load-config.ts";
import { listStore, type StoreEntry } from "../features/acme/certificate-store.ts";
import { dueAt } from "../features/acme/renewal-rule.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { reasonOf } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAG } from "./config-flags.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help certs` shows it. */
export const certsCommand = {
  name: "edge certs",
  summary: "Lists the certificates obtained by ACME, from cache_dir: names, expiry, next renewal.",
  flags: [
    CONFIG_FLAG,
    { name: "dir", type: "string", default: "", placeholder: "DIR", help: "a folder instead of the configured one" },
  ],
  notes: [
    "Exit codes: 0 all are valid, 1 one is broken or expired, or the configuration or folder cannot be read, 2 wrong usage.",
  ],
} as const;

/** `edge certs`: looks at `cache_dir` without a running gateway and without the network. docs/acme.md#the-store */
export function runCerts(args: readonly string[], io: CommandIo, nowMs: number = Date.now()): number {
  const call = startCommand(certsCommand, args, io);
  if (typeof call === "number") return call;
  if (call.values.dir !== "" && !existsSync(call.values.dir)) {
    io.err(`edge certs: ${call.values.dir}: no such folder\n`);
    return ExitCode.Failure;
  }
  const dir = call.values.dir || configuredDir(call.values.config, io);
  if (dir === null) return ExitCode.Failure;
  const entries = entriesOf(dir);
  if (typeof entries === "string") {
    io.err(`edge certs: ${dir}: ${entries}\n`);
    return ExitCode.Failure;
  }
  if (entries.length === 0) io.out(`${dir} holds no certificates.\n`);
  else io.out(table([HEADINGS, ...entries.map((entry) => row(entry, nowMs))]));
  return entries.every((entry) => isGood(entry, nowMs)) ? ExitCode.Done : ExitCode.Failure;
}

function configuredDir(configPath: string, io: CommandIo): string | null {
  const result = loadConfig({
    configPath: configPath || null,
    routesPath: null,
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: [],
    routeFormat: ROUTE_FORMAT,
  });
  if (result.ok) return result.config.server.acme.cacheDir;
  for (const fault of result.faults) io.err(`${formatFault(fault)}\n`);
  return null;
}

/** What is in the folder, or why it cannot be looked at. A configured one is made by the first certificate. */
function entriesOf(dir: string): readonly StoreEntry[] | string {
  try {
    return listStore(dir);
  } catch (error) {
    return reasonOf(error);
  }
}

function isGood({ found }: StoreEntry, nowMs: number): boolean {
  return typeof found !== "string" && found.notAfterMs > nowMs;
}

function row({ file, found, record }: StoreEntry, nowMs: number): readonly string[] {
  const names = record?.names.join(", ") ?? "?";
  if (typeof found === "string") return [names, "broken", "at the next start", `${file}: ${found}`];
  const due = dueAt(found, found.renewAtMs);
  const renewal = due <= nowMs ? "due" : `${when(due)}${found.renewAtMs === null ? "" : " (as the directory asks)"}`;
  const expiry = `${when(found.notAfterMs)}${found.notAfterMs <= nowMs ? " (expired)" : ""}`;
  return [names, expiry, renewal, file];
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join("  ")
      .trimEnd();
  return `${rows.map(line).join("\n")}\n`;
}

function when(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

const HEADINGS = ["NAMES", "EXPIRES (UTC)", "RENEWAL (UTC)", "FILE"];
