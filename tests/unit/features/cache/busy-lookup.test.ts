// A look-up that does not get the lock of the cache: docs/cache.md#concurrent-misses
import { expect, test } from "bun:test";
import { Clock } from "../../../../src/core/clock.ts";
import { NetworkSet } from "../../../../src/core/network-set.ts";
import type { CachePolicy } from "../../../../src/features/cache/policy.ts";
import { ResponseCache } from "../../../../src/features/cache/response-cache.ts";
import { createCacheBuffers, MemoryHead } from "../../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../../src/features/cache/store/cache-store.ts";
import { CACHE_LOOKUP_MS } from "../../../../src/features/cache/waiters.ts";
import { CacheResult } from "../../../../src/message/cache-result.ts";
import { Exchange, type Handler, Pipeline, type Route, Verdict } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";
import { Framing } from "../../../../src/message/request-head.ts";
import { RequestParser } from "../../../../src/proto/h1/request-parser.ts";

const POLICY: CachePolicy = {
  defaultTtlMs: 60_000,
  maxPayloadBytes: 1 << 20,
  namesRequests: false,
  bypassesCookies: true,
  demandsCertificates: false,
  isConfirmed: false,
  passedFields: [],
  mayChange: false,
  key: null,
};
const OTHER_THREAD = 9;

function fail(error: unknown): never {
  throw error;
}

/** A cache, and how many of its requests went on to the origin. */
class Lab {
  readonly store: CacheStore = new CacheStore(createCacheBuffers({ maxEntries: 100, maxBytes: 1 << 22 }, 2, 1), 0);
  readonly turn = { nowMs: 1000 };
  sent = 0;
  private readonly cache: ResponseCache;

  constructor() {
    this.cache = new ResponseCache(this.store, [POLICY], false, {
      times: { clock: new Clock(() => this.turn.nowMs), ages: this.turn },
      time: { now: () => this.turn.nowMs, inTurn: (work) => work(), onException: fail },
      idle: IDLE_PORTS,
      counter: { cacheStored() {}, cacheInvalidated() {} } as never,
      showsKeys: false,
      purgers: new NetworkSet([]),
      nameRequest: () => {},
      readNow: () => null,
      purgeDisk: (_, done) => done(0),
      onPurged() {},
      onInvalidated: null,
      fetchPhases: [],
      endTaps: [],
    });
  }

  /** @param held by another thread, or by none */
  lock(held: boolean): void {
    Atomics.store(this.store.memory.words, MemoryHead.Lock, held ? OTHER_THREAD : 0);
  }

  private send(): Verdict {
    this.sent++;
    return Verdict.Done;
  }

  /** The fetch of a whole response that has been begun for a part of it. */
  background: Exchange | null = null;

  /** The origin responds to what was fetched in the background. */
  respond(body: string): void {
    const own = this.background!;
    const { response: reply } = own;
    reply.status = 200;
    reply.framing = Framing.Length;
    reply.contentLength = body.length;
    reply.headers.resetOwn();
    reply.headers.add("Cache-Control", "public, max-age=60");
    reply.headers.add("Set-Cookie", "a=1");
    own.sink.head(own);
    own.sink.body(own, Buffer.from(body), 0, body.length);
    own.sink.end(own);
  }

  ask(fields = ""): { readonly ex: Exchange; readonly verdict: Verdict } {
    const bytes = Buffer.from(`GET /a HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`);
    const ex = new Exchange(IDLE_PORTS);
    const dispatch = { name: "dispatch", run: () => this.send() };
    ex.request.reset(bytes);
    const parser = new RequestParser(65_536);
    parser.begin(0);
    parser.parse(bytes, bytes.length, ex.request);
    ex.open(IDLE_PORTS.sink, IDLE_PORTS.flow, ex.client, new Pipeline([this.cache.phase, dispatch], [], []));
    const handle = (own: Exchange): Verdict => {
      this.background = own;
      return Verdict.Done;
    };
    ex.route = { index: 0, init: {}, handler: { name: "origin", handle } as Handler } as Route;
    ex.startedMs = this.turn.nowMs;
    ex.phases = [this.cache.phase, dispatch];
    ex.step = 1;
    const verdict = this.cache.phase.run(ex);
    if (verdict === Verdict.Next) ex.pipeline.resume(ex);
    return { ex, verdict };
  }
}

test("looks again when the lock is free, and one alone goes to the origin", async () => {
  const lab = new Lab();
  lab.lock(true);
  const asked = [lab.ask(), lab.ask(), lab.ask()];
  expect(asked.map(({ verdict }) => verdict)).toEqual([Verdict.Wait, Verdict.Wait, Verdict.Wait]);
  await Bun.sleep(20);
  expect(lab.sent).toBe(0);
  lab.lock(false);
  await Bun.sleep(30);
  expect(lab.sent).toBe(1);
  expect(asked.map(({ ex }) => ex.cacheResult).sort()).toEqual([CacheResult.None, CacheResult.None, CacheResult.Miss]);
  for (const { ex } of asked) ex.cacheUse?.release();
});

test("goes to the origin by itself once it has tried for long enough", async () => {
  const lab = new Lab();
  lab.lock(true);
  lab.ask();
  lab.turn.nowMs += CACHE_LOOKUP_MS + 1;
  await Bun.sleep(20);
  expect(lab.sent).toBe(1);
});

test("is given up with its client", async () => {
  const lab = new Lab();
  lab.lock(true);
  lab.ask().ex.cacheUse!.release();
  lab.lock(false);
  await Bun.sleep(20);
  expect(lab.sent).toBe(0);
});

test("a part whose own fetch has ended is told of as fetched, with the cookies that came", async () => {
  const lab = new Lab();
  const { ex, verdict } = lab.ask("Range: bytes=0-1\r\n");
  expect(verdict).toBe(Verdict.Wait);
  lab.respond("whole");
  lab.lock(true);
  await Bun.sleep(20);
  lab.lock(false);
  await Bun.sleep(20);
  expect(lab.sent).toBe(0);
  expect(ex.response.status).toBe(206);
  expect(ex.cacheResult).toBe(CacheResult.Miss);
  expect(ex.response.extra).not.toBeNull();
  ex.cacheUse?.release();
});

test("the time that it has waited for another's fetch does not count as time in which it tried", async () => {
  const lab = new Lab();
  const { ex, verdict } = lab.ask("Range: bytes=0-1\r\n");
  expect(verdict).toBe(Verdict.Wait);
  lab.turn.nowMs += CACHE_LOOKUP_MS + 1;
  lab.respond("whole");
  lab.lock(true);
  await Bun.sleep(20);
  lab.lock(false);
  await Bun.sleep(20);
  expect(lab.sent).toBe(0);
  expect(ex.cacheResult).toBe(CacheResult.Miss);
  ex.cacheUse?.release();
});
