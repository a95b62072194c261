import { describe, expect, test } from "bun:test";
import { RateLimit } from "../../../../src/features/limit/rate-limit.ts";
import { RateLimitPhase } from "../../../../src/features/limit/rate-limit-phase.ts";
import type { RateLimitConfig } from "../../../../src/features/limit/settings.ts";
import { createTokenBuckets, TokenBuckets } from "../../../../src/memory/token-bucket.ts";
import { type Exchange, Verdict } from "../../../../src/message/exchange.ts";
import { type FakeRequest, fakeExchange, fakeRoute } from "../telemetry/exchange-fake.ts";

function limitOf(
  more: Partial<Omit<RateLimitConfig, "more">> = {},
  buckets = new TokenBuckets(createTokenBuckets([1, 2])),
) {
  const config: Omit<RateLimitConfig, "more"> = {
    enabled: true,
    requests: 1,
    windowMs: 1000,
    burst: 1,
    key: "client_ip",
    keyHeader: "",
    ipv6Prefix: 64,
    headers: false,
    status: 429,
    reach: "node",
    scope: "server",
    ...more,
  };
  return new RateLimit(config, buckets, "server");
}

/** Whether a limit that admits one request each takes these for the same. */
function share(limit: RateLimit, first: FakeRequest, second: FakeRequest): boolean {
  expect(limit.take(fakeExchange(first).ex, 5000)).toBe(0);
  return limit.take(fakeExchange(second).ex, 5000) > 0;
}

describe("the key", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.1", "192.0.2.2", false],
    ["192.0.2.1", "192.0.2.11", false],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["::1", "::2", true],
    ["", "192.0.2.1", false],
  ])("client_ip: %s and %s share a bucket: %p", (first, second, expected) => {
    expect(share(limitOf(), { client: first }, { client: second })).toBe(expected);
  });

  test("client_ip is the real client's", () => {
    const limit = limitOf();
    const { ex } = fakeExchange({ client: "10.0.0.1" });
    ex.forwardedIp = "203.0.113.9";
    expect(limit.take(ex, 5000)).toBe(0);
    ex.forwardedIp = "203.0.113.10";
    expect(limit.take(ex, 5000)).toBe(0);
    expect(share(limit, { client: "10.0.0.1" }, { client: "203.0.113.9" })).toBe(true);
  });

  const header = (name: string, value: string, client = "192.0.2.1"): FakeRequest => ({
    client,
    headers: [["Host", "a.test"], ...(name === "" ? [] : [[name, value] as const])],
  });
  test.each([
    ["the same value of two clients", header("X-Api-Key", "k1"), header("x-api-key", "k1", "192.0.2.2"), true],
    ["two values of one client", header("X-Api-Key", "k1"), header("X-Api-Key", "k2"), false],
    ["values that differ in case", header("X-Api-Key", "k1"), header("X-Api-Key", "K1"), false],
    ["two requests of one client without it", header("", ""), header("", ""), true],
    ["two clients without it", header("", ""), header("", "", "192.0.2.2"), false],
    ["an address and a value that looks like it", header("", ""), header("X-Api-Key", "192.0.2.1"), false],
  ])("header: %s", (_name, first, second, expected) => {
    expect(share(limitOf({ key: "header", keyHeader: "x-api-key" }), first, second)).toBe(expected);
  });

  test("header: a known field serves too", () => {
    const limit = limitOf({ key: "header", keyHeader: "authorization" });
    expect(share(limit, header("Authorization", "a"), header("Authorization", "a", "192.0.2.9"))).toBe(true);
    expect(share(limit, header("Authorization", "b"), header("Authorization", "c"))).toBe(false);
  });

  test("route: all requests share", () => {
    expect(share(limitOf({ key: "route" }), { client: "192.0.2.1" }, { client: "192.0.2.2" })).toBe(true);
  });
});

test("limits of the same purpose and numbers share their buckets, others do not", () => {
  const buckets = new TokenBuckets(createTokenBuckets([1, 2]));
  const { ex } = fakeExchange();
  expect(limitOf({}, buckets).take(ex, 5000)).toBe(0);
  expect(limitOf({}, buckets).take(ex, 5000)).toBeGreaterThan(0);
  expect(limitOf({ burst: 2 }, buckets).take(ex, 5000)).toBe(0);
});

describe("the key user", () => {
  const identity = (user: string) => ({ user, hidesCredentials: false, claims: {}, fields: [], responseFields: [] });
  const of = (user: string | null, client = "192.0.2.1", headers: [string, string][] = []) => {
    const { ex } = fakeExchange({ client, headers });
    if (user !== null) ex.identity = identity(user);
    return ex;
  };
  const shared = (first: Exchange, second: Exchange): boolean => {
    const limit = limitOf({ key: "user" });
    expect(limit.take(first, 5000)).toBe(0);
    return limit.take(second, 5000) > 0;
  };

  test("is whom auth has let in, wherever from", () => {
    expect(shared(of("alice"), of("alice", "198.51.100.9"))).toBe(true);
    expect(shared(of("alice"), of("bob"))).toBe(false);
    expect(shared(of("björn"), of("björn", "2001:db8::1"))).toBe(true);
    expect(shared(of("a".repeat(10_000)), of(`${"a".repeat(9999)}b`))).toBe(false);
  });

  test("is the address where there is no user, and a user's name is no address", () => {
    expect(shared(of(null), of(null))).toBe(true);
    expect(shared(of(null), of(null, "192.0.2.2"))).toBe(false);
    expect(shared(of(null), of("192.0.2.1"))).toBe(false);
    expect(shared(of(""), of(null))).toBe(false);
  });

  test("is nothing that a client says of itself", () => {
    const says = (name: string) =>
      of(null, "192.0.2.1", [
        ["Remote-User", name],
        ["X-User", name],
        ["Authorization", `Basic ${name}`],
      ]);
    expect(shared(says("alice"), says("bob"))).toBe(true);
  });
});

