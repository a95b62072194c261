import { closeSync } from "node:fs";
import type { FieldsOfEvent } from "../facts/events.ts";
import { duplicate } from "../net/system-socket.ts";
import type { ListenerPlace, ListeningSocket } from "../worker/listeners.ts";
import { startFault } from "./binary-path.ts";
import { workingFolderFault } from "./working-folder.ts";

/** How long a new binary may take until it serves, and the workers of the old one until they can hand over. */
const UPGRADE_DEADLINE_MS = 30_000;

/** Set for a process that takes over from a running one: the process id of the old one. */
const UPGRADE_VARIABLE = "EDGE_UPGRADE_FROM";
/** Set where the file with what its cache had follows the sockets. */
const CACHE_VARIABLE = "EDGE_UPGRADE_CACHE";
/** The path that the old process has started: what lies there may have been replaced since. */
const BINARY_VARIABLE = "EDGE_UPGRADE_BINARY";
/** What operators have done at run time. */
const STATE_VARIABLE = "EDGE_UPGRADE_STATE";
const FIRST_FD = 3;

/** Listening sockets that came with the process. */
export interface Inheritance {
  /** Listening sockets, by the names that came with them; of a listener that has none here the gateway opens its own. */
  readonly sockets: readonly ListeningSocket[];
  /** The process that waits for us to be ready, or 0. */
  readonly predecessor: number;
  /** What it has stored in its cache; -1 for nothing. */
  readonly cacheFile: number;
  /** The path by which it has started this one; "" if none has. */
  readonly binary: string;
  /** What operators have done there, as Operations has written it; "" for nothing. */
  readonly state: string;
}

/**
 * Listening sockets from systemd (`LISTEN_FDS` with our `LISTEN_PID`, sd_listen_fds(3)) or from the gateway that is being
 * replaced. `LISTEN_FDNAMES` says which listener each is for: see `assigned`. The variables are
 * taken out of the environment, so that children do not see them.
 */
export function takeInheritance(env: Record<string, string | undefined>, pid: number): Inheritance {
  const count = Number(env.LISTEN_FDS ?? "0");
  const predecessor = Number(env[UPGRADE_VARIABLE] ?? "0");
  const isOurs = predecessor > 0 || Number(env.LISTEN_PID ?? "0") === pid;
  const names = (env.LISTEN_FDNAMES ?? "").split(":");
  const hasCache = predecessor > 0 && env[CACHE_VARIABLE] === "1";
  const binary = predecessor > 0 ? (env[BINARY_VARIABLE] ?? "") : "";
  const state = predecessor > 0 ? (env[STATE_VARIABLE] ?? "") : "";
  const own = [UPGRADE_VARIABLE, CACHE_VARIABLE, BINARY_VARIABLE, STATE_VARIABLE];
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", ...own]) delete env[name];
  if (!isOurs || !Number.isInteger(count) || count < 1)
    return { sockets: [], predecessor: 0, cacheFile: -1, binary, state };
  const sockets = Array.from({ length: count }, (_, i) => ({ name: names[i] ?? "", fd: FIRST_FD + i }));
  return { sockets, predecessor, cacheFile: hasCache ? FIRST_FD + count : -1, binary, state };
}

/**
 * The sockets that a worker listens on, of those that came with the process: its share of each listener's. If there are fewer
 * than workers, several accept on one: none opens a socket of its own beside those, which may be at another address.
 */
export function socketsOf(
  worker: number,
  workers: number,
  sockets: readonly ListeningSocket[],
): readonly ListeningSocket[] {
  return [...new Set(sockets.map(({ name }) => name))].flatMap((name) => {
    const all = sockets.filter((socket) => socket.name === name);
    const share = all.filter((_, i) => i % workers === worker);
    if (share.length > 0 || all.length === 0) return share;
    const fd = duplicate(all[worker % all.length]!.fd);
    return fd < 0 ? [] : [{ name, fd }];
  });
}

/** Names of listeners that the gateway itself gives. */
const KNOWN_NAMES = /^(https?|internal|internal-socket|sidecar-ingress|sidecar-egress|tcp-.*)$/;

/**
 * The listeners that TCP sockets are for. A socket of systemd whose name says nothing is for the first listener in clear text; without a listener it is
 * closed.
 */
export function assigned(
  sockets: readonly ListeningSocket[],
  places: readonly ListenerPlace[],
  isHandedOver: boolean,
): readonly ListeningSocket[] {
  const tcp = places.filter(({ isUnix }) => !isUnix);
  const usual = tcp.find(({ kind, tls }) => kind === "server" && !tls);
  return sockets.flatMap(({ name, fd }) => {
    if (tcp.some((place) => place.name === name)) return [{ name, fd }];
    if (!isHandedOver && usual !== undefined && !KNOWN_NAMES.test(name)) return [{ name: usual.name, fd }];
    closeSync(fd);
    return [];
  });
}

/** What a handover tells the log: an `upgrade` line. */
type UpgradeFields = FieldsOfEvent<"upgrade">;

/**
 * Hands the listening sockets to the binary that lies where this one was started from. The successor asks this process to
 * drain (SIGTERM) when it serves; one that does not within UPGRADE_DEADLINE_MS is ended, and this process goes on.
 * docs/operations.md#replacing-the-binary
 */
