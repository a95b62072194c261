import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Ends the processes that have a folder in their command line: a test that is cut short leaves its gateways behind. */
export function endProcessesIn(folder: string): void {
  if (!existsSync("/proc/self/cmdline")) return;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`${folder}/`)) process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
