import {
  chmodSync,
  chownSync,
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

/** A UNIX socket of a configuration. */
interface SocketPlace {
  /** Of its listener. */
  readonly name: string;
  readonly path: string;
  readonly mode: number;
  /** A name or number; "" for that of the process. */
  readonly group: string;
}

/** For the workers to duplicate. */
interface SharedSockets {
  readonly unixSockets: readonly ListeningSocket[];
}

/** The sockets of a configuration that is not in use yet. */
interface PreparedSockets extends Prepared {
  readonly fields: SharedSockets;
  takeUp(): void;
}

interface Bound {
  readonly path: string;
  readonly fd: number;
  /** Device and number of the file; "" if it is not ours to remove. */
  readonly file: string;
}

/**
 * The UNIX sockets of listeners and of `internal_api.socket`: the control thread listens, and every worker accepts on a duplicate of each
 * descriptor. docs/listeners.md#unix-sockets
 */
export class UnixSockets implements ControlService<SocketSettings> {
  /** By path. */
  private bound: ReadonlyMap<string, Bound> = new Map();
  private places: readonly SocketPlace[] = [];

  startFields(): SharedSockets {
    return { unixSockets: this.sockets };
  }

  /** The sockets that are in use, as a successor takes them over. */
  get sockets(): readonly ListeningSocket[] {
    return this.places.map(({ name, path }) => ({ name, fd: this.bound.get(path)!.fd }));
  }

  /**
   * Takes the sockets that came with the process and are configured, and binds the others.
   * @param inherited all that came with the process
   * @param isService whether the service manager owns the files
   * @returns those of TCP, which stay untouched
   * @throws as `prepare`
   */
  start(config: SocketSettings, inherited: readonly ListeningSocket[], isService: boolean): readonly ListeningSocket[] {
    const wanted = new Set(placesOf(config).map(({ path }) => path));
    const bound = new Map<string, Bound>();
    const tcp: ListeningSocket[] = [];
    for (const socket of inherited) {
      const { fd } = socket;
      const path = pathOf(fd);
      if (path === "") tcp.push(socket);
      else if (!wanted.has(path) || bound.has(path)) closeSync(fd);
      else bound.set(path, { path, fd, file: isService ? "" : fileAt(path) });
    }
    this.bound = bound;
    this.prepare(config).takeUp();
    return tcp;
  }

  /**
   * Binds the sockets of a configuration that are missing, and removes nothing but files that no process listens at.
   * @throws Error with a message that names the path and the cure
   */
  prepare(config: SocketSettings): PreparedSockets {
    const places = placesOf(config);
    const added: Bound[] = [];
    const drop = (): void => {
      for (const one of added) remove(one);
    };
    try {
      for (const place of places) if (!this.bound.has(place.path)) added.push(bind(place));
    } catch (error) {
      drop();
      throw error;
    }
    const next = new Map(
      places.map(({ path }) => [path, (this.bound.get(path) ?? added.find((one) => one.path === path))!]),
    );
    const sockets = places.map(({ name, path }) => ({ name, fd: next.get(path)!.fd }));
    const takeUp = (): void => {
      for (const [path, one] of this.bound) if (!next.has(path)) remove(one);
      for (const place of places) if (this.bound.get(place.path)?.file) permit(place.path, place);
      this.bound = next;
      this.places = places;
    };
    return { fields: { unixSockets: sockets }, takeUp, drop };
  }

  /** The gateway ends. @param successor process id of the one that goes on, 0 for none: files stay where that one has the socket */
  end(successor: number): void {
    for (const one of this.bound.values()) {
      const isLeft = successor > 0 && mayHave(successor, one.fd);
      remove(isLeft ? { ...one, file: "" } : one);
    }
    this.bound = new Map();
    this.places = [];
  }
}

/** What of a configuration sockets follow. */
type SocketSettings = Pick<RuntimeConfig, "server" | "internalApi">;

function placesOf({ server, internalApi }: SocketSettings): readonly SocketPlace[] {
  const own = server.listeners.flatMap(({ name, socket, mode, group }) =>
    socket === "" ? [] : [{ name, path: socket, mode, group }],
  );
  const { socket: path, socketMode: mode } = internalApi;
  return path === "" ? own : [...own, { name: "internal-socket", path, mode, group: "" }];
}

/** @throws for a group that is unknown, or not permitted */
function permit(path: string, { mode, group }: SocketPlace): void {
  if (group !== "") {
    try {
      chownSync(path, -1, groupId(group));
    } catch (error) {
      throw notListening(
        path,
        `its group cannot be ${group}: ${(error as { code?: string }).code ?? messageOf(error)}`,
      );
    }
  }
  chmodSync(path, mode);
}

function groupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const line = readFileSync("/etc/group", "latin1")
    .split("\n")
    .find((one) => one.startsWith(`${group}:`));
  if (line === undefined) throw new Error("there is no such group in /etc/group");
  return Number(line.split(":")[2]);
}

function bind(place: SocketPlace): Bound {
  const { path, mode } = place;
  takeOver(path);
  // The file is never there with another mode, not even for a moment.
  const before = process.umask(ALL & ~mode);
  let fd = -1;
  try {
    const listener = Bun.listen({ unix: path, socket: { data(): void {} } }) as unknown as RuntimeListener;
    fd = duplicate(listener.fd);
    // The runtime removes the file with its listener.
    const kept = `${path}.${process.pid}`;
    linkSync(path, kept);
    listener.stop(true);
    renameSync(kept, path);
    if (fd < 0) throw new Error("the system library cannot be called");
    if (place.group !== "") permit(path, place);
    return { path, fd, file: fileAt(path) };
  } catch (error) {
    if (fd >= 0) remove({ path, fd, file: fileAt(path) });
    if (error instanceof StartError) throw error;
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

/** Whether another process has what this descriptor is; true if the kernel does not tell. */
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

/** The path at which a UNIX socket of this process listens; "" if the kernel does not tell. */
function pathOf(fd: number): string {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    return [...listeningPaths()].find(([, one]) => one === inode)?.[0] ?? "";
  } catch {
    return "";
  }
}

/** The paths at which UNIX sockets listen, with the numbers of these sockets, proc(5); none if the kernel does not tell. */
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
