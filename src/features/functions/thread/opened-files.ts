import { cellMark, FILE_CELLS, type FileCells } from "../file-cells.ts";
import { FileMarks } from "../file-marks.ts";

/** The part of `fs` that opens descriptors which outlive their thread. */
interface FileSystem {
  openSync(...args: unknown[]): number;
  open(...args: unknown[]): void;
  readonly promises: { open(...args: unknown[]): Promise<{ readonly fd: number }> };
}
type Opened = (error: unknown, fd?: number) => void;

/**
 * Notes each descriptor that a module opens where the control thread reads it: the runtime leaves these open when the thread ends. A thread has so
 * many at most. What was closed is found out when there is no room left, so that closing costs nothing.
 */
class OpenedFiles {
  private cells: FileCells | null = null;
  private marks: FileMarks | null = null;
  private readonly slots: Map<number, number> = new Map();
  private readonly free: number[] = [];
  private pending = 0;
  private onFull: () => void = () => {};

  /** Notes from now on. @param onFull is called when a file is refused for the first time */
  share(cells: FileCells, onFull: () => void): void {
    this.marks = FileMarks.ofSystem();
    for (let at = FILE_CELLS.first; at < cells.length; at += FILE_CELLS.each) this.free.push(at);
    this.onFull = onFull;
    this.cells = cells;
  }

  /** Takes room for a file that is to be opened. @throws EMFILE if there is none */
  begin(): void {
    if (this.cells === null) return;
    if (this.free.length <= this.pending) this.sweep();
    if (this.free.length <= this.pending) {
      this.onFull();
      this.onFull = () => {};
      const limit = this.free.length + this.slots.size;
      throw Object.assign(new Error(`EMFILE: a thread of a module may have ${limit} files open: close them`), {
        code: "EMFILE",
        errno: -24,
        syscall: "open",
      });
    }
    this.pending++;
  }

  /** @param fd what was opened; -1 for none */
  done(fd: number): void {
    const { cells } = this;
    if (cells === null || this.pending === 0) return;
    this.pending--;
    if (fd < 0) return;
    const at = this.slots.get(fd) ?? this.free.pop();
    if (at === undefined) return;
    this.slots.set(fd, at);
    this.marks?.set(fd, cellMark(cells));
    Atomics.store(cells, at, fd + 1);
  }

  /** Forgets what was closed meanwhile. */
  private sweep(): void {
    const cells = this.cells!;
    for (const [fd, at] of this.slots) {
      if (this.marks?.has(fd, cellMark(cells)) === true) continue;
      this.slots.delete(fd);
      Atomics.store(cells, at, 0);
      this.free.push(at);
    }
  }
}

/** Those of this thread. */
export const openedFiles: OpenedFiles = new OpenedFiles();

/**
 * To be called before anything of the thread imports `node:fs`: names that were imported before keep what they were. The module is asked for by
 * name for the same reason.
 */
export function noteOpenedFiles(): void {
  const fs = process.getBuiltinModule("node:fs") as unknown as FileSystem;
  const { openSync, open, promises } = fs;
  const openHandle = promises.open;
  fs.openSync = (...args) => {
    openedFiles.begin();
    let fd = -1;
    try {
      fd = openSync(...args);
      return fd;
    } finally {
      openedFiles.done(fd);
    }
  };
  fs.open = (...args) => {
    const callback = args.at(-1);
    if (typeof callback !== "function") return open(...args);
    try {
      openedFiles.begin();
    } catch (error) {
      return void process.nextTick(callback as Opened, error);
    }
    const opened: Opened = (error, fd) => {
      openedFiles.done(fd ?? -1);
      (callback as Opened)(error, fd);
    };
    try {
      open(...args.slice(0, -1), opened);
    } catch (error) {
      openedFiles.done(-1);
      throw error;
    }
  };
  promises.open = async (...args) => {
    openedFiles.begin();
    let fd = -1;
    try {
      const handle = await openHandle.apply(promises, args);
      fd = handle.fd;
      return handle;
    } finally {
      openedFiles.done(fd);
    }
  };
}
