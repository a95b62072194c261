import { describe, expect, test } from "bun:test";
import type { CacheKey } from "../../../../../src/features/cache/store/cache-key.ts";
import { type DiskEntry, DiskIndex } from "../../../../../src/features/cache/store/disk-index.ts";
import { createDiskIndex } from "../../../../../src/features/cache/store/disk-layout.ts";
import { seededKey } from "./store-fill.ts";

const THREADS = 4;
const SEED = 5;

function keyOf(path: string, variant = 0): CacheKey {
  return seededKey(SEED, path, variant);
}

function entryOf(key: CacheKey, row: number, offset: number, more: Partial<DiskEntry> = {}): DiskEntry {
  const { uriHash, variantHash } = key;
  const times = { storedAtMs: 1000, freshUntilMs: 5000, staleWhileUntilMs: 7000, staleErrorUntilMs: 0 };
  return { uriHash, variantHash, row, offset, totalBytes: 100, flags: 1, tags: 0, ...times, ...more };
}

/** An index as one worker and the thread of the disk see it, with one segment. */
function opened() {
  const buffer = createDiskIndex({ maxBytes: 1 << 22 }, THREADS);
  const worker = new DiskIndex(buffer, 0);
  const disk = new DiskIndex(buffer, THREADS - 1);
  const row = disk.addSegment(40);
  disk.endLoading();
  disk.open(true);
  return { buffer, worker, disk, row };
}

