// The model of the store gives what the script gives in Redis.
import { describe, expect, test } from "bun:test";
import { TAKE_SCRIPT } from "../../src/features/fleet/fleet-script.ts";
import type { BucketReply } from "../../src/message/bucket-call.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { ModelledStore } from "./modelled-store.ts";
import { VirtualTime } from "./virtual-time.ts";

/** So long that the time between two calls does not matter. */
const UNIT_US = 3_600_000_000;
const CAPACITY = 100;

describe.skipIf(REDIS === null)("the modelled store", () => {
  test("grants and leaves what the script does", async () => {
    const redis = await RedisServer.start();
    const time = new VirtualTime();
    const store = new ModelledStore(time, { roundTripMs: 1, callsPerMs: 10 });
    const random = new SeededRandom(7);
    for (let i = 0; i < 40; i++) {
      const [spent, want] = [random.integer(0, 4), random.integer(0, 6)];
      const words = ["k", UNIT_US, UNIT_US * CAPACITY, spent, want].map(String);
      const text = await redis.command("EVAL", TAKE_SCRIPT.text, "1", ...words);
      const [granted, left] = text.split("\n").map(Number);
      const found = Promise.withResolvers<BucketReply>();
      const call = { key: "k", unitUs: UNIT_US, capacityUs: UNIT_US * CAPACITY, spent, want };
      store.ask([call], (replies) => found.resolve(replies![0]!));
      time.runTo(time.nowMs + 10);
      expect(await found.promise).toMatchObject({ granted: granted!, left: left! });
    }
    await redis.stop();
  });
});
