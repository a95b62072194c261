import {
  accessSync,
  close,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeFolder } from "../../config/made-folder.ts";
import { lateZlib } from "../../proto/semantics/late-zlib.ts";
import type { LogOutputConfig } from "./access-log-settings.ts";
import { FdOutput } from "./fd-output.ts";
import type { LogOutput } from "./log-writer.ts";

/** When a file is put aside, and how many are kept. */
type Rotation = NonNullable<LogOutputConfig["rotate"]>;

/** What a log file notifies. */
export interface LogFileListener {
  /** Lines cannot be written: told once, until it works again. */
  onFailed(file: string, error: string): void;
}

/**
 * A log file that lines are appended to. It is put aside by its size and age, compressed where that is wanted, and the oldest ones are
 * removed. docs/operations.md#log-files
 */
export class RotatingFile implements LogOutput {
  private readonly file: string;
  private readonly rotation: Rotation | null;
  private readonly listener: LogFileListener;
  private readonly nowMs: () => number;
  private fd = -1;
  private output: FdOutput | null = null;
  private size = 0;
  private openedMs = 0;
  /** Whether lines cannot be written. */
  private isFailing = false;
  /** Compressing of files goes on one after the other. */
  private tidying: Promise<void> = Promise.resolve();

  /** @param nowMs milliseconds since the epoch */
  constructor(file: string, rotation: Rotation | null, listener: LogFileListener, nowMs: () => number = Date.now) {
    this.file = file;
    this.rotation = rotation;
    this.listener = listener;
    this.nowMs = nowMs;
  }

  write(bytes: Uint8Array, done: (written: number) => void): void {
    try {
      if (this.isFull(bytes.length)) this.rotate();
      this.open();
    } catch (error) {
      this.failed(error);
      // Later, as the caller counts on.
      queueMicrotask(() => done(0));
      return;
    }
    const { fd } = this;
    this.output!.write(bytes, (count) => {
      const written = count < bytes.length ? this.withoutTornLine(fd, bytes, count) : count;
      this.size += written;
      if (written < bytes.length) this.failed(new Error("it took fewer bytes than were written"));
      else this.isFailing = false;
      done(written);
    });
  }

  /** Takes a line back that was cut: the next one may come from another process. @returns the rest of the bytes */
  private withoutTornLine(fd: number, bytes: Uint8Array, written: number): number {
    const whole = written === 0 ? 0 : bytes.lastIndexOf(LINE_BREAK, written - 1) + 1;
    try {
      // Another process may append to it as well.
      if (whole === written || fd !== this.fd || fstatSync(fd).size !== this.size + written) return written;
      ftruncateSync(fd, this.size + whole);
      return whole;
    } catch {
      return written;
    }
  }

  /** The file may have been renamed by another program: the next line goes to one of its name. */
  reopen(): void {
    if (this.fd >= 0) close(this.fd);
    this.fd = -1;
    this.output = null;
  }

  /** Resolves when the files that were put aside are as they should be. */
  settled(): Promise<void> {
    return this.tidying;
  }

  private open(): void {
    if (this.fd >= 0) return;
    this.fd = opened(this.file);
    this.output = new FdOutput(this.fd);
    const { size, birthtimeMs } = fstatSync(this.fd);
    this.size = size;
    this.openedMs = size > 0 && birthtimeMs > 0 ? birthtimeMs : this.nowMs();
  }

  private isFull(more: number): boolean {
    const { rotation } = this;
    if (rotation === null) return false;
    // What a process before this one has written counts.
    this.open();
    if (this.size === 0) return false;
    const isOld = rotation.ageMs > 0 && this.nowMs() - this.openedMs >= rotation.ageMs;
    return isOld || this.size + more > rotation.size;
  }

