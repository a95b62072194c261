import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
} from "node:fs";
import type { ControlService, Prepared } from "../core/control-service.ts";
import { messageOf } from "../core/error-text.ts";
import { StartError } from "../help/error-guide.ts";
import { duplicate } from "../net/system-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ListeningSocket } from "../worker/listeners.ts";

/** What of the configuration the socket follows. */
type SocketSettings = Pick<RuntimeConfig["internalApi"], "socket" | "socketMode">;

/** For the workers to duplicate; -1 without a socket. */
interface SharedSocket {
  readonly internalSocket: number;
}

/** The socket of a configuration that is not in use yet. */
interface PreparedSocket extends Prepared {
  readonly fields: SharedSocket;
  takeUp(): void;
}

interface Bound {
  readonly path: string;
  readonly fd: number;
  /** Device and number of the file; "" where it is not ours to remove. */
  readonly file: string;
}

/**
 * The UNIX socket of `internal_api.socket`: the control thread listens, and every worker accepts on a duplicate of its descriptor.
 * docs/endpoints.md#the-unix-socket
 */
export class InternalSocket implements ControlService<Pick<RuntimeConfig, "internalApi">> {
  private bound: Bound | null = null;

  startFields(): SharedSocket {
    return { internalSocket: this.bound?.fd ?? -1 };
  }

  /** The socket as a successor takes it over. */
  get sockets(): readonly ListeningSocket[] {
    return this.bound === null ? [] : [{ name: "internal-socket", fd: this.bound.fd }];
  }

  /**
   * Takes the socket that came with the process, where it is the one that is configured, or binds one.
   * @param inherited all that came with the process; others than of this socket stay untouched
   * @param isService whether the service manager owns the file
   * @throws as `prepare`
   */
  start(settings: SocketSettings, inherited: readonly ListeningSocket[], isService: boolean): void {
    for (const { fd } of inherited.filter(({ name }) => name === "internal-socket")) {
      const isWanted = this.bound === null && settings.socket !== "" && pathOf(fd) === settings.socket;
      if (!isWanted) closeSync(fd);
      else this.bound = { path: settings.socket, fd, file: isService ? "" : fileAt(settings.socket) };
    }
    this.prepared(settings).takeUp();
  }

  /**
   * Binds what a configuration asks for and is not there, and removes nothing but a file that no process listens at.
   * @throws Error with a message that names the path and the cure
   */
  prepare({ internalApi }: Pick<RuntimeConfig, "internalApi">): Prepared & { readonly fields: SharedSocket } {
    return this.prepared(internalApi);
  }

  private prepared({ socket: path, socketMode }: SocketSettings): PreparedSocket {
    const before = this.bound;
    if (path === "") return { fields: { internalSocket: -1 }, takeUp: () => this.keep(null) };
    if (before?.path === path) {
      const takeUp = (): void => {
        if (before.file !== "") chmodSync(path, socketMode);
      };
      return { fields: { internalSocket: before.fd }, takeUp };
    }
    const next = bind(path, socketMode);
    return { fields: { internalSocket: next.fd }, takeUp: () => this.keep(next), drop: () => remove(next) };
  }

  /** The gateway ends. @param successor process id of the one that goes on, 0 for none: the file stays where that one has the socket */
  end(successor: number): void {
    const { bound } = this;
    if (bound !== null && successor > 0 && mayHave(successor, bound.fd)) this.bound = { ...bound, file: "" };
    this.keep(null);
  }

  private keep(next: Bound | null): void {
    const before = this.bound;
    this.bound = next;
    if (before !== null) remove(before);
  }
}

function bind(path: string, mode: number): Bound {
  takeOver(path);
  // The file is never there with another mode, not even for a moment.
  const before = process.umask(ALL & ~mode);
  try {
    const listener = Bun.listen({ unix: path, socket: { data(): void {} } }) as unknown as RuntimeListener;
    const fd = duplicate(listener.fd);
    // The runtime removes the file with its listener.
    const kept = `${path}.${process.pid}`;
    linkSync(path, kept);
    listener.stop(true);
    renameSync(kept, path);
    if (fd < 0) throw new Error("the system library cannot be called");
    return { path, fd, file: fileAt(path) };
  } catch (error) {
    throw notListening(path, (error as { code?: string }).code ?? messageOf(error));
  } finally {
    process.umask(before);
  }
}

/** Removes the socket of a process that has ended without doing so. @throws where the path is in use */
function takeOver(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw notListening(path, "a file that is no socket is there");
  if (listeningPaths().has(path)) {
    throw notListening(path, "EADDRINUSE (another process listens there; stop it or choose another path)");
  }
  rmSync(path, { force: true });
}

function notListening(path: string, reason: string): StartError {
  return new StartError(`cannot listen on ${path}: ${reason}`, "socket-path");
}

function remove({ path, fd, file }: Bound): void {
  closeSync(fd);
  // Another process may have taken the path meanwhile.
  if (file !== "" && fileAt(path) === file) rmSync(path, { force: true });
}

function fileAt(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev} ${found.ino}`;
}

/** Whether another process has what this descriptor is; true where the kernel does not tell. */
function mayHave(pid: number, fd: number): boolean {
  try {
    const wanted = readlinkSync(`/proc/self/fd/${fd}`);
    return readdirSync(`/proc/${pid}/fd`).some((one) => linkAt(`/proc/${pid}/fd/${one}`) === wanted);
  } catch {
    return true;
  }
}

/** "" for a descriptor that has been closed meanwhile. */
function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** The path at which a UNIX socket of this process listens; "" where the kernel does not tell. */
function pathOf(fd: number): string {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    return [...listeningPaths()].find(([, one]) => one === inode)?.[0] ?? "";
  } catch {
    return "";
  }
}

/** The paths at which UNIX sockets listen, with the numbers of these sockets, proc(5); none where the kernel does not tell. */
function listeningPaths(): ReadonlyMap<string, string> {
  let text: string;
  try {
    text = readFileSync("/proc/net/unix", "latin1");
  } catch {
    return new Map();
  }
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, flags, inode, path] = UNIX_LINE.exec(line) ?? [];
    if (flags !== undefined && (Number.parseInt(flags, 16) & ACCEPTS) !== 0) paths.set(path!, inode!);
  }
  return paths;
}

interface RuntimeListener {
  readonly fd: number;
  stop(closeAll?: boolean): void;
}

const ALL = 0o777;
/** Num: RefCount Protocol Flags Type St Inode Path */
const UNIX_LINE = /^[0-9a-f]+: [0-9A-F]+ [0-9A-F]+ ([0-9A-F]+) [0-9A-F]+ [0-9A-F]+ +(\d+) (\/.*)$/;
/** __SO_ACCEPTCON */
const ACCEPTS = 0x10000;
