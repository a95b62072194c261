import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "../../../harness/run-process.ts";

const CHILD = new URL("./stalled-log-child.ts", import.meta.url).pathname;

interface Outcome {
  readonly report: { readonly sent: number; readonly dropped: number };
  readonly read: string;
}

/**
 * Runs the child for so many turns with its standard output going to `destination`, the rest of a shell command in which
 * `$2` is a named pipe that says when the child has ended.
 * @param drainMs how long the child waits in the end for its reader
 */
async function logInto(destination: string, turns: number, drainMs = 500): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "edge-log-"));
  const isOver = join(folder, "over");
  try {
    expect(Bun.spawnSync(["mkfifo", isOver]).exitCode).toBe(0);
    const command = `{ "$0" "$1" ${turns} ${drainMs}; test -n "$3" || echo over >"$2"; } ${destination}`;
    const waits = destination.includes("$2") ? [] : ["nobody waits"];
    const run = await runProcess(["sh", "-c", command, process.execPath, CHILD, isOver, ...waits], {
      timeout: LIMIT_MS,
    });
    return { report: JSON.parse(run.stderr) as Outcome["report"], read: run.stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Only for a child that hangs. */
const LIMIT_MS = 50_000;

describe("a log on standard output", () => {
  test("a pipe that nobody reads stops neither the loop nor the end", async () => {
    // The reader goes when the child has ended, and no sooner.
    const { report } = await logInto('| cat "$2" >/dev/null', 120);
    expect(report.dropped).toBeGreaterThan(1000);
  });

  test("a reader that comes back gets whole lines, and hears how many it missed", async () => {
    const { report, read } = await logInto("| { sleep 1; cat; }", 300, 40_000);
    const lines = read.split("\n").slice(0, -1);
    const told = lines
      .map((line) => JSON.parse(line) as { event: string; lines?: number })
      .filter(({ event }) => event === "log_dropped")
      .reduce((sum, { lines: missed }) => sum + missed!, 0);
    const logged = lines.filter((line) => line.startsWith('{"event":"x"')).length;
    expect(told).toBeGreaterThan(0);
    expect(told).toBe(report.dropped);
    expect(logged).toBe(report.sent - report.dropped);
  });

  test("a reader that is gone, and a full disk, cost lines alone", async () => {
    const closed = await logInto("| true", 40);
    expect(closed.report.dropped).toBeGreaterThan(0);
    const full = await logInto("> /dev/full", 40);
    expect(full.report.dropped).toBe(full.report.sent);
  });
});