describe("an index of what is on disk", () => {
  test("finds an entry by its key while it is open, and holds its segment until it is released", () => {
    const { worker, disk, row } = opened();
    disk.insert(entryOf(keyOf("/a"), row, 64));
    expect(worker.find(keyOf("/b"))).toBeNull();
    expect(worker.find(keyOf("/a", 1))).toBeNull();
    const place = worker.find(keyOf("/a"))!;
    expect(place).toMatchObject({ row, fd: 40, offset: 64, totalBytes: 100, flags: 1, freshUntilMs: 5000 });
    expect(disk.isRead(row)).toBe(true);
    worker.release(place);
    expect(disk.isRead(row)).toBe(false);
    disk.close();
    expect(worker.find(keyOf("/a"))).toBeNull();
  });

  test("has one entry of a key: the last; marks are to be written over the others", () => {
    const { worker, disk, row } = opened();
    disk.insert(entryOf(keyOf("/a"), row, 64));
    disk.insert(entryOf(keyOf("/a"), row, 200));
    expect([worker.find(keyOf("/a"))!.offset, disk.entries, disk.liveIn(row)]).toEqual([200, 1, 1]);
    expect(disk.takePending()).toEqual([{ fd: 40, offset: 64, staleSinceMs: -1 }]);
    expect(disk.takePending()).toEqual([]);
  });

  test("takes out a resource with all its variants, and counts those that count", () => {
    const { worker, disk, row } = opened();
    for (const variant of [0, 1, 2]) disk.insert(entryOf(keyOf("/a", variant), row, variant * 100));
    disk.insert(entryOf(keyOf("/b"), row, 900));
    const known = keyOf("/a", 1).variantHash;
    expect(worker.removeUri(keyOf("/a").uriHash, -1, (variantHash) => variantHash !== known)).toBe(2);
    expect([worker.find(keyOf("/a", 1)), disk.entries]).toEqual([null, 1]);
    expect(disk.takePending()).toHaveLength(3);
    worker.remove(keyOf("/b").uriHash, keyOf("/b").variantHash);
    expect(disk.entries).toBe(0);
  });

  test("makes an entry stale once, and tells its file", () => {
    const { worker, disk, row } = opened();
    disk.insert(entryOf(keyOf("/a"), row, 64));
    const { uriHash, variantHash } = keyOf("/a");
    worker.makeStale(uriHash, variantHash, 2000);
    expect(worker.find(keyOf("/a"))).toMatchObject({
      freshUntilMs: 2000,
      staleWhileUntilMs: 4000,
      staleErrorUntilMs: 0,
    });
    expect(disk.takeOutAt({ uriHash, variantHash, row, offset: 64 }, 2000)).toBe(false);
    expect(disk.takePending()).toEqual([{ fd: 40, offset: 64, staleSinceMs: 2000 }]);
    expect(disk.takeOutAt({ uriHash, variantHash, row, offset: 65 }, -1)).toBe(false);
    expect(disk.takeOutAt({ uriHash, variantHash, row, offset: 64 }, -1)).toBe(true);
  });

  test("drops what was read and is damaged, unless another entry is in its place", () => {
    const { worker, disk, row } = opened();
    disk.insert(entryOf(keyOf("/a"), row, 64));
    const place = worker.find(keyOf("/a"))!;
    disk.insert(entryOf(keyOf("/a"), row, 200));
    worker.drop(place, keyOf("/a"));
    expect(disk.entries).toBe(1);
    worker.drop(worker.find(keyOf("/a"))!, keyOf("/a"));
    expect(disk.entries).toBe(0);
  });

  test("gives the cells of a segment that goes to others", () => {
    const { worker, disk, row } = opened();
    const other = disk.addSegment(41);
    const hasRoom = (): boolean => disk.hasRoom;
    let count = 0;
    for (; hasRoom(); count++) disk.insert(entryOf(keyOf(`/${count}`), count % 2 === 0 ? row : other, count));
    worker.remove(keyOf("/0").uriHash, keyOf("/0").variantHash);
    expect(disk.clearSegment(row)).toBe(Math.ceil(count / 2) - 1);
    expect([disk.entries, hasRoom()]).toEqual([Math.floor(count / 2), true]);
    expect(disk.takePending()).toEqual([]);
    disk.freeRow(row);
    expect(disk.addSegment(42)).toBe(row);
    disk.insert(entryOf(keyOf("/new"), row, 1));
    expect(worker.find(keyOf("/new"))!.fd).toBe(42);
  });

  test("is whole again after a thread has ended within a change, and its segments are free", () => {
    const { buffer, worker, disk, row } = opened();
    for (let i = 0; i < 500; i++) disk.insert(entryOf(keyOf(`/${i}`), row, i));
    worker.find(keyOf("/7"));
    worker.remove(keyOf("/8").uriHash, keyOf("/8").variantHash);
    const words = new Int32Array(buffer);
    // The lock is its, buckets and lists are anything.
    words[0] = 1;
    words.fill(99, 32, 32 + 512);
    disk.threadDied(0);
    expect([disk.entries, disk.isRead(row)]).toEqual([499, false]);
    for (let i = 0; i < 500; i++) expect(worker.find(keyOf(`/${i}`)) === null).toBe(i === 8);
    expect(disk.takePending()).toHaveLength(1);
    expect(disk.clearSegment(row)).toBe(499);
  });

  test("takes out what was taken out while the files were read", () => {
    const { worker, disk, row } = opened();
    disk.close();
    disk.beginLoading();
    worker.remove(keyOf("/a").uriHash, keyOf("/a").variantHash);
    worker.removeUri(keyOf("/b").uriHash, -1, () => true);
    for (const path of ["/a", "/b", "/c"]) disk.insert(entryOf(keyOf(path), row, 64));
    expect(disk.endLoading()).toBe(true);
    disk.open(true);
    expect([worker.has(keyOf("/a")), worker.has(keyOf("/b")), worker.has(keyOf("/c"))]).toEqual([false, false, true]);
    disk.beginLoading();
    for (let i = 0; i < 20_000; i++) worker.remove(i, 0);
    expect(disk.endLoading()).toBe(false);
    expect(disk.endLoading()).toBe(true);
  });

  test("queues entries of the memory, and counts those that find it full", () => {
    const { worker, disk } = opened();
    worker.enqueue(3, 8, 1);
    worker.enqueue(4, 9, 1);
    expect([disk.dequeue(), disk.dequeue(), disk.dequeue()]).toEqual([[3, 8, 1], [4, 9, 1], null]);
    for (let i = 0; i < 16_384 + 5; i++) worker.enqueue(i, 0, 1);
    expect(disk.missed).toBe(5);
    disk.stopWriting();
    worker.enqueue(1, 1, 1);
    expect(disk.missed).toBe(5);
  });
});
