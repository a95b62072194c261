import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { AccessGuard } from "../../../../src/features/admin/access-guard.ts";
import { configOf } from "../../loading/any-config.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

type Headers = readonly (readonly [string, string])[];

/** What the guard says: "admitted", "401" or "403". */
function verdict(settings: string, client: string, headers: Headers = [], host: string | null = "a.test"): string {
  const guard = new AccessGuard(configOf(settings === "" ? "" : `internal_api: ${settings}\n`).internalApi);
  const { ex, sink } = fakeExchange({
    client,
    headers: [...(host === null ? [] : [["Host", host] as const]), ...headers],
  });
  if (guard.admits(ex)) {
    expect(sink.calls).toEqual([]);
    return "admitted";
  }
  if (sink.aborted === Fault.AccessDenied) return "403";
  const reply = sink.fixedReplies[0]!;
  if (reply.status === 403) {
    expect(JSON.parse(reply.body.toString())).toMatchObject({ error: "403 Forbidden" });
    return "misnamed";
  }
  expect(Object.fromEntries(reply.fields)).toMatchObject({ "WWW-Authenticate": 'Bearer realm="edge"' });
  expect(JSON.parse(reply.body.toString())).toMatchObject({ error: "401 Unauthorized" });
  return String(reply.status);
}

describe("access guard", () => {
  const byDefault: [string, string][] = [
    ["127.0.0.1", "admitted"],
    ["127.8.9.1", "admitted"],
    ["::1", "admitted"],
    ["::ffff:127.0.0.1", "admitted"],
    ["192.0.2.1", "403"],
    ["10.0.0.1", "403"],
    ["", "403"],
    ["1270.0.0.1", "403"],
  ];
  test.each(byDefault)("without settings %p is %s", (client, expected) => {
    expect(verdict("", client)).toBe(expected);
  });

  test("no header makes a peer loopback", () => {
    const headers: Headers = [
      ["X-Forwarded-For", "127.0.0.1"],
      ["X-Real-IP", "127.0.0.1"],
    ];
    expect(verdict("", "192.0.2.1", headers)).toBe("403");
  });

  test("allowed networks come in beside loopback", () => {
    const settings = "{allow: [10.0.0.0/8, 2001:db8::/32]}";
    expect(verdict(settings, "10.1.2.3")).toBe("admitted");
    expect(verdict(settings, "::ffff:10.1.2.3")).toBe("admitted");
    expect(verdict(settings, "2001:db8::9")).toBe("admitted");
    expect(verdict(settings, "127.0.0.1")).toBe("admitted");
    expect(verdict(settings, "11.0.0.1")).toBe("403");
  });

  test("a token must be shown, by peers that may come, and by no others", () => {
    const settings = "{token: s3cret-enough-for-tests, allow: [10.0.0.0/8]}";
    const bearing = (value: string): Headers => [["Authorization", value]];
    expect(verdict(settings, "127.0.0.1")).toBe("401");
    expect(verdict(settings, "127.0.0.1", bearing("Bearer s3cret-enough-for-tests"))).toBe("admitted");
    expect(verdict(settings, "10.0.0.1", bearing("bearer  s3cret-enough-for-tests"))).toBe("admitted");
    expect(verdict(settings, "192.0.2.1", bearing("Bearer s3cret-enough-for-tests"))).toBe("403");
    for (const wrong of [
      "Bearer s3cret-enough-for-test",
      "Bearer s3cret-enough-for-testsx",
      "Bearer S3CRET-ENOUGH-FOR-TESTS",
      "Bearer ",
      "Basic s3cret-enough-for-tests",
      "s3cret-enough-for-tests",
      "",
    ]) {
      expect(verdict(settings, "127.0.0.1", bearing(wrong))).toBe("401");
    }
  });

  test.each<[string | null, string]>([
    ["127.0.0.1", "admitted"],
    ["127.0.0.1:8080", "admitted"],
    ["[::1]:8080", "admitted"],
    ["10.1.2.3", "admitted"],
    ["localhost", "admitted"],
    ["LocalHost.:8080", "admitted"],
    ["gateway:8080", "admitted"],
    ["gw.localhost", "admitted"],
    ["edge.test", "admitted"],
    ["example.com", "admitted"],
    [null, "admitted"],
    ["rebound.attacker.dev", "misnamed"],
    ["rebound.attacker.dev:8080", "misnamed"],
    ["REBOUND.attacker.dev.", "misnamed"],
    ["127.0.0.1.attacker.dev", "misnamed"],
    ["localhost.attacker.dev", "misnamed"],
    ["notexample.com", "misnamed"],
    ["attest", "admitted"],
    ["a.attest", "misnamed"],
  ])("called %p by this machine it is %s: names that a web page could have are not its own", (host, expected) => {
    expect(verdict("", "127.0.0.1", [], host)).toBe(expected);
    expect(verdict("", "::1", [], host)).toBe(expected);
  });

  test("names of internal_api.hosts are its own, and with a token any name will do", () => {
    const right: Headers = [["Authorization", "Bearer s3cret-enough-for-tests"]];
    const hosts = "{hosts: [Edge.Corp.dev, '*.ops.dev']}";
    expect(verdict(hosts, "127.0.0.1", [], "edge.corp.dev:9090")).toBe("admitted");
    expect(verdict(hosts, "127.0.0.1", [], "a.ops.dev")).toBe("admitted");
    expect(verdict(hosts, "127.0.0.1", [], "ops.dev")).toBe("misnamed");
    expect(verdict(hosts, "127.0.0.1", [], "rebound.attacker.dev")).toBe("misnamed");
    expect(verdict("{token: s3cret-enough-for-tests}", "127.0.0.1", right, "edge.corp.dev")).toBe("admitted");
    // Who comes by the address alone may be a browser, whose page may have any name.
    expect(verdict("{allow: [10.0.0.0/8]}", "10.0.0.1", [], "edge.corp.dev")).toBe("misnamed");
    expect(verdict("{allow: [10.0.0.0/8]}", "10.0.0.1", [], "10.0.0.9:8080")).toBe("admitted");
    expect(verdict("{allow: [10.0.0.0/8], hosts: [edge.corp.dev]}", "10.0.0.1", [], "edge.corp.dev")).toBe("admitted");
    const locked = "{allow: [10.0.0.0/8], token: s3cret-enough-for-tests}";
    expect(verdict(locked, "10.0.0.1", right, "edge.corp.dev")).toBe("admitted");
  });

  test("two credentials are none", () => {
    const right = ["Authorization", "Bearer s3cret-enough-for-tests"] as const;
    expect(verdict("{token: s3cret-enough-for-tests}", "127.0.0.1", [right, right])).toBe("401");
  });
});
