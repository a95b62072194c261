import { describe, expect, test } from "bun:test";
import { HealthHandler } from "../../../../src/features/admin/health-handler.ts";
import { StatusHandler } from "../../../../src/features/admin/status-handler.ts";
import { uptimeText } from "../../../../src/features/admin/uptime.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import type { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

function seen(reply: PrebuiltResponse | undefined) {
  return {
    status: reply?.status,
    fields: Object.fromEntries(reply?.fields ?? []),
    body: JSON.parse(reply?.body.toString("utf8") ?? "null"),
  };
}

const JSON_FIELDS = { "Content-Type": "application/json", "Cache-Control": "no-store" };

describe("/health", () => {
  test("is ok until the process drains", () => {
    const handler = new HealthHandler();
    const { ex, sink } = fakeExchange();
    expect(handler.handle(ex)).toBe(Verdict.Done);
    expect(seen(sink.fixedReplies[0])).toEqual({ status: 200, fields: JSON_FIELDS, body: { status: "ok" } });
    handler.draining = true;
    handler.handle(ex);
    expect(seen(sink.fixedReplies[1])).toEqual({ status: 503, fields: JSON_FIELDS, body: { status: "draining" } });
  });
});

describe("/api/status", () => {
  test("four strings, and the uptime goes on", () => {
    const running = { nowMs: 3_723_900 };
    const handler = new StatusHandler(running);
    const { ex, sink } = fakeExchange();
    for (const nowMs of [3_723_900, 3_723_950, 3_724_900]) {
      running.nowMs = nowMs;
      handler.handle(ex);
    }
    const [first, second, third] = sink.fixedReplies;
    expect(seen(first)).toEqual({
      status: 200,
      fields: JSON_FIELDS,
      body: {
        server: "edge",
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        uptime: "1h2m3s",
        engine: `bun/${Bun.version}`,
      },
    });
    expect(second).toBe(first!);
    expect(seen(third).body.uptime).toBe("1h2m4s");
  });

  const uptimes: [number, string][] = [
    [0, "0s"],
    [59.9, "59s"],
    [60, "1m0s"],
    [3600, "1h0m0s"],
    [3723, "1h2m3s"],
    [360_000, "100h0m0s"],
    [-5, "0s"],
  ];
  test.each(uptimes)("%d seconds are %s", (seconds, text) => {
    expect(uptimeText(seconds)).toBe(text);
  });
});
