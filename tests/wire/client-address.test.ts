import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      trusted_proxies: ["127.0.0.1", "10.0.0.0/8"],
      waf: { enabled: true, allowed_ips: ["203.0.113.50"] },
    },
  },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

async function at(forwarded: readonly string[], path = "/node/echo") {
  const lines = forwarded.map((value) => `X-Forwarded-For: ${value}`);
  return json<Echo>(await gateway.once(request(`GET ${path}`, lines))).headers;
}

describe("behind a trusted proxy", () => {
  test.each([
    [[], "127.0.0.1", "127.0.0.1"],
    [["203.0.113.9"], "203.0.113.9", "203.0.113.9, 127.0.0.1"],
    [["evil, 203.0.113.9, 10.0.0.7"], "203.0.113.9", "evil, 203.0.113.9, 10.0.0.7, 127.0.0.1"],
    [["198.51.100.1", "203.0.113.9"], "203.0.113.9", "198.51.100.1, 203.0.113.9, 127.0.0.1"],
    [["2001:DB8::0:9"], "2001:db8::9", "2001:DB8::0:9, 127.0.0.1"],
    [["not an address"], "unknown", "not an address, 127.0.0.1"],
    [[""], "unknown", "unknown, 127.0.0.1"],
  ])("X-Forwarded-For %p means %s", async (forwarded, client, chain) => {
    expect(await at(forwarded)).toMatchObject({ "x-real-ip": client, "x-forwarded-for": chain });
  });

  test("X-Forwarded-Proto is believed, with or without an address", async () => {
    const proto = async (lines: string[]) =>
      json<Echo>(await gateway.once(request("GET /node/echo", lines))).headers["x-forwarded-proto"];
    expect(await proto(["X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https"])).toBe("https");
    expect(await proto(["X-Forwarded-Proto: https"])).toBe("https");
    expect(await proto(["X-Forwarded-Proto: gopher"])).toBe("http");
  });

  test("the access log names the client", async () => {
    await gateway.once(request("GET /node/echo", ["X-Forwarded-For: 203.0.113.9", "X-Request-Id: who"]));
    const line = await gateway.log("access", (each) => each.event === "access" && each.request_id === "who");
    expect(line.client_ip).toBe("203.0.113.9");
  });

  test("the WAF names the client, and lets its allowed ones pass", async () => {
    const attack = (from: string) =>
      gateway.once(request("GET /node/%2e%2e/%2e%2e/etc/passwd", [`X-Forwarded-For: ${from}`]));
    expect((await attack("203.0.113.77")).status).toBe(403);
    await gateway.log("waf_block", (line) => line.event === "waf_block" && line.client_ip === "203.0.113.77");
    expect((await attack("203.0.113.50")).status).not.toBe(403);
    expect((await attack("203.0.113.50, 203.0.113.77")).status).toBe(403);
  });

  test("a client that is not named readably is in no list: it is not exempted, and the log says unknown", async () => {
    const forged = ["X-Forwarded-For: 203.0.113.50, _hidden", "X-Request-Id: nobody"];
    expect((await gateway.once(request("GET /node/%2e%2e/%2e%2e/etc/passwd", forged))).status).toBe(403);
    expect((await gateway.once(request("GET /node/echo", forged))).status).toBe(200);
    const line = await gateway.log("access", (each) => each.event === "access" && each.request_id === "nobody");
    expect(line.client_ip).toBe("unknown");
  });
});

describe("a peer that is not trusted", () => {
  const from = (path: string, ...lines: string[]) =>
    exchangeFrom("127.0.0.2", gateway.port, request(`GET ${path}`, ["Connection: close", ...lines]));

  test("is the client, whatever it says", async () => {
    const received = await from("/node/echo", "X-Forwarded-For: 203.0.113.50", "X-Forwarded-Proto: https");
    expect(statusOf(received)).toBe(200);
    expect(received).toContain('"x-real-ip":"127.0.0.2"');
    expect(received).toContain('"x-forwarded-for":"127.0.0.2"');
    expect(received).toContain('"x-forwarded-proto":"http"');
    expect(received).not.toContain("203.0.113.50");
  });

  test("is not let past the WAF by a header", async () => {
    expect(statusOf(await from("/node/%2e%2e/%2e%2e/x", "X-Forwarded-For: 203.0.113.50"))).toBe(403);
  });
});
