import { existsSync, rmSync } from "node:fs";
import { formatFault } from "../config/config-fault.ts";
import { loadConfig } from "../config/load-config.ts";
import type { AcmeConfig } from "../config/runtime-config.ts";
import { AcmeStore, listStore, type StoredCertificate, type StoreEntry } from "../features/acme/certificate-store.ts";
import { dueAt, RENEW_NOW } from "../features/acme/renewal-rule.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { reasonOf } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAG } from "./config-flags.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help certs` shows it. */
export const certsCommand = {
  name: "edge certs",
  summary:
    "Lists the certificates obtained by ACME, from cache_dir: names, expiry, next renewal; renews or revokes them.",
  flags: [
    CONFIG_FLAG,
    { name: "dir", type: "string", default: "", placeholder: "DIR", help: "a folder instead of the configured one" },
    {
      name: "reason",
      type: "int",
      default: 0,
      min: 0,
      max: 10,
      help: "of revoke: 1 the key is known to others, 4 replaced, 5 no longer used",
    },
  ],
  operands: {
    usage: "[list | renew NAME | revoke NAME | rollover]",
    min: 0,
    max: 2,
    words: ["list", "renew", "revoke", "rollover"],
  },
  notes: [
    "renew NAME marks what is for the name: the gateway renews it at the next SIGHUP, or within the hour.",
    "revoke NAME tells the authority that the certificate is void, and marks it in the same way.",
    "rollover gives the account at each configured directory another key.",
    "Exit codes: 0 all are valid, 1 one is broken or expired, or the configuration or folder cannot be read, 2 wrong usage.",
  ],
} as const;

/** `edge certs`: looks at `cache_dir` without a running gateway. docs/acme.md#the-store */
export async function runCerts(args: readonly string[], io: CommandIo, nowMs: number = Date.now()): Promise<number> {
  const call = startCommand(certsCommand, args, io);
  if (typeof call === "number") return call;
  const { dir: ownDir, config, reason } = call.values;
  const [action = "list", name = ""] = call.operands;
  const needsName = action === "renew" || action === "revoke";
  if (needsName === (name === "")) {
    io.err(`edge certs: expected ${certsCommand.operands.usage}\nTry "edge certs --help".\n`);
    return ExitCode.Usage;
  }
  if (ownDir !== "" && !existsSync(ownDir)) {
    io.err(`edge certs: ${ownDir}: no such folder\n`);
    return ExitCode.Failure;
  }
  const needsConfig = ownDir === "" || action === "revoke" || action === "rollover";
  const acme = needsConfig ? configured(config, io) : null;
  if (needsConfig && acme === null) return ExitCode.Failure;
  const dir = ownDir || acme!.cacheDir;
  if (action === "rollover") return rollOver({ ...acme!, cacheDir: dir }, io);
  const entries = entriesOf(dir);
  if (typeof entries === "string") {
    io.err(`edge certs: ${dir}: ${entries}\n`);
    return ExitCode.Failure;
  }
  if (action === "list") return list(entries, dir, io, nowMs);
  const chosen = entries.filter(({ record }) => record?.names.includes(name.toLowerCase()));
  if (chosen.length === 0) {
    io.err(`edge certs: ${dir} holds no certificate for ${name}; "edge certs" lists those that are there\n`);
    return ExitCode.Failure;
  }
  return action === "renew" ? renew(chosen, dir, io) : revoke(chosen, { ...acme!, cacheDir: dir }, reason, io);
}

function configured(configPath: string, io: CommandIo): AcmeConfig | null {
  const result = loadConfig({
    configPath: configPath || null,
    routesPath: null,
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: [],
    routeFormat: ROUTE_FORMAT,
  });
  if (result.ok) return result.config.server.acme;
  for (const fault of result.faults) io.err(`${formatFault(fault)}\n`);
  return null;
}

function list(entries: readonly StoreEntry[], dir: string, io: CommandIo, nowMs: number): number {
  if (entries.length === 0) io.out(`${dir} holds no certificates.\n`);
  else io.out(table([HEADINGS, ...entries.map((entry) => row(entry, nowMs))]));
  return entries.every((entry) => isGood(entry, nowMs)) ? ExitCode.Done : ExitCode.Failure;
}

function renew(chosen: readonly StoreEntry[], dir: string, io: CommandIo): number {
  let code: number = ExitCode.Done;
  for (const { file, found, record } of chosen) {
    if (typeof found === "string" || !found.isOurs) {
      io.err(`edge certs: ${file} was not obtained by this gateway, or is broken: it cannot be marked\n`);
      code = ExitCode.Failure;
      continue;
    }
    mark({ found, record }, dir);
    io.out(`${file} is marked: the gateway renews it at the next SIGHUP, or within the hour.\n`);
  }
  return code;
}

async function revoke(
  chosen: readonly StoreEntry[],
  { cacheDir, email, eabKid, eabHmacKey, caFile }: AcmeConfig,
  reason: number,
  io: CommandIo,
): Promise<number> {
  const { authorityAt } = await import("../app/acme-renewal.ts");
  let code: number = ExitCode.Done;
  for (const { file, found, record } of chosen) {
    try {
      if (typeof found === "string") throw new Error(found);
      const account = new AcmeStore(cacheDir, found.directoryUrl).account();
      if (!found.isOurs || account === null) throw new Error("cache_dir has no account that it was obtained with");
      const authority = authorityAt(found.directoryUrl, { email, eabKid, eabHmacKey, caFile });
      await authority.revoke(account, found.chain, reason);
      mark({ found, record }, cacheDir);
      io.out(`${file} is revoked: the gateway obtains another one at the next SIGHUP, or within the hour.\n`);
    } catch (error) {
      io.err(`edge certs: ${file}: ${reasonOf(error)}\n`);
      code = ExitCode.Failure;
    }
  }
  return code;
}

function mark(
  { found, record }: Pick<StoreEntry, "record"> & { readonly found: StoredCertificate },
  dir: string,
): void {
  const { names, storedFor, directoryUrl } = record!;
  new AcmeStore(dir, storedFor ?? directoryUrl).saveRecord(names, { ...found, renewAtMs: RENEW_NOW });
}

/** A new key for each account. The new one is on disk before the directory knows of it. */
async function rollOver({ cacheDir, orders, ...access }: AcmeConfig, io: CommandIo): Promise<number> {
  const { authorityAt, newPrivateKey } = await import("../app/acme-renewal.ts");
  const own = [access.directoryUrl, ...access.fallbackDirectoryUrls];
  let code: number = ExitCode.Done;
  for (const url of new Set([...own, ...orders.flatMap(({ directoryUrls }) => directoryUrls)])) {
    const store = new AcmeStore(cacheDir, url);
    try {
      const account = store.account();
      if (account === null) continue;
      const key = await newPrivateKey();
      const next = store.saveNextKey(key);
      await authorityAt(url, access).rollOver(account, key);
      store.saveAccount({ ...account, key });
      rmSync(next, { force: true });
      io.out(`The account at ${url} has a new key.\n`);
    } catch (error) {
      io.err(`edge certs: ${url}: ${reasonOf(error)}\n`);
      code = ExitCode.Failure;
    }
  }
  return code;
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
