import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Where a running process listens, in the order in which it has opened it. */
interface RunningGateway {
  readonly pid: number;
  /** Absolute paths of UNIX sockets. */
  readonly sockets: readonly string[];
  readonly ports: readonly { readonly host: string; readonly port: number }[];
}

/**
 * The processes that run `edge serve` with this file, as the system tells (Linux); none elsewhere. What they took up when the file was right does not
 * stand in it while it is wrong. Any user may give a process such a command line: one that may not read the file was not started with it.
 * @param configPath absolute
 */
export function runningWith(configPath: string): readonly RunningGateway[] {
  return numbersIn("/proc").flatMap((pid) => {
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`);
      return configOf(pid, cwd) === configPath && mayRead(pid, configPath) ? [placesOf(pid, cwd)] : [];
    } catch {
      // It has ended, or is another user's.
      return [];
    }
  });
}

/** Whether a process has a child that runs (Linux); false on other systems. proc_pid_stat(5) */
export function hasChild(parent: number): boolean {
  return numbersIn("/proc").some((pid) => {
    try {
      const [state = "", ppid = ""] = readFileSync(`/proc/${pid}/stat`, "latin1")
        .replace(/^[^)]*\) /, "")
        .split(" ", 2);
      return Number(ppid) === parent && state !== "Z";
    } catch {
      return false;
    }
  });
}

function numbersIn(folder: string): readonly number[] {
  try {
    return readdirSync(folder)
      .map(Number)
      .filter(Number.isInteger)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

/** The file that a process was started with; "" if it is no gateway. */
function configOf(pid: number, cwd: string): string {
  const [, command, ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  if (command !== "serve") return "";
  const at = args.findIndex((arg) => /^--?config(=|$)/.test(arg));
  const given = at < 0 ? DEFAULT_FILE : args[at]!.includes("=") ? args[at]!.split("=", 2)[1]! : (args[at + 1] ?? "");
  return isAbsolute(given) ? given : join(cwd, given);
}

/** Whether a process of this user or of the system's, or one whom the mode of the file lets read it. */
function mayRead(pid: number, path: string): boolean {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const uid = Number(/^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN);
  if (uid === 0 || uid === process.geteuid?.()) return true;
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return false;
  if (file.uid === uid) return (file.mode & 0o400) !== 0;
  const groups = [...status.matchAll(/^(?:Gid|Groups):(.*)$/gm)].flatMap(([, ids = ""]) => ids.trim().split(/\s+/));
  const isOfGroup = groups.includes(`${file.gid}`);
  return (file.mode & (isOfGroup ? 0o040 : 0o004)) !== 0;
}

function placesOf(pid: number, cwd: string): RunningGateway {
  const inodes = numbersIn(`/proc/${pid}/fd`).map((fd) => inodeOf(`/proc/${pid}/fd/${fd}`));
  const order = (found: ReadonlyMap<string, string>): readonly string[] => [
    ...new Set(inodes.flatMap((inode) => found.get(inode) ?? [])),
  ];
  const sockets = order(listenersIn(`/proc/${pid}/net/unix`, UNIX_FIELDS)).map((path) =>
    isAbsolute(path) ? path : join(cwd, path),
  );
  const tcp = ["tcp", "tcp6"].flatMap((name) => [...listenersIn(`/proc/${pid}/net/${name}`, TCP_FIELDS)]);
  return { pid, sockets, ports: order(new Map(tcp)).map(portOf) };
}

function inodeOf(link: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** Places of the fields of a line; proc_net(5). */
interface Fields {
  readonly address: number;
  readonly state: number;
  readonly listens: string;
  readonly inode: number;
}

/** Addresses of listening sockets by their inodes. */
function listenersIn(path: string, { address, state, listens, inode }: Fields): ReadonlyMap<string, string> {
  const lines = readFileSync(path, "latin1").split("\n").slice(1);
  const fields = lines.map((line) => line.trim().split(/ +/)).filter((all) => all[state] === listens && all[address]);
  return new Map(fields.map((all) => [all[inode]!, all[address]!]));
}

/** @param address such as `0100007F:1F90`, its words as this machine has them */
function portOf(address: string): { readonly host: string; readonly port: number } {
  const [host = "", port = ""] = address.split(":");
  return { host: host === LOOPBACK_6 ? "::1" : "127.0.0.1", port: Number.parseInt(port, 16) };
}

const DEFAULT_FILE = "config.yaml";
const UNIX_FIELDS: Fields = { address: 7, state: 3, listens: "00010000", inode: 6 };
const TCP_FIELDS: Fields = { address: 1, state: 3, listens: "0A", inode: 9 };
const LOOPBACK_6 = "00000000000000000000000001000000";
