import { dlopen, FFIType } from "bun:ffi";

const SET_SIGNAL = 10;
const GET_SIGNAL = 11;

/**
 * Marks of open files: a number of a descriptor is given anew when it is closed, the mark goes with the file. It is the signal that the kernel would
 * send for input, which is never asked for (O_ASYNC). fcntl(2), F_SETSIG: Linux alone.
 */
export class FileMarks {
  private static own: FileMarks | null | undefined;
  private readonly fcntl: (fd: number, command: number, value: number) => number;

  private constructor(fcntl: (fd: number, command: number, value: number) => number) {
    this.fcntl = fcntl;
  }

  /** @returns null if the system has none */
  static ofSystem(): FileMarks | null {
    FileMarks.own ??= FileMarks.load();
    return FileMarks.own;
  }

  private static load(): FileMarks | null {
    if (process.platform !== "linux") return null;
    try {
      const { i32 } = FFIType;
      return new FileMarks(dlopen("libc.so.6", { fcntl: { args: [i32, i32, i32], returns: i32 } }).symbols.fcntl);
    } catch {
      return null;
    }
  }

  set(fd: number, mark: number): void {
    this.fcntl(fd, SET_SIGNAL, mark);
  }

  has(fd: number, mark: number): boolean {
    return this.fcntl(fd, GET_SIGNAL, 0) === mark;
  }
}
