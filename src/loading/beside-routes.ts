import type { ConfigFault } from "../config/config-fault.ts";
import { readConfigText } from "../config/config-file.ts";
import { SharedParts } from "../config/shared-parts.ts";
import type { RouteOrigin } from "../routes/route-source.ts";
import type { RoutePart } from "./joined-routes.ts";
import type { RouteFile } from "./route-folder.ts";

/** A list that has faults, which its source has been left without. */
export interface LeftFile extends RouteOrigin {
  readonly faults: readonly ConfigFault[];
  /** Whether its last good routes serve in its place. */
  readonly isKept: boolean;
}

/** A list of routes beside routes.yaml. */
export interface BesideRoutes {
  readonly file: RouteFile;
  /** Null if nothing of it serves. */
  readonly part: RoutePart | null;
  readonly left: LeftFile | null;
}

interface GoodList {
  readonly text: string;
  /** Of the file that had the text; "" if only reading it tells whether it still has. */
  readonly stamp: string;
  readonly part: RoutePart;
  /** How many warnings it has by itself. */
  readonly warnings: number;
}

/** The lists of an earlier load, for files that turn faulty and for unchanged ones. */
export class RouteMemory {
  private readonly good: Map<string, GoodList> = new Map();

  /** The folder of routes as it was when it could be read. */
  private folder: { readonly path: string; readonly files: readonly RouteFile[] } | null = null;
  private parts: SharedParts = new SharedParts();

  /** Equal parts of routes; new for a whole load, so that parts without a route go. */
  partsFor(isPartial: boolean): SharedParts {
    if (!isPartial) this.parts = new SharedParts();
    return this.parts;
  }

  /** The routes of a file whose text is still this; null for another. */
  unchanged(path: string, text: string): RoutePart | null {
    const known = this.good.get(path);
    if (known?.text !== text) return null;
    // Notes from beside the other lists come anew.
    known.part.log.warnings.length = known.warnings;
    known.part.log.faults.length = 0;
    return known.part;
  }

  /** The same for a file that has not been written to. */
  untouched(path: string, stamp: string): RoutePart | null {
    const known = this.good.get(path);
    return known === undefined || stamp === "" || known.stamp !== stamp ? null : this.unchanged(path, known.text);
  }

  noteFolder(path: string, files: readonly RouteFile[]): void {
    this.folder = { path, files };
  }

  /** The files of a folder that cannot be read any more, as they were; null if they are not known. */
  folderOf(path: string): readonly RouteFile[] | null {
    if (this.folder?.path !== path) return null;
    return this.folder.files.flatMap((one) => {
      const text = this.textOf(one.file.path);
      return text === null ? [] : { ...one, stamp: "", file: { ...one.file, bytes: Buffer.from(text) } };
    });
  }

  textOf(path: string): string | null {
    return this.good.get(path)?.text ?? null;
  }

  note(path: string, text: string, stamp: string, part: RoutePart): void {
    this.good.set(path, { text, stamp, part, warnings: part.log.warnings.length });
  }

  /** Files that are gone are forgotten. */
  keepOnly(paths: ReadonlySet<string>): void {
    for (const path of this.good.keys()) if (!paths.has(path)) this.good.delete(path);
  }
}

/**
 * Reads the lists that stand beside routes.yaml. A list that may be left out is, if it has faults; its last good text serves in its place.
 * @param isReused whether what stays as it was need not be read again
 * @param read makes routes of a text
 */
export function besideRoutes(
  files: readonly RouteFile[],
  memory: RouteMemory | null,
  isReused: boolean,
  read: (file: RouteFile, text: string | ConfigFault) => RoutePart,
): BesideRoutes[] {
  memory?.keepOnly(new Set(files.map(({ file }) => file.path)));
  return files.map((file) => {
    const { path } = file.file;
    const { stamp = "" } = file;
    const untouched = isReused ? (memory?.untouched(path, stamp) ?? null) : null;
    if (untouched !== null) return { file, part: untouched, left: null };
    const text = textOf(file);
    const known = isReused && typeof text === "string" ? (memory?.unchanged(path, text) ?? null) : null;
    const part = known ?? read(file, text);
    if (part.log.faults.length === 0) {
      if (typeof text === "string") memory?.note(path, text, stamp, part);
      return { file, part, left: null };
    }
    if (!file.isLeftOut) return { file, part, left: null };
    const before = file.isNeverKept === true ? null : (memory?.textOf(path) ?? null);
    const kept = before === null ? null : read(file, before);
    const isKept = kept !== null && kept.log.faults.length === 0;
    return { file, part: isKept ? kept : null, left: { ...part.origin, faults: part.log.faults, isKept } };
  });
}

function textOf({ file, fault }: RouteFile): string | ConfigFault {
  return fault === undefined ? readConfigText(file) : { file: file.name, line: 0, col: 0, path: "", message: fault };
}
