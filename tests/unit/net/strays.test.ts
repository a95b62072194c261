import { expect, test } from "bun:test";
import { join } from "node:path";

const STRAYS = join(import.meta.dir, "..", "..", "..", "src", "net", "strays.ts");
const SCRIPT = `
const { catchStrays } = await import(${JSON.stringify(STRAYS)});
catchStrays((what, error) => console.log(JSON.stringify([what, String(error?.message ?? error)])));
process.emitWarning("odd");
setTimeout(() => { throw new Error("late"); });
void Promise.reject(new Error("never"));
setTimeout(() => console.log('["still","here"]'), 50);
`;

test("what escapes in a thread is told, and ends nothing", async () => {
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], { stdout: "pipe", stderr: "pipe" });
  const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, errors]).toEqual([0, ""]);
  const lines = out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as string[]).toSorted()).toEqual([
    ["a rejection that nothing handled", "never"],
    ["a warning of the runtime", "odd"],
    ["an exception that nothing caught", "late"],
    ["still", "here"],
  ]);
});
