import { describe, expect, test } from "bun:test";

const CHILD = new URL("./stalled-log-child.ts", import.meta.url).pathname;

interface Outcome {
  readonly report: { readonly sent: number; readonly dropped: number; readonly longestGapMs: number };
  readonly read: string;
  readonly tookMs: number;
}

/**
 * Runs the child for `durationMs` with its standard output going to `destination`, the rest of a shell command.
 * `tookMs` is when the child was gone, be its reader still there.
 */
async function logInto(destination: string, durationMs: number): Promise<Outcome> {
  const startMs = performance.now();
  const command = `{ "$0" "$1" ${durationMs}; echo >&2; } ${destination}`;
  const shell = Bun.spawn(["sh", "-c", command, process.execPath, CHILD], { stdout: "pipe", stderr: "pipe" });
  const read = new Response(shell.stdout).text();
  let said = "";
  let tookMs = 0;
  for await (const piece of shell.stderr) {
    said += Buffer.from(piece).toString("utf8");
    if (tookMs === 0 && said.includes("\n")) tookMs = performance.now() - startMs;
  }
  return { report: JSON.parse(said) as Outcome["report"], read: await read, tookMs };
}

describe("a log on standard output", () => {
  test("a pipe that nobody reads stops neither the loop nor the end", async () => {
    const { report, tookMs } = await logInto("| sleep 3", 600);
    expect(report.dropped).toBeGreaterThan(1000);
    expect(report.longestGapMs).toBeLessThan(400);
    expect(tookMs).toBeLessThan(2900);
  });

  test("a reader that comes back gets whole lines, and hears how many it missed", async () => {
    const { report, read } = await logInto("| { sleep 1; cat; }", 1500);
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
    const closed = await logInto("| true", 200);
    expect(closed.report.dropped).toBeGreaterThan(0);
    const full = await logInto("> /dev/full", 200);
    expect(full.report.dropped).toBe(full.report.sent);
  });
});
