import { closeSync, openSync, readSync } from "node:fs";
import { ConvertFault } from "./statement.ts";

/**
 * The text of a configuration: of a file, a pipe, or "-" for standard input.
 * @throws ConvertFault if it is no text in UTF-8, or has more than 64 MiB, and errors of the system if it cannot be read
 */
export function readSource(path: string): string {
  const fault = (line: number, what: string): ConvertFault => new ConvertFault({ file: path, line }, what);
  const bytes = readBytes(path);
  if (bytes === null) throw fault(0, `more than ${MAX_SOURCE_BYTES / 1_048_576} MiB, which is no configuration`);
  if (bytes.includes(0)) throw fault(0, "it is no text");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const text = new TextDecoder().decode(bytes);
    throw fault(
      text.split("\uFFFD")[0]!.split("\n").length,
      "no text in UTF-8: change its encoding first, as iconv does",
    );
  }
}

/** Null if there is more than a configuration has: a device has no end. */
function readBytes(path: string): Buffer | null {
  const from = path === "-" ? 0 : openSync(path, "r");
  const parts: Buffer[] = [];
  try {
    for (let total = 0; total <= MAX_SOURCE_BYTES; ) {
      const part = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(from, part, 0, CHUNK_BYTES, null);
      if (length === 0) return Buffer.concat(parts);
      parts.push(part.subarray(0, length));
      total += length;
    }
    return null;
  } finally {
    if (from !== 0) closeSync(from);
  }
}

/** So much a configuration may have, and all that it includes together. */
export const MAX_SOURCE_BYTES = 64 * 1_048_576;
const CHUNK_BYTES = 262_144;
