import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { dirname } from "node:path/posix";

/** Reads a file; "" if it is not there. */
type FileText = (path: string) => string;

/** A control group of version 1 says this, or more, for no limit. */
const NO_LIMIT_BYTES = 2 ** 62;

/** Memory that the process may have, in bytes: the machine's, or less by its control groups. cgroups(7) */
export function memoryLimit(read: FileText = fileText, machine: number = totalmem()): number {
  const limits = groupFolders(read, "memory").flatMap((folder) =>
    ["memory.max", "memory.limit_in_bytes"].map((name) => Number(read(`${folder}/${name}`).trim() || "max")),
  );
  return Math.min(machine, ...limits.filter((limit) => limit > 0 && limit < NO_LIMIT_BYTES));
}

/** Processors that the process may use: the machine's, or less by its control groups; not always a whole number. */
export function processorLimit(read: FileText = fileText, machine: number = availableParallelism()): number {
  const limits = groupFolders(read, "cpu").flatMap((folder) => {
    const [quota = "", period = ""] = read(`${folder}/cpu.max`).trim().split(/\s+/);
    const older = Number(read(`${folder}/cpu.cfs_quota_us`)) / Number(read(`${folder}/cpu.cfs_period_us`));
    return [Number(quota) / Number(period), older];
  });
  return Math.min(machine, ...limits.filter((limit) => limit > 0));
}

/** The folders of the process's control groups and of those around them, of both versions. */
function groupFolders(read: FileText, controller: string): readonly string[] {
  const folders: string[] = [];
  for (const line of read("/proc/self/cgroup").split("\n")) {
    const [, names = "", path = ""] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === "" || (names !== "" && !names.split(",").includes(controller))) continue;
    const root = names === "" ? "/sys/fs/cgroup" : `/sys/fs/cgroup/${controller}`;
    for (let at = path; ; at = dirname(at)) {
      folders.push(at === "/" ? root : `${root}${at}`);
      if (at === "/") break;
    }
  }
  return folders;
}

function fileText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