test.each([
  [128, "2001:db8:1:2::1", "2001:db8:1:2::2", false],
  [128, "2001:db8:1:2::1", "2001:db8:1:2::1", true],
  [56, "2001:db8:1:200::1", "2001:db8:1:2ff::1", true],
  [56, "2001:db8:1:200::1", "2001:db8:1:300::1", false],
  [49, "2001:db8:1:7fff::1", "2001:db8:1::1", true],
  [49, "2001:db8:1:8000::1", "2001:db8:1::1", false],
  [48, "192.0.2.1", "192.0.2.2", false],
])("with ipv6_prefix %d %s and %s share a bucket: %p", (ipv6Prefix, first, second, expected) => {
  expect(share(limitOf({ ipv6Prefix }), { client: first }, { client: second })).toBe(expected);
});

describe("what responses say", () => {
  const fieldsOf = (limit: RateLimit, nowMs: number, more: FakeRequest = {}) => {
    const { ex } = fakeExchange(more);
    const seconds = limit.take(ex, nowMs);
    return [seconds, ...(limit.quota?.fields.fields ?? []).map(([name, value]) => `${name}: ${value}`)];
  };

  test("policy, what is left, and when there is more", () => {
    const limit = limitOf({ requests: 6, windowMs: 60_000, burst: 3, headers: true });
    const policy = 'RateLimit-Policy: "default";q=6;w=60;edge-burst=3';
    expect(fieldsOf(limit, 1_000_000)).toEqual([0, policy, 'RateLimit: "default";r=2;t=10']);
    expect(fieldsOf(limit, 1_000_000)).toEqual([0, policy, 'RateLimit: "default";r=1;t=10']);
    expect(fieldsOf(limit, 1_000_000)).toEqual([0, policy, 'RateLimit: "default";r=0;t=10']);
    expect(fieldsOf(limit, 1_001_000)).toEqual([9, policy, 'RateLimit: "default";r=0;t=9']);
    expect(fieldsOf(limit, 1_020_500)).toEqual([0, policy, 'RateLimit: "default";r=1;t=10']);
  });

  test("nothing where they are not asked for, and no window that is not whole seconds", () => {
    expect(fieldsOf(limitOf(), 5000)).toEqual([0]);
    expect(fieldsOf(limitOf({ windowMs: 1500, headers: true }), 5000)[1]).toBe('RateLimit-Policy: "default";q=1');
  });

  test("the tighter of two buckets where a header tells them apart", () => {
    const limit = limitOf({
      key: "header",
      keyHeader: "x-key",
      requests: 5,
      burst: 5,
      windowMs: 3_600_000,
      headers: true,
    });
    for (let i = 0; i < 9; i++) {
      for (let n = 0; n < 5; n++) fieldsOf(limit, 5000, { headers: [["X-Key", `k${i}`]] });
    }
    expect(fieldsOf(limit, 5000, { headers: [["X-Key", "fresh"]] })[2]).toMatch(/;r=4;t=/);
    for (let n = 0; n < 3; n++) fieldsOf(limit, 5000, { headers: [["X-Key", `last${n}`]] });
    expect(fieldsOf(limit, 5000, { headers: [["X-Key", "fresher"]] })[2]).toMatch(/;r=0;t=/);
    expect(fieldsOf(limit, 5000, { headers: [["X-Key", "freshest"]] })[2]).toMatch(/;r=0;t=/);
  });
});

describe("the phase", () => {
  function run(limit: RateLimit | null, nowMs: number) {
    const limited: [Exchange, number, number][] = [];
    const listener = { onLimited: (...all: [Exchange, number, number]) => void limited.push(all) };
    const phase = new RateLimitPhase("rateLimit", [limit === null ? null : [limit]], { nowMs }, listener);
    const { ex, sink } = fakeExchange({ route: fakeRoute("/a") });
    return { verdict: phase.run(ex), sink, limited, ex };
  }

  test("lets pass what has no limit, and what is within it", () => {
    expect(run(null, 0).verdict).toBe(Verdict.Next);
    const { verdict, sink, limited } = run(limitOf(), 5000);
    expect([verdict, sink.calls, limited]).toEqual([Verdict.Next, [], []]);
  });

  test("answers with the status and the seconds to wait", () => {
    const limit = limitOf({ requests: 1, windowMs: 90_000, status: 503 });
    expect(run(limit, 10_000).verdict).toBe(Verdict.Next);
    const { verdict, sink, limited, ex } = run(limit, 40_500);
    expect(verdict).toBe(Verdict.Done);
    expect(limited).toEqual([[ex, 503, 60]]);
    const reply = sink.fixedReplies[0]!;
    expect(reply.status).toBe(503);
    expect(reply.fields).toEqual([
      ["Content-Type", "application/json"],
      ["Retry-After", "60"],
    ]);
    expect(JSON.parse(reply.body.toString())).toEqual({
      error: "503 Service Unavailable",
      message: "rate limit exceeded, try again in 60 s",
    });
    expect(run(limit, 10_000 + 90_000).verdict).toBe(Verdict.Next);
  });

  test("says at least one second, and keeps the answers it gives often", () => {
    const limit = limitOf({ requests: 10, windowMs: 1000 });
    run(limit, 5000);
    expect(run(limit, 5000).limited[0]![2]).toBe(1);
    expect(limit.refusal(1)).toBe(limit.refusal(1));
    expect(limit.refusal(100_000).fields[1]![1]).toBe("100000");
  });
});
