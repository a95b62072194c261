import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";

/** Bytes of one line; what is longer is cut there. */
const MAX_LINE_BYTES = 1_048_576;
const READ_BYTES = 65_536;
const FOLLOW_MS = 250;

/** Cuts bytes into lines. */
export class LineCutter {
  private readonly onLine: (line: string) => void;
  private readonly decoder = new TextDecoder();
  private rest = "";

  constructor(onLine: (line: string) => void) {
    this.onLine = onLine;
  }

  push(bytes: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = lines.pop()!.slice(0, MAX_LINE_BYTES);
    for (const line of lines) this.onLine(line);
  }

  /** What is left is a line without an end. */
  end(): void {
    const { rest } = this;
    this.rest = "";
    if (rest !== "") this.onLine(rest);
  }
}

/** Reads a file to its end, or standard input for `-`; `.gz` and `.zst` are unpacked. @throws if it cannot be read */
export async function readLines(file: string, onLine: (line: string) => void): Promise<void> {
  const cutter = new LineCutter(onLine);
  for await (const chunk of streamOf(file)) cutter.push(chunk as Uint8Array);
  cutter.end();
}

/**
 * Goes on with what is appended to a file, also if it is cut or another one takes its name.
 * @param isOver asked between reads
 */
export async function followLines(file: string, onLine: (line: string) => void, isOver: () => boolean): Promise<void> {
  const cutter = new LineCutter(onLine);
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let fd = openSync(file, "r");
  let at = 0;
  const readOn = (): void => {
    if (fstatSync(fd).size < at) at = 0;
    for (
      let count = readSync(fd, buffer, 0, READ_BYTES, at);
      count > 0;
      count = readSync(fd, buffer, 0, READ_BYTES, at)
    ) {
      at += count;
      cutter.push(buffer.subarray(0, count));
    }
  };
  while (!isOver()) {
    readOn();
    const inode = inodeOf(file);
    if (inode !== 0 && inode !== fstatSync(fd).ino) {
      readOn();
      closeSync(fd);
      fd = openSync(file, "r");
      at = 0;
      continue;
    }
    await Bun.sleep(FOLLOW_MS);
  }
  closeSync(fd);
}

function inodeOf(file: string): number {
  try {
    return statSync(file).ino;
  } catch {
    return 0;
  }
}

function streamOf(file: string): AsyncIterable<unknown> {
  if (file === "-") return Bun.stdin.stream();
  const plain: Readable = createReadStream(file);
  const unpacker = file.endsWith(".gz") ? createGunzip() : file.endsWith(".zst") ? createZstdDecompress() : null;
  if (unpacker === null) return plain;
  plain.on("error", (error) => unpacker.destroy(error));
  return plain.pipe(unpacker);
}
