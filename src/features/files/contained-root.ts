import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path/posix";
import { isDescriptorShortage } from "../../core/shortage.ts";
import { FileIdentity } from "./file-identity.ts";

/** What lies at a path below the root. */
export const enum FileLookup {
  /** A regular file within the root. */
  File = 0,
  Directory,
  /** Nothing, or something that is not served: a FIFO, a socket, a device. */
  Missing,
  /** Something outside the root, or a way that leads outside. */
  Escapes,
  /** The system does not let us read it. */
  Denied,
  /** The system cannot at the moment: a failing disk. */
  Failed,
  /** There are no descriptors left. */
  NoDescriptor,
}

// O_NONBLOCK: opening a FIFO without a writer must not hang. O_NOCTTY: a terminal must not become ours.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const OPEN_LINKS = "/proc/self/fd/";

/**
 * A directory that files are opened in and never outside of. docs/files.md#containment
 *
 * A file is opened first and judged then, by the real path of what was opened. So there is no moment between check and
 * use in which a path component could be replaced. Paths are relative to the root and hold one character a byte.
 */
export class ContainedRoot {
  /** The open descriptor after `open` gave File, or `openFolder` gave Directory; the caller closes it. */
  fd = -1;
  /** What was opened, after `open` gave File. */
  identity: FileIdentity | null = null;
  /** The real path of what was opened, one character a byte, after `open` gave File. */
  realPath = "";
  private readonly withheld: RegExp | null;
  private readonly dir: string;
  private readonly dirBytes: Buffer;
  private readonly hasOpenLinks: boolean;
  /** Real path of the root with a slash at its end, one character a byte; "" while there is none. */
  private realRoot = "";

  /**
   * @param dir absolute path
   * @param hasOpenLinks whether the system tells the path of an open descriptor (Linux with /proc)
   * @param withheld files whose real path below the root it fits are as if they were not there; null for none
   */
  constructor(dir: string, hasOpenLinks: boolean = existsSync(OPEN_LINKS), withheld: RegExp | null = null) {
    this.withheld = withheld;
    this.dir = dir;
    this.dirBytes = Buffer.from(dir.endsWith("/") ? dir : `${dir}/`, "utf8");
    this.hasOpenLinks = hasOpenLinks;
    this.findRoot();
  }

  /**
   * Opens the file at `relative` and leaves it in `fd` and `identity`.
   * @param relative cleaned: no dot segments, no NUL
   */
  open(relative: string): FileLookup {
    return this.openAs(relative, false);
  }

  /** Opens the folder at `relative` and leaves it in `fd` and `realPath`. @param relative as `open` takes it */
  openFolder(relative: string): FileLookup {
    return this.openAs(relative, true);
  }

  /** A path that leads to an open folder, whatever has happened to its name since. @param realPath as `openFolder` has left it */
  pathOfOpen(fd: number, realPath: string): Buffer {
    return Buffer.from(this.hasOpenLinks ? OPEN_LINKS + fd : realPath, "latin1");
  }

  private openAs(relative: string, isFolderWanted: boolean): FileLookup {
    const path = this.pathOf(relative);
    const found = this.openOnce(path, isFolderWanted);
    // A deployment may have put another directory in the root's place since, or just while we looked: look once more.
    if (found === FileLookup.Escapes && this.findRoot()) return this.openOnce(path, isFolderWanted);
    if (found !== FileLookup.Missing && found !== FileLookup.Denied) return found;
    return this.leadsOutside(relative) ? FileLookup.Escapes : found;
  }

  /** The real path of the root without a slash at its end, one character a byte; "" while there is none. */
  get rootPath(): string {
    return this.realRoot === "/" ? "/" : this.realRoot.slice(0, -1);
  }

