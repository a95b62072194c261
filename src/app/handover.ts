/** Set for a process that takes over from a running one: the process id of the old one. */
export const UPGRADE_VARIABLE = "EDGE_UPGRADE_FROM";
const FIRST_FD = 3;

/** Listening sockets that came with the process. */
export interface Inheritance {
  /** Descriptors of listening TCP sockets; empty where the gateway opens its own. */
  readonly fds: readonly number[];
  /** The process that waits for us to be ready, or 0. */
  readonly predecessor: number;
}

/**
 * Listening sockets from systemd (`LISTEN_FDS` with our `LISTEN_PID`, sd_listen_fds(3)) or from the gateway that is being
 * replaced. The variables are taken out of the environment, so that children do not see them.
 */
export function takeInheritance(env: Record<string, string | undefined>, pid: number): Inheritance {
  const count = Number(env.LISTEN_FDS ?? "0");
  const predecessor = Number(env[UPGRADE_VARIABLE] ?? "0");
  const isOurs = predecessor > 0 || Number(env.LISTEN_PID ?? "0") === pid;
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", UPGRADE_VARIABLE]) delete env[name];
  if (!isOurs || !Number.isInteger(count) || count < 1) return { fds: [], predecessor: 0 };
  return { fds: Array.from({ length: count }, (_, i) => FIRST_FD + i), predecessor };
}

/** The descriptors that a worker listens on, of those that came with the process. */
export function fdsOf(worker: number, workers: number, fds: readonly number[]): readonly number[] {
  return fds.filter((_, i) => i % workers === worker);
}

/**
 * Starts the binary that stands where this one came from, with our arguments and listening sockets. It asks us to drain
 * (SIGTERM) when it serves. Decisions, "Signals": SIGUSR2.
 * @param onExit hears of a successor that ended, with its exit code
 * @returns its process id
 * @throws when it cannot be started
 */
export function startSuccessor(fds: readonly number[], onExit: (code: number | null) => void): number {
  const child = Bun.spawn({
    cmd: [process.execPath, ...process.argv.slice(2)],
    stdio: ["ignore", "inherit", "inherit", ...fds] as never,
    env: { ...process.env, LISTEN_FDS: String(fds.length), [UPGRADE_VARIABLE]: String(process.pid) },
    onExit: (_child, code) => onExit(code),
  });
  child.unref();
  return child.pid;
}