export class Handover {
  private readonly socketsOfAll: () => readonly ListeningSocket[] | null;
  private readonly event: (fields: UpgradeFields) => void;
  private readonly binary: string;
  private readonly cacheFile: () => Promise<number>;
  private readonly state: () => string;
  private file = -1;
  private isWanted = false;
  private owesReload = false;
  private successor: Bun.Subprocess | null = null;
  private deadline: Timer | null = null;

  /**
   * @param socketsOfAll the listening sockets of all workers; null while a worker is starting: a socket that it opens then and
   *   that is not handed over would take the clients that wait in it with it
   * @param event takes how it went
   * @param binary the path to start; see binaryPathOf
   * @param cacheFile writes what the cache has, and gives the file; -1 for none
   * @param state what operators have done that the successor begins with; "" for nothing
   */
  constructor(
    socketsOfAll: () => readonly ListeningSocket[] | null,
    event: (fields: UpgradeFields) => void,
    binary: string,
    cacheFile: () => Promise<number>,
    state: () => string,
  ) {
    this.state = state;
    this.cacheFile = cacheFile;
    this.socketsOfAll = socketsOfAll;
    this.event = event;
    this.binary = binary;
  }

  /** Whether a successor has been started and has not ended. */
  get hasSuccessor(): boolean {
    return this.successor !== null;
  }

  /** Its process id; 0 without one. */
  get successorPid(): number {
    return this.successor?.pid ?? 0;
  }

  /** The successor may have read the files already: it reads them again once it serves. */
  reloadLater(): void {
    this.owesReload = this.successor !== null;
  }

  /** The successor serves, and has asked this process to end. */
  passOn(): void {
    if (this.owesReload) this.successor?.kill("SIGHUP");
    this.owesReload = false;
  }

  /** Begins, now or as soon as every worker listens. */
  want(): void {
    if (this.successor !== null) {
      this.failed({ successor: this.successor.pid, error: "an upgrade is under way already" });
      return;
    }
    if (this.deadline !== null) return;
    this.deadline = setTimeout(() => this.giveUp(), UPGRADE_DEADLINE_MS);
    const { deadline } = this;
    void this.cacheFile().then((file) => {
      // It may have taken too long.
      if (this.deadline !== deadline) return;
      this.file = file;
      this.isWanted = true;
      this.goOn();
    });
  }

  /** A worker listens. */
  goOn(): void {
    const sockets = this.isWanted ? this.socketsOfAll() : null;
    if (sockets === null) return;
    this.isWanted = false;
    const fault = startFault(this.binary) || workingFolderFault();
    if (fault !== "") {
      this.end();
      this.failed({ error: fault });
      return;
    }
    try {
      const child = startSuccessor(this.binary, sockets, this.file, this.state(), (code) => this.onExit(child, code));
      this.successor = child;
      this.event({ ok: true, binary: this.binary, successor: child.pid, sockets: sockets.length });
    } catch (error) {
      this.end();
      this.failed({ error: String(error) });
    }
  }

  private onExit(child: Bun.Subprocess, code: number | null): void {
    if (this.successor !== child) return;
    this.end();
    this.failed({ exit_code: code, error: "the new process ended before it served" });
  }

  private giveUp(): void {
    const { successor } = this;
    this.end();
    const seconds = UPGRADE_DEADLINE_MS / 1000;
    if (successor === null) {
      this.failed({ error: `not every worker listened within ${seconds} s` });
      return;
    }
    successor.kill("SIGKILL");
    this.failed({ successor: successor.pid, error: `the new process did not serve within ${seconds} s and was ended` });
  }

  // The next signal may begin anew.
  private end(): void {
    if (this.deadline !== null) clearTimeout(this.deadline);
    this.deadline = null;
    this.isWanted = false;
    this.successor = null;
  }

  private failed(fields: Omit<UpgradeFields, "ok" | "binary">): void {
    this.event({ ok: false, binary: this.binary, ...fields });
  }
}

function startSuccessor(
  binary: string,
  sockets: readonly ListeningSocket[],
  cacheFile: number,
  state: string,
  onExit: (code: number | null) => void,
): Bun.Subprocess {
  const fds = [...sockets.map((socket) => socket.fd), ...(cacheFile < 0 ? [] : [cacheFile])];
  const child = Bun.spawn({
    cmd: [binary, ...process.argv.slice(2)],
    stdio: ["ignore", "inherit", "inherit", ...fds] as never,
    env: {
      ...process.env,
      ...(cacheFile < 0 ? {} : { [CACHE_VARIABLE]: "1" }),
      LISTEN_FDS: String(sockets.length),
      LISTEN_FDNAMES: sockets.map((socket) => socket.name).join(":"),
      [UPGRADE_VARIABLE]: String(process.pid),
      [BINARY_VARIABLE]: binary,
      ...(state === "" ? {} : { [STATE_VARIABLE]: state }),
    },
    onExit: (_child, code) => onExit(code),
  });
  child.unref();
  return child;
}

/** Asks the process whose sockets were inherited to drain; it may be gone already. */
export function endPredecessor({ predecessor }: Inheritance): void {
  if (predecessor === 0) return;
  try {
    process.kill(predecessor, "SIGTERM");
  } catch {
    // No process is left to be told.
  }
}
