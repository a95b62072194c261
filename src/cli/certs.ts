import { existsSync } from "node:fs";
import { formatFault } from "../config/config-fault.ts";
import type { DirectoryStorage } from "../features/acme/control/certificate-storage.ts";
import { AcmeStore, listStore, type StoreEntry } from "../features/acme/control/certificate-store.ts";
import { dueAt, RENEW_NOW } from "../features/acme/control/renewal-rule.ts";
import type { StoredCertificate } from "../features/acme/control/stored-certificate.ts";
import type { AcmeConfig } from "../features/acme/settings.ts";
import { loadConfig } from "../loading/load-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { CONFIG_FLAG } from "./config-flags.ts";
import { startCommand } from "./flags.ts";
import { moreOf } from "./help/more.ts";

/** The command as `edge help certs` shows it. */
export const certsCommand = {
  name: "edge certs",
  page: "acme.md#the-store",
  summary:
    "Lists the certificates obtained by ACME, from cache_dir or the storage that gateways share: names, expiry, next renewal; renews or revokes them.",
  flags: [
    CONFIG_FLAG,
    { name: "dir", type: "string", default: "", placeholder: "DIR", help: "a folder instead of the configured one" },
    {
      name: "reason",
      type: "int",
      default: 0,
      min: 0,
      max: 10,
      help: "revocation reason: 1 key compromised, 4 superseded, 5 no longer used",
    },
  ],
  operands: {
    usage: "[list | renew NAME | revoke NAME | rollover | copy | export]",
    min: 0,
    max: 2,
    words: ["list", "renew", "revoke", "rollover", "copy", "export"],
  },
  notes: [
    "renew NAME marks the certificate of a name: the gateway renews it at the next SIGHUP, or within the hour.",
    "revoke NAME tells the authority that the certificate is void, and marks it in the same way.",
    "rollover gives the account at each configured directory another key.",
    "copy puts the certificates of cache_dir, or of --dir, into your server.acme.storage, if that has nothing for the names.",
    "export writes the certificates of that storage into the files of --dir, as storage: file has them, with keys in the clear.",
    "With such a storage all gateways renew marked certificates within seconds.",
    "Exit codes: 0 all are valid, 1 one is broken or expired, or the configuration or folder cannot be read, 2 wrong usage.",
  ],
} as const;

