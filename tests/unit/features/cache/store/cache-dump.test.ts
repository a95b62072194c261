import { describe, expect, test } from "bun:test";
import { dumpEntries, loadEntries } from "../../../../../src/features/cache/store/cache-dump.ts";
import { LookupKind } from "../../../../../src/features/cache/store/cache-lookup.ts";
import { createCacheBuffers, Slot, SlotFlag, SlotTime } from "../../../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../../../src/features/cache/store/cache-store.ts";
import { entryOf, factsOf, keyOf, readBody, storeAnswer, usedBlocks } from "./store-fill.ts";

const DUMPED_AT = 5000;
const LOADED_AT = 90;
const ENTRIES = 12;

function newStore(seed: number, maxEntries = 100): CacheStore {
  return new CacheStore(createCacheBuffers({ maxEntries, maxBytes: 1 << 22 }, 2, seed), 0);
}

function bodyOf(i: number): string {
  return `${i}`.repeat(1 + i * 97);
}

function dumpOf(store: CacheStore): Buffer {
  const pieces: Buffer[] = [];
  for (const _ of dumpEntries(store, DUMPED_AT, (bytes) => pieces.push(Buffer.from(bytes))));
  return Buffer.concat(pieces);
}

function load(store: CacheStore, bytes: Buffer): number {
  let at = 0;
  return loadEntries(store, LOADED_AT, (length) => {
    if (at + length > bytes.length) return null;
    at += length;
    return bytes.subarray(at - length, at);
  });
}

function filled(): CacheStore {
  const store = newStore(1);
  for (let i = 0; i < ENTRIES; i++) {
    const facts = factsOf(i + 1, 6000 + i, {
      flags: SlotFlag.Public,
      tags: i << 28,
      contentLength: i,
      staleErrorUntilMs: 7000,
    });
    storeAnswer(store, keyOf(store, `/${"x".repeat(i)}`, i), bodyOf(i), facts);
  }
  return store;
}

describe("a dump", () => {
  test("gives another store the same entries, with times as far from now as they were", () => {
    const other = newStore(99, 50);
    expect(load(other, dumpOf(filled()))).toBe(ENTRIES);
    for (let i = 0; i < ENTRIES; i++) {
      const key = keyOf(other, `/${"x".repeat(i)}`, i);
      const found = other.find(key, LOADED_AT + 999, false);
      expect(found.kind).toBe(LookupKind.Fresh);
      const entry = entryOf(found);
      const { words, times } = other.memory;
      const at = other.memory.at(entry);
      expect(readBody(other, entry)).toBe(bodyOf(i));
      expect([words[at + Slot.Flags], words[at + Slot.Tags], words[at + Slot.Status]]).toEqual([2, i << 28, 200]);
      const time = (which: SlotTime) => times[entry * SlotTime.Count + which]!;
      expect(time(SlotTime.StoredAt) - LOADED_AT).toBe(i + 1 - DUMPED_AT);
      expect(time(SlotTime.FreshUntil) - LOADED_AT).toBe(1000 + i);
      expect([time(SlotTime.StaleWhileUntil), time(SlotTime.StaleErrorUntil)]).toEqual([0, LOADED_AT + 2000]);
      expect(time(SlotTime.ContentLength)).toBe(i);
      other.unpin(entry);
    }
  });

  test("may be handed on again, though its times are before the clock began", () => {
    const second = newStore(2);
    load(second, dumpOf(filled()));
    const third = newStore(3);
    const pieces: Buffer[] = [];
    for (const _ of dumpEntries(second, LOADED_AT, (bytes) => pieces.push(Buffer.from(bytes))));
    expect(load(third, Buffer.concat(pieces))).toBe(ENTRIES);
    const found = third.find(keyOf(third, "/xxx", 3), LOADED_AT, false);
    expect(found.kind).toBe(LookupKind.Fresh);
    expect(third.memory.times[entryOf(found) * SlotTime.Count]! - LOADED_AT).toBe(4 - DUMPED_AT);
  });

  test("that is cut anywhere gives the whole entries before the cut, and nothing of the others", () => {
    const bytes = dumpOf(filled());
    let last = 0;
    for (let length = 0; length <= bytes.length; length += 13) {
      const other = newStore(5);
      const count = load(other, bytes.subarray(0, length));
      expect(count).toBeGreaterThanOrEqual(last);
      last = count;
      for (let i = 0; i < ENTRIES; i++) {
        const found = other.find(keyOf(other, `/${"x".repeat(i)}`, i), LOADED_AT, false);
        expect(found.kind).toBe(i < count ? LookupKind.Fresh : LookupKind.Nothing);
        if (found.kind === LookupKind.Fresh) other.unpin(found.entry);
      }
    }
    expect(last).toBe(ENTRIES - 1);
  });

  test("with a byte that is another gives no entry from there on, and holds no memory", () => {
    const bytes = dumpOf(filled());
    for (let at = 0; at < bytes.length; at += 7) {
      const torn = Buffer.from(bytes);
      torn[at] = torn[at]! ^ 0x41;
      const other = newStore(6);
      expect(load(other, torn)).toBeLessThan(ENTRIES);
      other.purge({ matches: () => true, tags: null, staleSinceMs: -1 });
      expect(usedBlocks(other)).toBe(0);
    }
  });

  test("leaves out what does not fit, and what is not an entry yet", () => {
    const store = filled();
    store.claim(keyOf(store, "/on-its-way"));
    const small = newStore(7, 5);
    expect(load(small, dumpOf(store))).toBe(ENTRIES);
    expect(small.find(keyOf(small, `/${"x".repeat(11)}`, 11), LOADED_AT, false).kind).toBe(LookupKind.Fresh);
    expect(small.find(keyOf(small, "/", 0), LOADED_AT, false).kind).toBe(LookupKind.Nothing);
  });
});
