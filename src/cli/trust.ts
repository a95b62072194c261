import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stateFolderOf } from "../config/state-folder.ts";
import { messageOf } from "../core/error-text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help trust` shows it. */
export const trustCommand = {
  name: "edge trust",
  page: "tls.md#a-local-authority",
  summary:
    "Makes this machine trust the local authority of tls.internal: installs its root in the store of the system.",
  flags: [
    {
      name: "dir",
      type: "string",
      default: "",
      placeholder: "DIR",
      help: "the state folder of the gateway; $STATE_DIRECTORY or .edge-state by default",
    },
    { name: "print", type: "bool", default: false, help: "print the root in PEM, and install nothing" },
    { name: "uninstall", type: "bool", default: false, help: "remove the root from the store" },
    {
      name: "root",
      type: "string",
      default: "",
      placeholder: "DIR",
      help: "the root folder of another system, such as an image; its certificates are not rebuilt",
    },
  ],
  notes: [
    "The authority is made if the folder has none. Debian, Ubuntu, Fedora and their kin are supported; elsewhere use --print.",
    "Exit codes: 0 done, 1 the store cannot be written or is not known, 2 wrong usage.",
  ],
} as const;

/** A store of a system: a folder for roots, and the program that reads it. */
interface TrustStore {
  readonly folder: string;
  readonly ending: string;
  readonly update: string;
}

const STORES: readonly TrustStore[] = [
  { folder: "usr/local/share/ca-certificates", ending: "crt", update: "update-ca-certificates" },
  { folder: "etc/pki/ca-trust/source/anchors", ending: "pem", update: "update-ca-trust" },
];

/** `edge trust`. docs/tls.md#a-local-authority */
export async function runTrust(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(trustCommand, args, io);
  if (typeof call === "number") return call;
  const { dir, print, uninstall, root } = call.values;
  const folder = dir === "" ? stateFolderOf(process.env, process.cwd()) : resolve(dir);
  const failed = (message: string): number => {
    io.err(`edge trust: ${message}\n`);
    return ExitCode.Failure;
  };
  const { InternalAuthority, AUTHORITY_FILE } = await import("../features/tls/control/internal-authority.ts");
  if (uninstall && !existsSync(join(folder, AUTHORITY_FILE)))
    return failed(`${folder} has no ${AUTHORITY_FILE}: name the state folder with --dir`);
  let authority: Awaited<ReturnType<typeof InternalAuthority.open>>["authority"];
  try {
    ({ authority } = await InternalAuthority.open(folder));
  } catch (error) {
    return failed(`${join(folder, AUTHORITY_FILE)}: ${messageOf(error)}`);
  }
  if (print) {
    io.out(authority.root);
    return ExitCode.Done;
  }
  if (root === "" && process.platform !== "linux")
    return failed(`the store of ${process.platform} is not supported: install what "edge trust --print" prints`);
  const base = root === "" ? "/" : resolve(root);
  const store = STORES.find((one) => existsSync(join(base, one.folder)));
  if (store === undefined) return failed(`no known store below ${base}: install what "edge trust --print" prints`);
  const file = join(base, store.folder, nameOf(authority.fingerprint, store));
  const again = `sudo edge trust --dir ${folder}${uninstall ? " --uninstall" : ""}`;
  try {
    if (uninstall && !existsSync(file)) return failed(`${file} is not there${othersIn(join(base, store.folder))}`);
    if (uninstall) rmSync(file);
    else writeFileSync(file, authority.root, { mode: 0o644 });
  } catch (error) {
    const isDenied = ["EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");
    return failed(isDenied ? `${file}: permission denied; run: ${again}` : messageOf(error));
  }
  const fault = root === "" ? updated(store) : "";
  if (fault !== "") return failed(fault);
  io.out(`${file} is ${uninstall ? "removed" : "installed"}.\n`);
  return ExitCode.Done;
}

/** Has the store read again. @returns the failure, or "" */
function updated({ update, ending }: TrustStore): string {
  const words = ending === "crt" ? [update] : [update, "extract"];
  try {
    const { exitCode, stderr } = Bun.spawnSync(words, { stdout: "ignore", stderr: "pipe", timeout: UPDATE_MS });
    return exitCode === 0 ? "" : `${update} has failed: ${stderr.toString().trim()}`;
  } catch (error) {
    return `${update}: ${messageOf(error)}`;
  }
}

function nameOf(fingerprint: string, { ending }: TrustStore): string {
  return `${NAME}${fingerprint.replaceAll(":", "").slice(0, 12).toLowerCase()}.${ending}`;
}

function othersIn(folder: string): string {
  const others = readdirSync(folder).filter((name) => name.startsWith(NAME));
  return others.length === 0 ? "" : `; roots of other authorities: ${others.join(", ")}`;
}

const NAME = "edge-local-authority-";
const UPDATE_MS = 60_000;