/** `edge certs`: looks at where certificates are kept, without a running gateway. docs/acme.md#the-store */
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
  if (action === "export" && ownDir === "") {
    io.err("edge certs: export needs --dir, the folder for the files\n");
    return ExitCode.Usage;
  }
  if (ownDir !== "" && !existsSync(ownDir) && action !== "export") {
    io.err(`edge certs: ${ownDir}: no such folder\n`);
    return ExitCode.Failure;
  }
  const needsConfig = ownDir === "" || ["revoke", "rollover", "copy", "export"].includes(action);
  const settings = needsConfig ? configured(config, io) : null;
  if (needsConfig && settings === null) return ExitCode.Failure;
  const place = await placeOf(settings, { ownDir, isCopy: action === "copy" || action === "export" });
  try {
    return await runAction({ action, name, reason }, { place, settings, io, nowMs });
  } catch (error) {
    io.err(`edge certs: ${place.label}: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  } finally {
    await place.close();
  }
}

/** What an action works with. */
interface CertsPorts {
  readonly place: CertificatePlace;
  /** Null with a folder of one's own, if nothing is asked of a directory. */
  readonly settings: RuntimeConfig | null;
  readonly io: CommandIo;
  readonly nowMs: number;
}

async function runAction(
  { action, name, reason }: { readonly action: string; readonly name: string; readonly reason: number },
  { place, settings, io, nowMs }: CertsPorts,
): Promise<number> {
  const acme = settings?.server.acme;
  if (action === "rollover") return rollOver(acme!, place, io);
  if (action === "copy") return copy(acme!, place, io);
  if (action === "export") return exportFiles(acme!, place, io);
  const entries = await place.entries();
  if (action === "list") return list(entries, place.label, io, nowMs);
  const chosen = entries.filter(({ record }) => record?.names.includes(name.toLowerCase()));
  if (chosen.length === 0) {
    io.err(`edge certs: ${place.label} holds no certificate for ${name}; "edge certs" lists all of them\n`);
    return ExitCode.Failure;
  }
  return action === "renew" ? renew(chosen, place, io) : revoke(chosen, acme!, place, { reason, io });
}

/** Where certificates are. */
interface CertificatePlace {
  readonly label: string;
  /** Whether other gateways have it, too. */
  readonly isShared: boolean;
  /** Where files of before are. */
  readonly dir: string;
  /** @throws if they cannot be examined */
  entries(): Promise<readonly StoreEntry[]>;
  at(directoryUrl: string): DirectoryStorage;
  close(): Promise<void>;
}

async function placeOf(
  config: RuntimeConfig | null,
  { ownDir, isCopy }: { readonly ownDir: string; readonly isCopy: boolean },
): Promise<CertificatePlace> {
  const dir = ownDir || config!.server.acme.cacheDir;
  if (config === null || config.server.acme.storage === "file" || (ownDir !== "" && !isCopy)) {
    return {
      label: dir,
      isShared: false,
      dir,
      // A configured folder is made by the first certificate.
      entries: async () => listStore(dir),
      at: (directoryUrl) => new AcmeStore(dir, directoryUrl),
      close: () => Promise.resolve(),
    };
  }
  const { FleetCertificates } = await import("../features/acme/control/fleet-certificates.ts");
  const { openFleetStore } = await import("../features/fleet/control/fleet.ts");
  const { server, cluster } = config;
  const fleet = new FleetCertificates(
    { cluster, server: { acme: { ...server.acme, cacheDir: dir } } },
    {
      event: () => {},
      showChallenges: () => Promise.resolve(),
      openStore: openFleetStore,
    },
  );
  return {
    label: server.acme.storage,
    isShared: true,
    dir,
    entries: () => fleet.storage.entries(),
    at: (directoryUrl) => fleet.at(directoryUrl),
    close: () => fleet.close(),
  };
}

/** What the gateway does by itself at its start, name by name: takes in what `cache_dir` has and the storage has not. */
async function copy(acme: AcmeConfig, place: CertificatePlace, io: CommandIo): Promise<number> {
  if (!place.isShared) {
    io.err("edge certs: server.acme.storage is file: there is nothing to copy to\n");
    return ExitCode.Failure;
  }
  let code: number = ExitCode.Done;
  const there = new Set(
    (await place.entries()).map(({ found }) => (typeof found === "string" ? "" : found.fingerprint)),
  );
  for (const url of directoriesOf(acme)) await place.at(url).account();
  const entries = listStore(place.dir);
  for (const { file, found, record } of entries) {
    const names = record?.names;
    if (typeof found === "string" || names === undefined) {
      io.err(
        `edge certs: ${file} ${names === undefined ? "has no record of its names" : "is broken"}: it is left out\n`,
      );
      code = ExitCode.Failure;
      continue;
    }
    const kept = await place.at(record!.storedFor ?? record!.directoryUrl).load(names);
    const isNew = kept?.fingerprint === found.fingerprint && !there.has(found.fingerprint);
    io.out(isNew ? `${file} is copied.\n` : `${file}: there is a certificate for these names already.\n`);
  }
  if (entries.length === 0) io.out(`${place.dir} holds no certificates.\n`);
  return code;
}

/** The way back: files, as `storage: file` has them. */
async function exportFiles(acme: AcmeConfig, place: CertificatePlace, io: CommandIo): Promise<number> {
  if (!place.isShared) {
    io.err("edge certs: server.acme.storage is file: what there is are files already\n");
    return ExitCode.Failure;
  }
  let code: number = ExitCode.Done;
  const filesOf = (url: string): AcmeStore => {
    const files = new AcmeStore(place.dir, url);
    files.open();
    return files;
  };
  for (const url of directoriesOf(acme)) {
    const account = await place.at(url).account();
    if (account !== null) filesOf(url).saveAccount(account);
  }
  for (const { file, found, record } of await place.entries()) {
    if (typeof found === "string" || record === null) {
      io.err(`edge certs: ${file}: ${found}\n`);
      code = ExitCode.Failure;
      continue;
    }
    const files = filesOf(record.storedFor ?? record.directoryUrl);
    files.save(record.names, found, found.directoryUrl);
    files.saveRecord(record.names, found);
    io.out(`${file} is written to ${place.dir}.\n`);
  }
  return code;
}

function configured(configPath: string, io: CommandIo): RuntimeConfig | null {
  const result = loadConfig({
    configPath: configPath || null,
    routesPath: null,
    cwd: process.cwd(),
    env: process.env,
  });
  if (result.ok) return result.config;
  for (const fault of result.faults) io.err(`${formatFault(fault)}\n`);
  io.err(moreOf(result.faults));
  return null;
}

function list(entries: readonly StoreEntry[], dir: string, io: CommandIo, nowMs: number): number {
  if (entries.length === 0) io.out(`${dir} holds no certificates.\n`);
  else io.out(table([HEADINGS, ...entries.map((entry) => row(entry, nowMs))]));
  return entries.every((entry) => isGood(entry, nowMs)) ? ExitCode.Done : ExitCode.Failure;
}

async function renew(chosen: readonly StoreEntry[], place: CertificatePlace, io: CommandIo): Promise<number> {
  let code: number = ExitCode.Done;
  for (const { file, found, record } of chosen) {
    if (typeof found === "string" || !found.isOurs) {
      io.err(`edge certs: ${file} was not obtained by this gateway, or is broken: it cannot be marked\n`);
      code = ExitCode.Failure;
      continue;
    }
    await mark({ found, record }, place);
    io.out(`${file} is marked: the gateway renews it ${soon(place)}.\n`);
  }
  return code;
}

async function revoke(
  chosen: readonly StoreEntry[],
  { email, eabKid, eabHmacKey, caFile }: AcmeConfig,
  place: CertificatePlace,
  { reason, io }: { readonly reason: number; readonly io: CommandIo },
): Promise<number> {
  await import("reflect-metadata");
  const { authorityAt } = await import("../features/acme/control/renewal-maker.ts");
  let code: number = ExitCode.Done;
  for (const { file, found, record } of chosen) {
    try {
      if (typeof found === "string") throw new Error(found);
      const account = await place.at(found.directoryUrl).account();
      if (!found.isOurs || account === null) throw new Error("there is no account that it was obtained with");
      const authority = authorityAt(found.directoryUrl, { email, eabKid, eabHmacKey, caFile });
      await authority.revoke(account, found.chain, reason);
      await mark({ found, record }, place);
      io.out(`${file} is revoked: the gateway obtains another one ${soon(place)}.\n`);
    } catch (error) {
      io.err(`edge certs: ${file}: ${errorReason(error)}\n`);
      code = ExitCode.Failure;
    }
  }
  return code;
}

function soon({ isShared }: CertificatePlace): string {
  return isShared ? "within seconds" : "at the next SIGHUP, or within the hour";
}

async function mark(
  { found, record }: Pick<StoreEntry, "record"> & { readonly found: StoredCertificate },
  place: CertificatePlace,
): Promise<void> {
  const { names, storedFor, directoryUrl } = record!;
  await place.at(storedFor ?? directoryUrl).saveRecord(names, { ...found, renewAtMs: RENEW_NOW });
}

/** A new key for each account. The new one is stored before the directory knows of it. */
async function rollOver(acme: AcmeConfig, place: CertificatePlace, io: CommandIo): Promise<number> {
  await import("reflect-metadata");
  const { authorityAt } = await import("../features/acme/control/renewal-maker.ts");
  const { newPrivateKey } = await import("../features/acme/control/own-certificate.ts");
  let code: number = ExitCode.Done;
  for (const url of directoriesOf(acme)) {
    try {
      const store = place.at(url);
      const account = await store.account();
      if (account === null) continue;
      const key = await newPrivateKey();
      await store.saveNextKey(key);
      await authorityAt(url, acme).rollOver(account, key);
      await store.replaceAccount({ ...account, key });
      io.out(`The account at ${url} has a new key.\n`);
    } catch (error) {
      io.err(`edge certs: ${url}: ${errorReason(error)}\n`);
      code = ExitCode.Failure;
    }
  }
  return code;
}

function directoriesOf({ directoryUrl, fallbackDirectoryUrls, orders }: AcmeConfig): ReadonlySet<string> {
  return new Set([directoryUrl, ...fallbackDirectoryUrls, ...orders.flatMap(({ directoryUrls }) => directoryUrls)]);
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
