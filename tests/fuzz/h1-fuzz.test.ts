import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { fuzzAnswers } from "./answer-fuzz.ts";
import { FuzzOrigin } from "./fuzz-origin.ts";
import { FuzzFailure, LEAST_OF_A_KIND } from "./fuzz-report.ts";
import { NaiveGateway } from "./naive-gateway.ts";
import { fuzzRequests } from "./request-fuzz.ts";

// The smoke run: the same seed each time, so that it fails for what has changed and for nothing else. FUZZ_SEED has another
// one, and h1-fuzz.ts runs for long.
const seed = Number(process.env.FUZZ_SEED ?? 1);
const limits = { seed, rounds: 1_000_000, seconds: 2 };

describe(`fuzz, seed ${seed}`, () => {
  const origin = new FuzzOrigin();
  afterAll(() => origin.stop());

  test.each(["normalize", "passthrough"])("requests, chunks in %s mode", async (mode) => {
    const gateway = await startGateway({
      config: { server: { inbound_chunked_mode: mode, half_close_grace: "serve", access_log: { enabled: false } } },
      routes: [upstream("/node", origin)],
    });
    try {
      const tally = await fuzzRequests(gateway.port, origin, limits);
      expect(Math.min(tally.good, tally.refused)).toBeGreaterThan(LEAST_OF_A_KIND);
    } finally {
      await gateway.stop();
    }
  });

  test("answers of the origin", async () => {
    const gateway = await startGateway({ routes: [upstream("/node", origin)] });
    try {
      const tally = await fuzzAnswers(gateway.port, origin, limits);
      expect(Math.min(tally.good, tally.refused)).toBeGreaterThan(LEAST_OF_A_KIND);
    } finally {
      await gateway.stop();
    }
  });
});

describe("the fuzzer finds fault with a naive gateway", () => {
  test.each([
    ["requests", fuzzRequests],
    ["answers", fuzzAnswers],
  ])("in its handling of %s", async (_name, fuzz) => {
    const origin = new FuzzOrigin();
    const naive = new NaiveGateway(Number(new URL(origin.url).port));
    const failure = await fuzz(naive.port, origin, { seed: 1, rounds: 2000, seconds: 50 }).catch(
      (error: unknown) => error,
    );
    naive.stop();
    origin.stop();
    expect(failure).toBeInstanceOf(FuzzFailure);
  });
});
