import { afterAll, afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { FileCache, FileEntry, type FileShelf } from "../../../../src/features/files/file-cache.ts";
import { FileHandler } from "../../../../src/features/files/file-handler.ts";
import { ask, get, TestSite } from "./test-site.ts";

const RESOURCE = { status: 200, contentType: "text/plain", cacheControl: "" };

function entry(target: string): FileEntry {
  return new FileEntry(RESOURCE, target, [], 0);
}

describe("bounds", () => {
  test("the oldest goes first", () => {
    const cache = new FileCache(1_000_000, 3);
    const shelf = cache.shelf();
    for (const key of ["a", "b", "c", "d"]) shelf.put(key, entry(key));
    expect(keysOf(shelf)).toEqual(["b", "c", "d"]);
  });

  test("what was asked for gets a second chance", () => {
    const cache = new FileCache(1_000_000, 3);
    const shelf = cache.shelf();
    for (const key of ["a", "b", "c"]) shelf.put(key, entry(key));
    shelf.find("a");
    shelf.put("d", entry("d"));
    expect(shelf.find("a")?.target).toBe("a");
    expect(shelf.find("b")).toBeNull();
  });

  test("a crawl does not evict what is asked for all the time", () => {
    const cache = new FileCache(1_000_000, 100);
    const shelf = cache.shelf();
    shelf.put("hot", entry("hot"));
    for (let i = 0; i < 10_000; i++) {
      expect(shelf.find("hot")).not.toBeNull();
      shelf.put(`cold${i}`, entry("cold"));
    }
    expect(cache.size).toBe(100);
  });

  test("bytes are bounded too, over all shelves", () => {
    const site = new TestSite();
    const cache = new FileCache(150_000);
    const ports = { cache, clock: site.clock, defer: () => {} };
    const mounts = [0, 1].map(
      () =>
        new FileHandler(
          { dir: site.dir, prefix: "/", spa: false, fallback: "", cacheControl: "", recheckMs: 100 },
          ports,
        ),
    );
    for (let i = 0; i < 20; i++) {
      site.write(`f${i}`, Buffer.alloc(30_000, i));
      for (const mount of mounts) expect(get(mount, `/f${i}`).sent.length).toBe(30_000);
      expect(cache.usedBytes).toBeLessThanOrEqual(150_000);
    }
    expect(cache.size).toBe(4);
    site.dispose();
  });

  test("replacing and removing keep the count right", () => {
    const cache = new FileCache();
    const shelf = cache.shelf();
    for (let i = 0; i < 10; i++) shelf.put("a", entry(`${i}`));
    expect(cache.size).toBe(1);
    shelf.remove("a");
    shelf.remove("a");
    expect([cache.size, cache.usedBytes]).toEqual([0, 0]);
  });

  test("an entry larger than the cache is not kept, and nothing breaks", () => {
    const cache = new FileCache(10, 10);
    const shelf = cache.shelf();
    shelf.put("a", entry("a"));
    expect([cache.size, cache.usedBytes, shelf.find("a")]).toEqual([0, 0, null]);
  });

  function keysOf(shelf: FileShelf): string[] {
    return ["a", "b", "c", "d"].filter((key) => shelf.find(key) !== null);
  }
});

describe("what is held", () => {
  const site = new TestSite();
  const calls = ["openSync", "statSync", "fstatSync", "lstatSync", "readSync", "readlinkSync", "realpathSync"] as const;
  let spies: ReturnType<typeof spyOn>[] = [];
  beforeEach(() => {
    spies = calls.map((name) => spyOn(fs, name));
  });
  afterEach(() => {
    for (const spy of spies) spy.mockRestore();
  });
  afterAll(() => site.dispose());

  /** Calls of the file system since the last time. */
  function diskCalls(): number {
    const sum = spies.reduce((total, spy) => total + spy.mock.calls.length, 0);
    for (const spy of spies) spy.mockClear();
    return sum;
  }

  test("a small file is read once and looked for ten times a second at most", () => {
    const handler = site.mount();
    site.write("hot.txt", "hot");
    expect(get(handler, "/hot.txt").text).toBe("hot");
    const first = diskCalls();
    for (let i = 0; i < 9; i++) {
      site.wait(10);
      const sink = get(handler, "/hot.txt");
      expect([sink.text, sink.wasFixed]).toEqual(["hot", true]);
    }
    expect(ask(handler, "HEAD", "/hot.txt").text).toBe("");
    expect(get(handler, "/hot.txt", { "If-None-Match": "*" }).status).toBe(304);
    expect(get(handler, "/hot.txt", { Range: "bytes=0-1" }).text).toBe("ho");
    if (first > 0) expect(diskCalls()).toBe(0);
    site.wait(100);
    expect(get(handler, "/hot.txt").text).toBe("hot");
  });

  test("a change is seen after a tenth of a second at the latest", () => {
    const handler = site.mount();
    site.write("changes.txt", "one");
    expect(get(handler, "/changes.txt").text).toBe("one");
    site.write("changes.txt", "two", 3599);
    site.wait(99);
    expect(get(handler, "/changes.txt").text).toBe("one");
    site.wait(1);
    expect(get(handler, "/changes.txt").text).toBe("two");
  });

  test("a change that leaves size and mtime alone is seen too", () => {
    const handler = site.mount();
    site.write("sly.txt", "one");
    expect(get(handler, "/sly.txt").text).toBe("one");
    site.write("sly.txt", "two");
    site.wait(1000);
    expect(get(handler, "/sly.txt").text).toBe("two");
  });

  test("a deleted file is gone soon", () => {
    const handler = site.mount();
    const path = site.write("deleted.txt", "x");
    expect(get(handler, "/deleted.txt").status).toBe(200);
    fs.unlinkSync(path);
    site.wait(1000);
    expect(get(handler, "/deleted.txt").status).toBe(404);
    site.write("deleted.txt", "back");
    expect(get(handler, "/deleted.txt").text).toBe("back");
  });

  test("a clock that is set back asks the disk again", () => {
    const handler = site.mount();
    site.write("back.txt", "one");
    expect(get(handler, "/back.txt").text).toBe("one");
    site.write("back.txt", "two", 10);
    site.wait(-60_000);
    expect(get(handler, "/back.txt").text).toBe("two");
    site.wait(60_000);
  });

  test("sizes around the bound", () => {
    const handler = site.mount();
    for (const [size, held] of [
      [65535, true],
      [65536, true],
      [65537, false],
    ] as const) {
      site.write(`s${size}`, Buffer.alloc(size, 7));
      const sink = get(handler, `/s${size}`);
      expect([sink.sent.length, sink.length, sink.wasFixed, sink.ended]).toEqual([size, size, held, true]);
    }
  });

  test("other spellings of a path share what is held", () => {
    const handler = site.mount();
    site.write("same.txt", "same");
    get(handler, "/same.txt");
    const size = site.cache.size;
    for (const target of ["/%73ame.txt", "//same.txt", "/x/../same.txt", "/same.txt?q"]) {
      expect(get(handler, target).text).toBe("same");
    }
    expect(site.cache.size).toBe(size);
  });

  test("misses are not held", () => {
    const handler = site.mount({ spa: true, fallback: "same.txt" });
    get(handler, "/nothing");
    const size = site.cache.size;
    for (let i = 0; i < 50; i++) get(handler, `/nothing${i}`);
    expect(site.cache.size).toBe(size);
  });
});
