import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { latin1 } from "../../src/core/bytes.ts";
import { CacheKey } from "../../src/features/cache/store/cache-key.ts";
import { LookupKind } from "../../src/features/cache/store/cache-lookup.ts";
import {
  createCacheBuffers,
  FillResult,
  MemoryHead,
  Slot,
  SlotState,
} from "../../src/features/cache/store/cache-memory.ts";
import { rebuildCache } from "../../src/features/cache/store/cache-repair.ts";
import { CacheStore } from "../../src/features/cache/store/cache-store.ts";
import { entryOf, factsOf, readBody, storeAnswer, usedBlocks } from "../unit/features/cache/store/store-fill.ts";

const MAX_ENTRIES = 6;
const MAX_BYTES = 64 * 1024;

/** The simplest cache there is: a Map in order of use, whose bytes are counted as the store counts them. */
class Model {
  readonly entries = new Map<string, { body: string; freshUntilMs: number }>();

  use(key: string): { body: string; freshUntilMs: number } | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  store(key: string, body: string, freshUntilMs: number): void {
    this.entries.delete(key);
    while (this.entries.size >= MAX_ENTRIES) this.entries.delete(this.entries.keys().next().value!);
    this.entries.set(key, { body, freshUntilMs });
  }

  invalidate(uri: string): number {
    const gone = [...this.entries.keys()].filter((key) => key.split("|")[0] === uri);
    for (const key of gone) this.entries.delete(key);
    return gone.length;
  }
}

type Step =
  | {
      readonly kind: "store";
      readonly uri: number;
      readonly variant: number;
      readonly size: number;
      readonly ttl: number;
    }
  | { readonly kind: "find"; readonly uri: number; readonly variant: number }
  | { readonly kind: "invalidate"; readonly uri: number }
  | { readonly kind: "abandon"; readonly uri: number }
  | { readonly kind: "hold"; readonly uri: number; readonly variant: number }
  | { readonly kind: "letGo" }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "rebuild" };

const uri = fc.nat(8);
const variant = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("store" as const),
    uri,
    variant,
    size: fc.nat(1500),
    ttl: fc.integer({ min: 1, max: 50 }),
  }),
  fc.record({ kind: fc.constant("find" as const), uri, variant }),
  fc.record({ kind: fc.constant("invalidate" as const), uri }),
  fc.record({ kind: fc.constant("abandon" as const), uri }),
  fc.record({ kind: fc.constant("hold" as const), uri, variant }),
  fc.constant({ kind: "letGo" as const }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(40) }),
);

function keyOf(store: CacheStore, uriNumber: number, variantNumber: number): CacheKey {
  const key = new CacheKey(store.memory.seed);
  // Longer than a block for some, so that keys are cut.
  const text = latin1(`a.test\0/${"x".repeat(uriNumber * 120)}${uriNumber}`);
  key.begin(text.length + 8);
  key.add(text, 0, text.length);
  key.endUri();
  key.addByte(variantNumber);
  key.endVariant();
  return key;
}

describe("the cache's store", () => {
  test("does what a Map in order of use does, whatever is being sent meanwhile", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const store = new CacheStore(createCacheBuffers({ maxEntries: MAX_ENTRIES, maxBytes: MAX_BYTES }, 2, 7), 0);
        const model = new Model();
        const held: { slot: number; body: string }[] = [];
        let now = 1000;
        let serial = 0;
        for (const one of steps) {
          if (one.kind === "pass") now += one.ms;
          else if (one.kind === "store") {
            const body = `${serial++}:${"b".repeat(one.size)}`;
            const key = keyOf(store, one.uri, one.variant);
            expect(storeAnswer(store, key, body, factsOf(now, now + one.ttl))).toBe(true);
            model.store(`${one.uri}|${one.variant}`, body, now + one.ttl);
          } else if (one.kind === "find" || one.kind === "hold") {
            const found = store.find(keyOf(store, one.uri, one.variant), now, false);
            const wanted = model.use(`${one.uri}|${one.variant}`);
            if (wanted === undefined) expect(found.kind).toBe(LookupKind.Nothing);
            else {
              expect(found.kind).toBe(now < wanted.freshUntilMs ? LookupKind.Fresh : LookupKind.Stale);
              const slot = entryOf(found);
              expect(readBody(store, slot)).toBe(wanted.body);
              if (one.kind === "hold") held.push({ slot, body: wanted.body });
              else store.unpin(slot);
            }
          } else if (one.kind === "invalidate") {
            expect(store.invalidate(keyOf(store, one.uri, 0))).toBe(model.invalidate(String(one.uri)));
          } else if (one.kind === "abandon") {
            const key = keyOf(store, one.uri, 3);
            const fill = store.claim(key);
            store.reserve(fill, key, 0, 300);
            store.abandon(fill, FillResult.GivenUp);
            // Room was made for it: what that cost is the store's business, and the test's numbers leave enough.
          } else {
            for (const { slot } of held.splice(0, 1)) store.unpin(slot);
          }
          for (const { slot, body } of held) expect(readBody(store, slot)).toBe(body);
          expect(store.memory.words[MemoryHead.Entries]).toBe(model.entries.size);
        }
        for (const { slot } of held) store.unpin(slot);
        expect(store.memory.words[MemoryHead.Doomed]).toBe(0);
        const before = usedBlocks(store);
        rebuildCache(store.memory, 0);
        expect(usedBlocks(store)).toBe(before);
        expect(store.memory.words[MemoryHead.Entries]).toBe(model.entries.size);
        for (const [name, { body }] of model.entries) {
          const [u, v] = name.split("|").map(Number);
          const slot = entryOf(store.find(keyOf(store, u!, v!), 0, false));
          expect(readBody(store, slot)).toBe(body);
          store.unpin(slot);
        }
        store.purge({ matches: () => true, tags: null, staleSinceMs: -1 });
        expect(usedBlocks(store)).toBe(0);
        for (let slot = 0; slot < store.memory.words[MemoryHead.SlotsUsed]!; slot++)
          expect(store.memory.words[store.memory.at(slot) + Slot.State]).toBe(SlotState.Free);
      }),
      { numRuns: 150 },
    );
  });
});
