import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { samples } from "../harness/long-lane.ts";
import { BenignClient, describeBenign, successPercent } from "./benign-client.ts";
import { attackSlowly, peakMbOf, SHORT_TIMEOUTS, SLOW_MODES, startSlowOrigin } from "./slow-attack.ts";
import { spoolFilesOf, uploadSlowly } from "./slow-uploads.ts";

const MIB = 1024 * 1024;
const MIN_SUCCESS_PERCENT = 99.9;
const hasTool = Bun.which("slowhttptest") !== null;
if (!hasTool) console.log("skipped: slow clients need slowhttptest (Debian: apt install slowhttptest)");

describe.skipIf(!hasTool)("slowhttptest", () => {
  const size = { connections: 300, perSecond: 300, seconds: 40 };
  /** Generous: what it guards against is memory in proportion to what the attacker asks for. */
  const maxPeakMb = 500;
  let origin: EchoOrigin;
  let gateway: Gateway;

  beforeAll(async () => {
    origin = startSlowOrigin();
    gateway = await startGateway({
      config: { server: SHORT_TIMEOUTS },
      routes: [upstream("/node", origin), { type: "static", prefix: "/static", dir: "site" }],
      files: { "site/page.txt": "a line of text\n".repeat(5000) },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    origin.stop();
  });

  const modes = SLOW_MODES.filter((_, i) => i % samples(1, SLOW_MODES.length) === 0);
  test.each(modes.map((mode) => [mode.name, mode] as const))(
    "%s: others are served, and the slow are cut",
    async (name, mode) => {
      const result = await attackSlowly(gateway, mode, size);
      const { benign, allCutMs, mostOpen, peakMb, exitStatus } = result;
      console.log(
        `${name}: ${mostOpen} connections at most, all cut after ${allCutMs?.toFixed(0) ?? "-"} ms, ` +
          `peak ${peakMb?.toFixed(0) ?? "-"} MiB, ${describeBenign(benign)}; slowhttptest: ${exitStatus}`,
      );
      expect(benign.examples.join("; ")).toBe("");
      expect(successPercent(benign)).toBeGreaterThanOrEqual(MIN_SUCCESS_PERCENT);
      expect(allCutMs).toBeLessThan(size.seconds * 1000);
      expect(result.isServiceAvailable).toBe(true);
      if (peakMb !== null) expect(peakMb).toBeLessThan(maxPeakMb);
    },
    120_000,
  );
});

describe("a thousand slow chunked uploads of 4 MiB", () => {
  const plan = { clients: 1000, bodyBytes: 4 * MIB, pieceBytes: 16384, pauseMs: 30 };
  const budgetMb = 64;
  /** The bodies are 4,000 MiB together. Most of what is beyond the budget is memory that has not been collected yet. */
  const maxPeakMb = 600;

  test("use the room that there is and no more; those beyond are told to come again", async () => {
    const origin = startSlowOrigin();
    const gateway = await startGateway({
      config: {
        server: { access_log: { enabled: false } },
        proxy: { transport: { max_spooled_bytes: `${budgetMb}MiB` } },
      },
      routes: [upstream("/node", origin)],
    });
    const benign = new BenignClient(gateway.port, "/node/canary");
    const tally = await uploadSlowly(gateway, plan);
    const met = await benign.stop();
    const peakMb = peakMbOf(gateway);
    console.log(
      `slow uploads: ${tally.completed} completed, ${tally.turnedAway} got 503, ${tally.mostSpoolFiles ?? "-"} spool ` +
        `files at most, peak ${peakMb?.toFixed(0) ?? "-"} MiB, ${describeBenign(met)}`,
    );
    expect(tally.wrong).toEqual([]);
    expect(tally.completed + tally.turnedAway).toBe(plan.clients);
    // Room for `budget / body` at once: fewer only while their blocks change hands.
    expect(tally.completed).toBeGreaterThan(budgetMb / 4 / 2);
    expect(tally.turnedAway).toBeGreaterThan(0);
    expect(successPercent(met)).toBeGreaterThanOrEqual(MIN_SUCCESS_PERCENT);
    if (peakMb !== null) expect(peakMb).toBeLessThan(maxPeakMb);
    if (tally.mostSpoolFiles !== null) expect(tally.mostSpoolFiles).toBeGreaterThan(0);
    await eventually(() => expect(spoolFilesOf(gateway) ?? 0).toBe(0));
    const again = await uploadSlowly(gateway, { ...plan, clients: 8, pauseMs: 1 });
    expect([again.completed, again.wrong]).toEqual([8, []]);
    await gateway.stop();
    origin.stop();
  }, 120_000);
});
