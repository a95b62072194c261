import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binaryPathOf } from "../../../src/control/binary-path.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "edge-path-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function release(name: string): string {
  const path = join(folder, name, "edge");
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(path, name);
  chmodSync(path, 0o755);
  return path;
}

/** Lets a link lead elsewhere, at once. */
function link(target: string): void {
  symlinkSync(join(folder, target), join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "current"));
}

const facts = (running: string, startedMs: number) => ({
  name: join(folder, "current", "edge"),
  cwd: "/",
  path: "",
  running,
  startedMs,
});

test("a link that leads to another release by now is the path all the same", async () => {
  const first = release("one");
  release("two");
  link("one");
  expect(binaryPathOf(facts(first, Date.now()))).toBe(join(folder, "current", "edge"));
  await Bun.sleep(20);
  const startedMs = Date.now() - 10;
  await Bun.sleep(20);
  link("two");
  expect(binaryPathOf(facts(first, startedMs))).toBe(join(folder, "current", "edge"));
});

test("a name that was never true is not", async () => {
  const running = release("three");
  release("one");
  await Bun.sleep(50);
  expect(binaryPathOf({ ...facts(running, Date.now()), name: join(folder, "one", "edge") })).toBe(running);
  expect(binaryPathOf({ ...facts(running, 0), name: join(folder, "nowhere", "edge") })).toBe(running);
});
