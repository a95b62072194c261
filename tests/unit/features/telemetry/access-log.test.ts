import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ShownAddresses } from "../../../../src/core/address-mask.ts";
import { Fault } from "../../../../src/core/fault.ts";
import { AccessLog, linePolicy } from "../../../../src/features/telemetry/access-log.ts";
import { LogThreshold } from "../../../../src/features/telemetry/log-level.ts";
import type { Exchange } from "../../../../src/message/exchange.ts";
import { samePolicy } from "../../../harness/same-policy.ts";
import { fakeExchange, fakeRoute } from "./exchange-fake.ts";
import { fakeTelemetry, loggedLines, NAMES, USUAL_LINES } from "./telemetry-fake.ts";

const FIELDS = [
  ["time", "event", "request_id", "client_ip", "method", "host", "path", "protocol", "status", "bytes_in", "bytes_out"],
  ["duration_ms", "upstream", "upstream_ms", "route", "cache", "waf_score", "user_agent", "fault"],
  ["fault_detail", "target", "attempts", "attempt_ms"],
].flat();

function setUp(sample = 1, random: () => number = () => 0) {
  const telemetry = fakeTelemetry();
  const ports = {
    clock: telemetry.clock,
    random,
    namesUsers: false,
    namesTraces: false,
    namesCountries: false,
    names: NAMES,
    threshold: new LogThreshold(),
    addresses: new ShownAddresses(),
  };
  const log = new AccessLog(samePolicy(linePolicy({ ...USUAL_LINES, sample }, telemetry.batch, false, ports)), ports);
  const lineOf = (ex: Exchange): Record<string, unknown> => {
    log.onEnd(ex);
    return loggedLines(telemetry).at(-1)!;
  };
  return { telemetry, log, lineOf };
}

describe("access log", () => {
  test("one line a request with every field in its order", () => {
    const { lineOf } = setUp();
    const { ex } = fakeExchange({
      target: "/node/a%20b?token=secret",
      headers: [
        ["Host", "www.example.com"],
        ["User-Agent", "curl/8"],
      ],
      client: "192.0.2.9",
      route: fakeRoute("/node"),
      status: 200,
      requestId: "abc",
    });
    Object.assign(ex.attempt, { upstreamLabel: "http://10.0.0.1:9000", upstreamMs: 1.23456 });
    Object.assign(ex, { wafScore: 3 });
    Object.assign(ex, { bodyBytes: 5, sentBytes: 10 });
    const line = lineOf(ex);
    expect(Object.keys(line)).toEqual(FIELDS);
    expect(line).toMatchObject({
      time: "2026-01-31T12:00:00.000Z",
      event: "access",
      request_id: "abc",
      client_ip: "192.0.2.9",
      method: "GET",
      host: "www.example.com",
      path: "/node/a%20b",
      protocol: "HTTP/1.1",
      status: 200,
      bytes_in: 5,
      bytes_out: 10,
      duration_ms: 2.5,
      upstream: "http://10.0.0.1:9000",
      upstream_ms: 1.235,
      route: "/node",
      cache: null,
      waf_score: 3,
      user_agent: "curl/8",
      fault: null,
    });
    ex.fault = Fault.UpstreamTimeout;
    expect(lineOf(ex).fault).toBe("upstream_timeout");
  });

  test("what is not known is null", () => {
    const { lineOf } = setUp();
    const { ex } = fakeExchange({ headers: [] });
    ex.request.targetTo = ex.request.targetFrom;
    expect(lineOf(ex)).toMatchObject({
      request_id: null,
      host: null,
      path: null,
      upstream: null,
      upstream_ms: null,
      cache: null,
      user_agent: null,
      route: "unmatched",
      status: 499,
    });
  });

  test("nothing that a client sends leaves its field, its line or its length", () => {
    const hostile = fc
      .array(fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(0x22, 0x5c, 0x0a, 0x7f, 0x9b)), {
        maxLength: 3000,
      })
      .map((bytes) => String.fromCharCode(...bytes));
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (method, path, host, userAgent) => {
        const { telemetry, lineOf } = setUp();
        const target = `/${path.replace(/[?#]/g, "")}`;
        const { ex } = fakeExchange({
          method: `X${method}`,
          target,
          headers: [
            ["Host", host],
            ["User-Agent", userAgent],
          ],
        });
        const line = lineOf(ex);
        const text = telemetry.batches.join("");
        expect(text.indexOf("\n")).toBe(text.length - 1);
        expect(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(text)).toBe(false);
        expect(Object.keys(line)).toEqual(FIELDS);
        expect(line.path).toBe(target.length > 1024 ? `${target.slice(0, 1024)}…` : target);
        if (host !== "") expect(line.host).toBe(host.length > 255 ? `${host.slice(0, 255)}…` : host);
        expect((line.method as string).length).toBeLessThanOrEqual(33);
      }),
    );
  });

  test("sampling takes its share", () => {
    let draw = 0;
    const { telemetry, log } = setUp(0.25, () => (draw++ % 100) / 100);
    for (let i = 0; i < 1000; i++) log.onEnd(fakeExchange({ status: 200 }).ex);
    expect(loggedLines(telemetry).length).toBe(250);
  });

  test("sample 0 logs nothing, and sample 1 asks no chance", () => {
    const none = setUp(0);
    none.log.onEnd(fakeExchange().ex);
    expect(loggedLines(none.telemetry)).toEqual([]);
    const all = setUp(1, () => {
      throw new Error("asked");
    });
    all.log.onEnd(fakeExchange().ex);
    expect(loggedLines(all.telemetry).length).toBe(1);
  });
});
