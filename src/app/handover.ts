import type { EventValue } from "../features/telemetry/event-line.ts";
import { LISTENER_NAMES, type ListenerName, type ListeningSocket } from "./listeners.ts";

/** Set for a process that takes over from a running one: the process id of the old one. */
export const UPGRADE_VARIABLE = "EDGE_UPGRADE_FROM";
const FIRST_FD = 3;

/** Listening sockets that came with the process. */
export interface Inheritance {
  /** Listening TCP sockets; of a listener that has none here the gateway opens its own. */
  readonly sockets: readonly ListeningSocket[];
  /** The process that waits for us to be ready, or 0. */
  readonly predecessor: number;
}

/**
 * Listening sockets from systemd (`LISTEN_FDS` with our `LISTEN_PID`, sd_listen_fds(3)) or from the gateway that is being
 * replaced. `LISTEN_FDNAMES` says which listener each is for; one with another name is for cleartext HTTP. The variables are
 * taken out of the environment, so that children do not see them.
 */
export function takeInheritance(env: Record<string, string | undefined>, pid: number): Inheritance {
  const count = Number(env.LISTEN_FDS ?? "0");
  const predecessor = Number(env[UPGRADE_VARIABLE] ?? "0");
  const isOurs = predecessor > 0 || Number(env.LISTEN_PID ?? "0") === pid;
  const names = (env.LISTEN_FDNAMES ?? "").split(":");
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", UPGRADE_VARIABLE]) delete env[name];
  if (!isOurs || !Number.isInteger(count) || count < 1) return { sockets: [], predecessor: 0 };
  const sockets = Array.from({ length: count }, (_, i) => ({ name: listenerNamed(names[i]), fd: FIRST_FD + i }));
  return { sockets, predecessor };
}

/** The sockets that a worker listens on, of those that came with the process: its share of each listener's. */
export function socketsOf(
  worker: number,
  workers: number,
  sockets: readonly ListeningSocket[],
): readonly ListeningSocket[] {
  return LISTENER_NAMES.flatMap((name) =>
    sockets.filter((socket) => socket.name === name).filter((_, i) => i % workers === worker),
  );
}

function listenerNamed(name: string | undefined): ListenerName {
  return LISTENER_NAMES.find((one) => one === name) ?? "http";
}

/**
 * Hands the listening sockets to the binary that stands where this one came from, which asks us to drain (SIGTERM) when it
 * serves. Decisions, "Signals": SIGUSR2.
 */
export class Handover {
  private readonly socketsOfAll: () => readonly ListeningSocket[] | null;
  private readonly event: (fields: Readonly<Record<string, EventValue>>) => void;
  private isWanted = false;
  private successor = 0;

  /**
   * @param socketsOfAll the listening sockets of all workers; null while a worker is starting: a socket that it opens then and
   *   that nobody inherits would take the clients that wait in it with it
   * @param event hears of how it went
   */
  constructor(
    socketsOfAll: () => readonly ListeningSocket[] | null,
    event: (fields: Readonly<Record<string, EventValue>>) => void,
  ) {
    this.socketsOfAll = socketsOfAll;
    this.event = event;
  }

  /** Begins, now or as soon as every worker listens. */
  want(): void {
    this.isWanted = this.successor === 0;
    this.goOn();
  }

  /** A worker listens. */
  goOn(): void {
    const sockets = this.isWanted ? this.socketsOfAll() : null;
    if (sockets === null) return;
    this.isWanted = false;
    try {
      this.successor = startSuccessor(sockets, (code) => {
        this.successor = 0;
        this.event({ ok: false, exit_code: code });
      });
      this.event({ ok: true, successor: this.successor, sockets: sockets.length });
    } catch (error) {
      this.event({ ok: false, error: String(error) });
    }
  }
}

/** @returns the process id of the new binary */
function startSuccessor(sockets: readonly ListeningSocket[], onExit: (code: number | null) => void): number {
  const child = Bun.spawn({
    cmd: [process.execPath, ...process.argv.slice(2)],
    stdio: ["ignore", "inherit", "inherit", ...sockets.map((socket) => socket.fd)] as never,
    env: {
      ...process.env,
      LISTEN_FDS: String(sockets.length),
      LISTEN_FDNAMES: sockets.map((socket) => socket.name).join(":"),
      [UPGRADE_VARIABLE]: String(process.pid),
    },
    onExit: (_child, code) => onExit(code),
  });
  child.unref();
  return child.pid;
}

/** Asks the process whose sockets were inherited to drain; it may be gone already. */
export function endPredecessor({ predecessor }: Inheritance): void {
  if (predecessor === 0) return;
  try {
    process.kill(predecessor, "SIGTERM");
  } catch {
    // Nobody is left to be told.
  }
}
