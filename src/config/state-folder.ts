import { resolve } from "node:path";

/**
 * The folder for state that outlives the process: the first folder of systemd's `StateDirectory=`, else `.edge-state` in the working folder.
 * docs/operations.md#what-outlives-the-process
 */
export function stateFolderOf(env: Readonly<Record<string, string | undefined>>, cwd: string): string {
  const [folder = ""] = (env.STATE_DIRECTORY ?? "").split(":");
  return folder === "" ? resolve(cwd, STATE_FOLDER) : folder;
}

const STATE_FOLDER = ".edge-state";
