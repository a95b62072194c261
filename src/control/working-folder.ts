import { isWorkingFolderDeleted } from "../config/made-folder.ts";
import type { WriteEvent } from "../facts/events.ts";
import { startFacts } from "./binary-path.ts";

/** How often the folder is examined. */
const LOOK_MS = 500;

/**
 * The folder that the process works in, which may be deleted and made anew while it runs: the process would stay in the deleted one, in
 * which no relative path leads anywhere and no new binary starts. It moves to the new one as soon as that is there.
 */
class WorkingFolder {
  private readonly path: string = startFacts().cwd;
  private isGone = false;

  /** Moves to the folder that is in the deleted one's place. @returns the fault, or "" */
  heal(): string {
    if (!isWorkingFolderDeleted()) return "";
    try {
      process.chdir(this.path);
      return "";
    } catch {
      return `the working folder ${this.path} is gone: make it again`;
    }
  }

  /** Moves, and tells the log when the folder has gone and when it is there again. */
  look(event: WriteEvent): void {
    const wasDeleted = isWorkingFolderDeleted();
    const error = this.heal();
    const wasGone = this.isGone;
    this.isGone = error !== "";
    if (error === "") {
      if (wasGone || wasDeleted) event("working_folder", { ok: true, folder: this.path });
    } else if (!wasGone) event("working_folder", { ok: false, folder: this.path, error });
  }
}

let folder: WorkingFolder | null = null;

/** Begins to look after the folder that the process was started in. */
export function keepWorkingFolder(event: WriteEvent): void {
  const kept = new WorkingFolder();
  folder = kept;
  setInterval(() => kept.look(event), LOOK_MS);
}

/** Why no process can be started in the folder now, or "". */
export function workingFolderFault(): string {
  return folder?.heal() ?? "";
}
