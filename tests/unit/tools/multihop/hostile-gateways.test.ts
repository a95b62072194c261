import { describe, expect, test } from "bun:test";
import { FrameType } from "../../../../src/proto/h2/frame.ts";
import { chooseScenarios, type Scenario } from "../../../../src/tools/multihop/catalogue.ts";
import { encodeHopFrame } from "../../../../src/tools/multihop/h2-frames.ts";
import { runScenarios } from "../../../../src/tools/multihop/multihop-run.ts";
import { buildReport } from "../../../../src/tools/multihop/report.ts";
import { hasPassed } from "../../../../src/tools/multihop/scenario-result.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";

// Whatever answers instead of a gateway: the run comes to its end, and nothing passes.

const random = new SeededRandom(1);
const noise = Buffer.from(Array.from({ length: 50_000 }, () => random.integer(0, 255)));
const settings = encodeHopFrame(FrameType.Settings, 0, 0, Buffer.alloc(0));
const canary = (n: number) => {
  const body = JSON.stringify({ status: "canary_ok", sequence: n });
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

const ANSWERS: Readonly<Record<string, (count: number) => Buffer | string | null>> = {
  "closes at once": () => null,
  "says nothing": () => "",
  "sends noise": () => noise,
  "sends too much": () => `HTTP/1.1 200 OK\r\n\r\n${"a".repeat(400_000)}`,
  "never ends its head": () => `HTTP/1.1 200 OK\r\nX: ${"a".repeat(1000)}`,
  "sends interim answers only": () => "HTTP/1.1 100 Continue\r\n\r\n".repeat(100),
  "answers everything with 200": () => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  "refuses everything": () => "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
  "answers everything as a canary": (n) => canary(n),
  "sends terminal codes": () => `HTTP/1.1 200 \x1b[31m\r\nContent-Length: 8\r\n\r\n\x1b[2J\x9b2J\n`,
  "sends terminal codes for a status line": () => "HTTP/1.1 \x1b[31m\x9b2J\r\n\r\n",
  "answers twice": (n) => canary(n) + canary(n),
  "speaks broken HTTP/2": () => Buffer.concat([settings, encodeHopFrame(FrameType.GoAway, 0, 0, Buffer.from([1]))]),
  "resets with nothing inside": () =>
    Buffer.concat([settings, encodeHopFrame(FrameType.RstStream, 0, 1, Buffer.alloc(0))]),
};

describe("a server that", () => {
  test.each(Object.keys(ANSWERS))("%s", async (name) => {
    let count = 0;
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket) => {
          const answer = ANSWERS[name]!(++count);
          if (answer === null) socket.end();
          else socket.write(answer);
        },
      },
    });
    const endpoint = { hostname: "127.0.0.1", port: server.port };
    const scenarios = chooseScenarios([], ["go"]) as Scenario[];
    const results = await runScenarios({
      scenarios,
      h1: endpoint,
      h2: endpoint,
      answerMs: 30,
      witnesses: new Map(),
      signal: new AbortController().signal,
      onResult: () => {},
      onAbsent: () => {},
    });
    server.stop(true);
    expect(results.filter(hasPassed)).toEqual([]);
    const findings = results.flatMap((each) => each.findings.map(({ text }) => text));
    expect(findings.filter((text) => /[\x00-\x1f\x7f-\x9f]/.test(text) || text.length > 1000)).toEqual([]);
    const facts = { startedAtMs: 0, durationMs: 1, target: "", mode: "live", isSimulated: false } as const;
    const report = buildReport({ ...facts, planned: scenarios.length, isInterrupted: false, results });
    expect([report.overall_verdict, report.total_scenarios]).toEqual(["FAIL", 10]);
    expect(JSON.stringify(report).length).toBeLessThan(2_000_000);
  });
});
