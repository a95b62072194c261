import { latin1 } from "../../../../../src/core/bytes.ts";
import { BlockCursor } from "../../../../../src/features/cache/store/cache-blocks.ts";
import { CacheKey } from "../../../../../src/features/cache/store/cache-key.ts";
import { type CacheLookup, LookupKind } from "../../../../../src/features/cache/store/cache-lookup.ts";
import { MemoryHead, Slot } from "../../../../../src/features/cache/store/cache-memory.ts";
import type { CacheStore, EntryFacts } from "../../../../../src/features/cache/store/cache-store.ts";

/** What is known of an answer without fields. */
export function factsOf(storedAtMs: number, freshUntilMs: number, more: Partial<EntryFacts> = {}): EntryFacts {
  return {
    status: 200,
    flags: 0,
    tags: 0,
    fieldCount: 0,
    contentLength: 0,
    storedAtMs,
    freshUntilMs,
    staleWhileUntilMs: 0,
    staleErrorUntilMs: 0,
    ...more,
  };
}

/** The key of a path and a variant in a store. */
export function keyOf(store: CacheStore, path: string, variant = 0): CacheKey {
  return seededKey(store.memory.seed, path, variant);
}

/** The key of a path and a variant. */
export function seededKey(seed: number, path: string, variant = 0): CacheKey {
  const key = new CacheKey(seed);
  const text = latin1(`a.test\0${path}`);
  key.begin(text.length + 8);
  key.add(text, 0, text.length);
  key.endUri();
  key.addByte(variant + 1);
  key.endVariant();
  return key;
}

/** Stores an answer that consists of a body. @returns whether it was stored */
export function storeAnswer(store: CacheStore, key: CacheKey, body: string | Buffer, facts: EntryFacts): boolean {
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
  const fill = store.claim(key);
  if (fill < 0) return false;
  if (!store.reserve(fill, key, 0, bytes.length)) {
    store.abandon(fill, 0);
    return false;
  }
  const half = bytes.length >> 1;
  store.write(fill, 0, bytes, 0, half);
  store.write(fill, half, bytes, half, bytes.length);
  const isStored = store.commit(fill, facts);
  store.unpin(fill);
  return isStored;
}

/** The entry that a look-up has found and pinned; -1 for none. */
export function entryOf(lookup: CacheLookup): number {
  return lookup.kind === LookupKind.Fresh || lookup.kind === LookupKind.Stale ? lookup.entry : -1;
}

/** The body of an entry that is pinned. */
export function readBody(store: CacheStore, slot: number): string {
  const { words } = store.memory;
  const at = store.memory.at(slot);
  const out = Buffer.alloc(words[at + Slot.BodyBytes]!);
  const cursor = new BlockCursor(store.memory);
  cursor.seek(words[at + Slot.FirstBlock]!, store.keyBytesOf(slot) + words[at + Slot.HeadBytes]!);
  cursor.read(out, 0, out.length);
  return out.latin1Slice();
}

/** Blocks that are in use. */
export function usedBlocks(store: CacheStore): number {
  const { words } = store.memory;
  return words[MemoryHead.BlocksUsed]! - words[MemoryHead.FreeBlocks]!;
}
