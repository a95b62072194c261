import { normalize } from "node:path";
import { quote } from "../../config/config-fault.ts";
import type { Spot } from "../../config/piece.ts";
import { messageOf } from "../../core/error-text.ts";
import { type ListReader, MAX_LIST_FAULTS, readList } from "../../memory/list-file.ts";

/** A list's file: its absolute path, and as the configuration names it. */
interface NamedList {
  readonly file: string;
  readonly name: string;
}

/** Reads a list, and warns of each line that is left out, at its place in the file. A file that cannot be read is a fault at its key. */
export function noteListFaults(
  kind: string,
  { file, name }: NamedList,
  reader: ListReader,
  { log, path }: Pick<Spot, "log" | "path">,
): void {
  try {
    const { faults, faultCount } = readList(kind, file, reader);
    for (const { line, message } of faults)
      log.noteAt({ file: normalize(name), line, col: 1 }, `${message}; this line is left out`, true);
    if (faultCount > MAX_LIST_FAULTS)
      log.warn(path, `${faultCount - MAX_LIST_FAULTS} further lines of ${quote(name)} are left out`);
  } catch (error) {
    log.fault(path, `expected a list in a file, found ${quote(name)}: ${messageOf(error)}`);
  }
}
