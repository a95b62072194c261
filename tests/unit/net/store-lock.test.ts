import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { StoreLock } from "../../../src/net/store-lock.ts";

const dir = mkdtempSync(join(tmpdir(), "edge-lock-"));
beforeEach(() => rmSync(join(dir, "lock"), { force: true }));
afterAll(() => rmSync(dir, { recursive: true }));

test("one holds it at a time", () => {
  const [a, b] = [new StoreLock(dir), new StoreLock(dir)];
  expect([a.take(), b.take()]).toEqual([true, false]);
  b.release();
  expect(b.take()).toBe(false);
  a.release();
  expect(b.take()).toBe(true);
  b.release();
  expect(readdirSync(dir)).toEqual([]);
});

test("one that a dead process of this machine left behind is broken", () => {
  const gone = Bun.spawnSync(["true"]).pid;
  writeFileSync(join(dir, "lock"), `${hostname()} ${gone} x`);
  const lock = new StoreLock(dir);
  expect(lock.take()).toBe(true);
  lock.release();
});

test("one that a process with the number of a living one left behind is broken: in a container all are number 1", () => {
  writeFileSync(join(dir, "lock"), `${hostname()} ${process.pid} x 12345`);
  const lock = new StoreLock(dir);
  expect(lock.take()).toBe(true);
  lock.release();
});

test("one of another machine is broken when nobody has touched it for a while", () => {
  const file = join(dir, "lock");
  writeFileSync(file, "elsewhere 1 x");
  const lock = new StoreLock(dir);
  expect(lock.take()).toBe(false);
  const past = Date.now() / 1000 - 60;
  utimesSync(file, past, past);
  expect(lock.take()).toBe(true);
  lock.release();
});

test("one that was taken away is not released over its new holder", () => {
  const file = join(dir, "lock");
  const lock = new StoreLock(dir);
  expect(lock.take()).toBe(true);
  writeFileSync(file, "elsewhere 1 x");
  lock.release();
  expect(readdirSync(dir)).toEqual(["lock"]);
});
