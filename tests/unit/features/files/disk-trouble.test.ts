import { afterAll, afterEach, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { Fault } from "../../../../src/core/fault.ts";
import { get, TestSite, trial } from "./test-site.ts";

const site = new TestSite();
const spies: { mockRestore(): void }[] = [];
afterAll(() => site.dispose());
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
  expect(site.openFiles()).toBe(0);
});

/** Lets a call of the file system fail with a code. */
function failing(name: "openSync" | "fstatSync" | "readSync", code: string): void {
  const spy = spyOn(fs, name).mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  spies.push(spy);
}

/** Runs something behind each reading of a file, at most so many times. */
function afterReads(times: number, run: () => void): void {
  const read = fs.readSync;
  let left = times;
  const spy = spyOn(fs, "readSync").mockImplementation(((...args: Parameters<typeof read>) => {
    const length = read(...args);
    if (left-- > 0) run();
    return length;
  }) as typeof read);
  spies.push(spy);
}

for (const code of ["EMFILE", "ENFILE", "EIO"]) {
  test(`${code} on opening is the gateway's fault, not the client's`, () => {
    site.write("a.txt", "a");
    failing("openSync", code);
    const fault = code === "EIO" ? Fault.InternalError : Fault.OutOfDescriptors;
    expect(get(site.mount(), "/a.txt").fault).toBe(fault);
    expect(get(site.mount({ spa: true }), "/a.txt").fault).toBe(fault);
  });
}

test("a file that opens and cannot be looked at", () => {
  site.write("a.txt", "a");
  failing("fstatSync", "EIO");
  expect(get(site.mount(), "/a.txt").fault).toBe(Fault.InternalError);
});

test("a small file that cannot be read", () => {
  site.write("a.txt", "a");
  failing("readSync", "EIO");
  expect(get(site.mount(), "/a.txt").fault).toBe(Fault.InternalError);
});

test("a large file that cannot be read any more is cut", () => {
  site.write("large", Buffer.alloc(400_000));
  const { ex, sink } = trial("GET", "/large");
  sink.takes = 1;
  site.mount().handle(ex);
  failing("readSync", "EIO");
  sink.release(ex, 9);
  expect([sink.status, sink.fault, sink.ended]).toEqual([200, Fault.InternalError, false]);
});

test("a small file that changes while it is read is read again", () => {
  site.write("restless.txt", "one");
  afterReads(1, () => site.write("restless.txt", "three", 100));
  const sink = get(site.mount(), "/restless.txt");
  expect([sink.text, sink.length]).toEqual(["three", 5]);
  expect(sink.field("Last-Modified")).toBe("Mon, 01 Jun 2026 11:58:20 GMT");
});

test("a small file that never holds still is not answered with a mixture", () => {
  let size = 3;
  site.write("restless.txt", "x".repeat(size));
  afterReads(Number.POSITIVE_INFINITY, () => site.write("restless.txt", "x".repeat(++size), size));
  const sink = get(site.mount(), "/restless.txt");
  expect([sink.ended, sink.fault]).toEqual([false, Fault.InternalError]);
});

test("a small file that grows large while it is read is streamed", () => {
  site.write("grows.txt", "small");
  afterReads(1, () => site.write("grows.txt", Buffer.alloc(100_000, "x"), 100));
  const sink = get(site.mount(), "/grows.txt");
  expect([sink.length, sink.sent.length, sink.wasFixed, sink.ended]).toEqual([100_000, 100_000, false, true]);
});
