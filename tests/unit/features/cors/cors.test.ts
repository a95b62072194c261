import { describe, expect, test } from "bun:test";
import { CorsPolicy } from "../../../../src/features/cors/cors-policy.ts";
import { CorsTap } from "../../../../src/features/cors/cors-tap.ts";
import { PreflightPhase } from "../../../../src/features/cors/preflight-phase.ts";
import type { CorsConfig } from "../../../../src/features/cors/settings.ts";
import { type Exchange, Verdict } from "../../../../src/message/exchange.ts";
import { RouteKind, RouteOf } from "../../../../src/message/route.ts";
import { samePolicy } from "../../../harness/same-policy.ts";
import { fakeExchange, fakeRoute } from "../telemetry/exchange-fake.ts";

const APP = "https://app.example.com";

function policy(more: Partial<CorsConfig> = {}): CorsPolicy {
  return new CorsPolicy({
    enabled: true,
    allowedOrigins: [APP, "http://localhost:3000"],
    allowedMethods: ["GET", "PUT"],
    allowedHeaders: ["X-Api-Key", "Content-Type"],
    exposedHeaders: [],
    allowCredentials: false,
    echoAny: false,
    maxAgeSeconds: 600,
    ...more,
  });
}

function exchange(method: string, ...headers: (readonly [string, string])[]): ReturnType<typeof fakeExchange> {
  return fakeExchange({ method, headers: [["Host", "a.test"], ...headers] });
}

function added(ex: Exchange): (readonly [string, string])[] {
  return [...(ex.response.extra?.fields ?? [])];
}

describe("the tap", () => {
  function fieldsFor(more: Partial<CorsConfig>, ...headers: (readonly [string, string])[]) {
    const { ex } = exchange("GET", ...headers);
    new CorsTap(samePolicy(policy(more)), []).onFixed(ex);
    return added(ex);
  }

  test("tells an allowed origin that it is", () => {
    expect(fieldsFor({}, ["Origin", APP])).toEqual([
      ["Access-Control-Allow-Origin", APP],
      ["Vary", "Origin"],
    ]);
    expect(fieldsFor({}, ["Origin", "http://localhost:3000"])[0]).toEqual([
      "Access-Control-Allow-Origin",
      "http://localhost:3000",
    ]);
  });

  test("adds credentials and exposed headers", () => {
    const more = { allowCredentials: true, exposedHeaders: ["X-A", "X-B"] };
    expect(fieldsFor(more, ["Origin", APP])).toEqual([
      ["Access-Control-Allow-Origin", APP],
      ["Vary", "Origin"],
      ["Access-Control-Allow-Credentials", "true"],
      ["Access-Control-Expose-Headers", "X-A, X-B"],
    ]);
  });

  test.each([
    ["none", []],
    ["another one", [["Origin", "https://evil.example.com"]]],
    ["one that only begins like it", [["Origin", `${APP}.evil.test`]]],
    ["one that only ends like it", [["Origin", "https://evil-app.example.com"]]],
    ["another scheme", [["Origin", "http://app.example.com"]]],
    ["another port", [["Origin", `${APP}:8443`]]],
    ["null", [["Origin", "null"]]],
    ["an empty one", [["Origin", ""]]],
    [
      "two of them",
      [
        ["Origin", APP],
        ["Origin", APP],
      ],
    ],
  ] as [string, [string, string][]][])("tells caches that the origin matters: %s", (_name, headers) => {
    expect(fieldsFor({}, ...headers)).toEqual([["Vary", "Origin"]]);
  });

  test("* is one answer for all", () => {
    const everybody = [["Access-Control-Allow-Origin", "*"]];
    expect(fieldsFor({ allowedOrigins: ["*"] })).toEqual(everybody as never);
    expect(fieldsFor({ allowedOrigins: ["*"] }, ["Origin", "https://any.test"])).toEqual(everybody as never);
  });

  test("takes the upstream's own word away", () => {
    const { ex } = exchange("GET", ["Origin", APP]);
    ex.response.headers.resetOwn();
    for (const name of ["Access-Control-Allow-Origin", "X-Kept", "access-control-expose-headers", "Vary"]) {
      ex.response.headers.add(name, "*");
    }
    for (const name of ["Access-Control-Allow-Credentials", "Access-Control-Allow-Methods", "Access-Control-Max-Age"]) {
      ex.response.headers.add(name, "1");
    }
    ex.response.headers.add("Access-Control-Allow-Headers", "x");
    new CorsTap(samePolicy(policy()), []).onHead(ex);
    const names = Array.from({ length: ex.response.headers.count }, (_, i) => ex.response.headers.nameText(i));
    expect(names).toEqual(["X-Kept", "Vary"]);
    expect(added(ex)[0]).toEqual(["Access-Control-Allow-Origin", APP]);
  });

  test("leaves endpoints alone that are not for pages", () => {
    const tap = new CorsTap(samePolicy(policy({ allowedOrigins: ["*"] })), [true]);
    const { ex } = fakeExchange({ route: fakeRoute("/internal/api/status") });
    tap.onFixed(ex);
    expect(ex.response.extra).toBeNull();
  });
});

describe("a preflight", () => {
  const asks = ["Access-Control-Request-Method", "PUT"] as const;

  test("of an allowed origin is answered with what is allowed", () => {
    const { ex, sink } = exchange("OPTIONS", ["Origin", APP], asks);
    expect(new PreflightPhase(samePolicy(policy())).run(ex)).toBe(Verdict.Done);
    const reply = sink.fixedReplies[0]!;
    expect([reply.status, reply.body.length]).toEqual([204, 0]);
    expect(reply.fields).toEqual([
      ["Access-Control-Allow-Methods", "GET, PUT"],
      ["Access-Control-Allow-Headers", "X-Api-Key, Content-Type"],
      ["Access-Control-Max-Age", "600"],
    ]);
  });

  test("of another origin is answered with nothing that allows anything", () => {
    const { ex, sink } = exchange("OPTIONS", ["Origin", "https://evil.test"], asks);
    expect(new PreflightPhase(samePolicy(policy())).run(ex)).toBe(Verdict.Done);
    expect([sink.fixedReplies[0]!.status, sink.fixedReplies[0]!.fields]).toEqual([204, []]);
  });

  test("leaves out headers where none is allowed", () => {
    const { ex, sink } = exchange("OPTIONS", ["Origin", "https://any.test"], asks);
    new PreflightPhase(samePolicy(policy({ allowedOrigins: ["*"], allowedHeaders: [] }))).run(ex);
    expect(sink.fixedReplies[0]!.fields.map(([name]) => name)).toEqual([
      "Access-Control-Allow-Methods",
      "Access-Control-Max-Age",
    ]);
  });

  test.each([
    ["another method", "GET", [["Origin", APP], asks]],
    ["no origin", "OPTIONS", [asks]],
    ["no method asked for", "OPTIONS", [["Origin", APP]]],
  ] as [string, string, [string, string][]][])("is none with %s", (_name, method, headers) => {
    const { ex, sink } = exchange(method, ...headers);
    expect(new PreflightPhase(samePolicy(policy())).run(ex)).toBe(Verdict.Next);
    expect(sink.calls).toEqual([]);
  });

  test("for an endpoint of the gateway is left to that", () => {
    const { ex } = exchange("OPTIONS", ["Origin", APP], asks);
    const { init } = fakeRoute("/internal/api/proxy-test");
    ex.route = new RouteOf({ ...init, kind: RouteKind.BuiltIn }, 0, new Uint8Array(10), "");
    expect(new PreflightPhase(samePolicy(policy())).run(ex)).toBe(Verdict.Next);
  });
});