  /** Whether anything lies at `relative`. It is neither opened nor judged. */
  mayExist(relative: string): boolean {
    try {
      return statSync(this.pathOf(relative), { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false;
    }
  }

  private openOnce(path: Buffer, isFolderWanted: boolean): FileLookup {
    let fd = -1;
    let keep = false;
    try {
      fd = openSync(path, OPEN_FLAGS);
      const stat = fstatSync(fd, { bigint: true });
      const realPath = this.realPathOf(fd, path, stat.ino, stat.dev);
      if (!this.isWithin(realPath)) return FileLookup.Escapes;
      if (stat.isDirectory()) {
        if (!isFolderWanted) return FileLookup.Directory;
        this.realPath = realPath;
        this.fd = fd;
        keep = true;
        return FileLookup.Directory;
      }
      if (!stat.isFile() || this.withheld?.test(realPath.slice(this.realRoot.length))) return FileLookup.Missing;
      this.realPath = realPath;
      this.fd = fd;
      this.identity = new FileIdentity(stat);
      keep = true;
      return FileLookup.File;
    } catch (error) {
      return foundByError(error);
    } finally {
      if (fd >= 0 && !keep) closeSync(fd);
    }
  }

  /** Real path of an open file, one character a byte, or "" if it cannot be told for certain. */
  private realPathOf(fd: number, path: Buffer, ino: bigint, dev: bigint): string {
    if (this.hasOpenLinks) return readlinkSync(OPEN_LINKS + fd, "latin1");
    // Where descriptors have no path, the path must still lead to what was opened.
    const real = realpathSync(path, "buffer");
    const stat = statSync(real, { bigint: true });
    return stat.ino === ino && stat.dev === dev ? real.latin1Slice() : "";
  }

  private isWithin(realPath: string): boolean {
    const root = this.realRoot;
    if (root === "") return false;
    return realPath.startsWith(root) || (realPath.length === root.length - 1 && root.startsWith(realPath));
  }

  /**
   * Whether a symbolic link on the way to something that cannot be opened leads outside. Without this a link to another
   * directory would tell which names exist there. It ends at the first segment that does not exist.
   */
  private leadsOutside(relative: string): boolean {
    try {
      for (let slash = relative.indexOf("/"); ; slash = relative.indexOf("/", slash + 1)) {
        const path = this.pathOf(slash < 0 ? relative : relative.slice(0, slash));
        const stat = lstatSync(path, { throwIfNoEntry: false });
        if (stat === undefined) return false;
        if (stat.isSymbolicLink() && !this.isWithin(destinationOf(path))) return true;
        if (slash < 0) return false;
      }
    } catch {
      // A circle of links, a name too long: it leads nowhere.
      return false;
    }
  }

  /** Finds the root's real path. Gives whether there is one. */
  private findRoot(): boolean {
    try {
      const real = realpathSync(this.dir, "buffer").latin1Slice();
      this.realRoot = real.endsWith("/") ? real : `${real}/`;
    } catch {
      this.realRoot = "";
    }
    return this.realRoot !== "";
  }

  private pathOf(relative: string): Buffer {
    return Buffer.concat([this.dirBytes, Buffer.from(relative, "latin1")]);
  }
}

/**
 * Where a link leads, one character a byte: the real path of what is there, or of what would be. Throws for a circle.
 */
function destinationOf(link: Buffer): string {
  let path = link.latin1Slice();
  for (let links = 0; links < MAX_LINKS; links++) {
    const real = realOf(path);
    const bytes = Buffer.from(real, "latin1");
    if (lstatSync(bytes, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return real;
    path = resolve(dirname(real), readlinkSync(bytes, "buffer").latin1Slice());
  }
  throw new Error("a circle of links");
}

/** The path with the real path of its folder, as far up as there is one. */
function realOf(path: string): string {
  const folder = dirname(path);
  if (folder === path) return path;
  const name = path.slice(folder === "/" ? 1 : folder.length + 1);
  try {
    return join(realpathSync(Buffer.from(folder, "latin1"), "buffer").latin1Slice(), name);
  } catch {
    return join(realOf(folder), name);
  }
}

/** As the kernel has it. */
const MAX_LINKS = 40;

/** What an error of the system says of a path. */
function foundByError(error: unknown): FileLookup {
  switch ((error as { code?: unknown }).code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
    case "ELOOP":
    case "ENXIO":
    case "ENODEV":
    case "EINVAL":
    case "ERR_INVALID_ARG_VALUE":
      return FileLookup.Missing;
    case "EACCES":
    case "EPERM":
      return FileLookup.Denied;
    default:
      return isDescriptorShortage((error as { code?: unknown }).code) ? FileLookup.NoDescriptor : FileLookup.Failed;
  }
}
