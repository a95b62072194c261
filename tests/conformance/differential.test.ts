import { afterAll, describe, expect, test } from "bun:test";
import { NaiveGateway } from "../fuzz/naive-gateway.ts";
import { samples } from "../harness/long-lane.ts";
import { Differential, DifferentialFailure, type DifferentialTally } from "./differential.ts";

// Whatever the gateway accepts and forwards is understood alike by real parsers behind it. The same seed each time, so that
// it fails for what has changed and for nothing else; DIFFERENTIAL_SEED and DIFFERENTIAL_COUNT have others, and
// differential-run.ts runs by hand.
const seed = Number(process.env.DIFFERENTIAL_SEED ?? 1);
const count = Number(process.env.DIFFERENTIAL_COUNT ?? samples(10_000, 1500));
/** A slow machine does fewer, and the line at the end says so. */
const MAX_SECONDS = 100;

const differential = await Differential.start();
afterAll(() => differential.stop());
for (const line of differential.absent) console.log(`skipped: differential ${line}`);

describe(`the same bytes to every origin, seed ${seed}`, () => {
  // One origin alone could still see a request twice; only a comparison needs two.
  test.skipIf(differential.laneNames.length === 0)(
    `${count} mutations are understood alike, each seen once`,
    async () => {
      const tally = await differential.run({ seed, count, seconds: MAX_SECONDS });
      console.log(`differential: ${describeTally(tally)}, by ${differential.laneNames.join(", ")}, seed ${seed}`);
      expect(Math.min(tally.forwarded, tally.gateway)).toBeGreaterThan(tally.mutations / 10);
    },
    (MAX_SECONDS + 20) * 1000,
  );
});

test.skipIf(differential.laneNames.length === 0)(
  "a naive gateway is found out",
  async () => {
    const naive = await Differential.start(async (url) => new NaiveGateway(Number(new URL(url).port)));
    const failure = await naive
      .run({ seed: 1, count: samples(2000, 1000), seconds: 100 })
      .catch((error: unknown) => error);
    await naive.stop();
    expect(failure).toBeInstanceOf(DifferentialFailure);
  },
  150_000,
);

function describeTally({ mutations, forwarded, gateway, refusedByOrigin }: DifferentialTally): string {
  return (
    `${mutations} of ${count} mutations, ${forwarded} requests forwarded, ${gateway} answered by the gateway, ` +
    `${refusedByOrigin} refused by a rule of one origin alone`
  );
}