  private rotate(): void {
    const { file, rotation } = this;
    const end = extname(file);
    const stem = basename(file, end);
    const folder = dirname(file);
    const time = new Date(this.nowMs()).toISOString().replace(/[-:]|\.\d+Z/g, "");
    const there = new Set(readdirSync(folder));
    let name = `${stem}-${time}${end}`;
    for (let i = 1; [...SUFFIXES].some((suffix) => there.has(name + suffix)); i++) name = `${stem}-${time}-${i}${end}`;
    renameSync(file, join(folder, name));
    this.reopen();
    this.tidying = this.tidying
      .then(() => this.tidy(folder, stem, end, rotation!))
      .catch((error) => this.failed(error));
  }

  /** Compresses what was put aside, and removes what is more than is kept. */
  private async tidy(folder: string, stem: string, end: string, { keep, compress }: Rotation): Promise<void> {
    const own = new RegExp(`^${escapeText(stem)}-\\d{8}T\\d{6}(-\\d+)?${escapeText(end)}(\\.zst|\\.gz)?$`);
    const files = readdirSync(folder)
      .filter((name) => own.test(name))
      .sort((a, b) => orderOf(a).localeCompare(orderOf(b)));
    const kept = files.slice(-keep);
    for (const name of files.slice(0, -keep)) rmSync(join(folder, name), { force: true });
    if (compress === "off") return;
    for (const name of kept) {
      if (!/\.(zst|gz)$/.test(name)) await pack(join(folder, name), compress);
    }
  }

  private failed(error: unknown): void {
    if (this.isFailing) return;
    this.isFailing = true;
    this.listener.onFailed(this.file, error instanceof Error ? error.message : String(error));
  }
}

/** Its folder is made if it is not there, or no longer. */
function opened(file: string): number {
  try {
    return openSync(file, "a", MODE);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
    makeFolder(dirname(file), FOLDER_MODE);
    return openSync(file, "a", MODE);
  }
}

/** Why a log file could not be written, without making anything; "" if it can. @param file absolute */
export function logFileFault(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined) {
      if (!found.isFile()) return "not a file";
      accessSync(file, constants.W_OK);
      return "";
    }
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true) return missingTargetFault(file);
    let folder = dirname(file);
    while (lstatSync(folder, { throwIfNoEntry: false }) === undefined && folder !== dirname(folder))
      folder = dirname(folder);
    if (!statSync(folder).isDirectory()) return `${folder} is not a folder`;
    accessSync(folder, constants.W_OK | constants.X_OK);
    return "";
  } catch (error) {
    return (error as { code?: string }).code === "EACCES" ? "permission denied" : (error as Error).message;
  }
}

/** The file that a link names is made with the first line; no folder is made for it. */
function missingTargetFault(link: string): string {
  const target = resolve(dirname(link), readlinkSync(link));
  const folder = dirname(target);
  if (!existsSync(folder)) return `it is a link to ${target}, and there is no folder ${folder}`;
  return logFileFault(target);
}

/** Compresses a file, on the threads of the runtime, and removes it when that is done. */
async function pack(file: string, way: "zstd" | "gzip"): Promise<void> {
  const zlib = lateZlib();
  const [packer, suffix] = way === "zstd" ? [zlib.createZstdCompress(), ".zst"] : [zlib.createGzip(), ".gz"];
  const half = `${file}${suffix}.tmp`;
  try {
    await pipeline(createReadStream(file), packer, createWriteStream(half, { mode: MODE }));
    renameSync(half, file + suffix);
    rmSync(file, { force: true });
  } finally {
    rmSync(half, { force: true });
  }
}

/** Names in the order of their times: `…-2` comes before `…-10`. */
function orderOf(name: string): string {
  return name.replace(
    /(T\d{6})(?:-(\d+))?/,
    (_, time: string, count = "0") => `${time}-${String(count).padStart(6, "0")}`,
  );
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Its owner writes it, its group reads it, as of other servers' logs. */
const MODE = 0o640;
const FOLDER_MODE = 0o750;
const LINE_BREAK = 0x0a;
const SUFFIXES: ReadonlySet<string> = new Set(["", ".zst", ".gz"]);
