import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { release } from "node:os";

/** Since when the kernel takes a thread's wish. */
const [major = 0, minor = 0] = process.platform === "linux" ? release().split(".").map(Number) : [];
const isTaken = major > 6 || (major === 6 && minor >= 12);
if (!isTaken) console.error("skipped: turns of a length of their own want Linux 6.12");

test.skipIf(!isTaken)("a thread asks for short turns; those that it starts have the usual ones", async () => {
  const path = new URL("../../../src/net/thread-turns.ts", import.meta.url).pathname;
  // In a process of its own: this one keeps its turns.
  const code = `
    import { askForTimeSlice } from ${JSON.stringify(path)};
    const before = [askForTimeSlice(200), askForTimeSlice(100)];
    const thread = new Worker(URL.createObjectURL(new Blob(["postMessage('')"])));
    await new Promise((resolve) => { thread.onmessage = resolve; });
    console.log(JSON.stringify(before));
    await Bun.stdin.text();`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe("[true,true]\n");
  // sched(5) of /proc is only there where the kernel was built with it.
  const turns = sliceOf(`/proc/${child.pid}/task/${child.pid}/sched`);
  if (turns !== null) expect(turns).toBeCloseTo(0.1, 3);
  await child.stdin.end();
  expect(await child.exited).toBe(0);
});

/** Milliseconds. */
function sliceOf(path: string): number | null {
  try {
    const line = /^se\.slice\s*:\s*([\d.]+)$/m.exec(readFileSync(path, "latin1"));
    return line === null ? null : Number(line[1]) / 1e6;
  } catch {
    return null;
  }
}
