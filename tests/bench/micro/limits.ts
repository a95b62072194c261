// What a request pays for a limit: of one gateway, and of a fleet whose store answers at once.
import { FleetBuckets, FleetRate } from "../../../src/features/limit/fleet-buckets.ts";
import { BucketRate, createTokenBuckets, TokenBuckets } from "../../../src/memory/token-bucket.ts";
import { bench } from "../micro.ts";

const CLIENTS = Array.from({ length: 64 }, (_, i) => Buffer.from(`192.0.2.${i}`));
const PER_SECOND = 30_000;

const own = new TokenBuckets(createTokenBuckets(new Uint8Array(16)));
const ownKey = own.keyFor("bench client");
const ownRate = new BucketRate(PER_SECOND, 1000, PER_SECOND);
let nowMs = 0;
let at = 0;

/** Ten requests a millisecond. */
function step(): Buffer {
  nowMs += 0.1;
  at = (at + 1) & 63;
  return CLIENTS[at]!;
}

bench("limits: of one gateway", () => {
  const client = step();
  ownKey.hash(client, 0, client.length);
  return own.take(ownKey, ownRate, Math.floor(nowMs));
});

const works: { atMs: number; work: () => void }[] = [];
const fleet = new FleetBuckets({
  nowMs: () => nowMs,
  later: (work, afterMs) => void works.push({ atMs: nowMs + afterMs, work }),
  ask: (calls, answer) => answer(calls.map(({ want }) => ({ granted: want, left: PER_SECOND / 2, waitMs: 0 }))),
  count() {},
});
fleet.use(true, 4, 2, 200);
const fleetKey = fleet.keyFor("bench client");
const fleetRate = new FleetRate(PER_SECOND, 1000, PER_SECOND);

bench("limits: of a fleet", () => {
  const client = step();
  fleetKey.hash(client, 0, client.length);
  const waitMs = fleet.take(fleetKey, fleetRate, nowMs);
  while (works.length > 0 && works[0]!.atMs <= nowMs) works.shift()!.work();
  return waitMs;
});
