import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      trusted_proxies: ["127.0.0.1"],
      waf: { enabled: true },
      ip_rules: { deny: ["203.0.113.0/24", "127.0.0.2"] },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/office", origin, { ip_rules: { allow: ["198.51.100.0/24"], deny: ["198.51.100.66"] } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

function as(client: string, path: string, ...lines: string[]) {
  return gateway.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`, ...lines]));
}

describe("the server's rules", () => {
  test("refuse with the house's error, and keep the connection", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/echo", ["X-Forwarded-For: 203.0.113.9"]));
    expect(reply.status).toBe(403);
    expect(reply.fields.get("content-type")).toBe("application/json");
    expect(json(reply)).toEqual({ error: "403 Forbidden", message: "not allowed from this address" });
    expect((await client.exchange(request("GET /node/echo"))).status).toBe(200);
    client.close();
  });

  test("let everybody else pass", async () => {
    expect((await as("198.51.100.9", "/node/echo")).status).toBe(200);
    expect((await gateway.once(request("GET /node/echo"))).status).toBe(200);
  });

  test("hold for every path, and before the WAF looks", async () => {
    for (const path of ["/health", "/nowhere", "/internal/api/status"]) {
      expect((await as("203.0.113.9", path)).status).toBe(403);
    }
    const refused = await as("203.0.113.9", "/node/%2e%2e/%2e%2e/etc", "X-Request-Id: early");
    expect(json(refused).message).toBe("not allowed from this address");
    const line = await gateway.log("access", (each) => each.event === "access" && String(each.path).includes("etc"));
    expect(line).toMatchObject({ status: 403, waf_score: 0, client_ip: "203.0.113.9" });
  });

  test("come behind framing", async () => {
    expect((await as("203.0.113.9", "/node/echo", "X : 1")).status).toBe(400);
  });

  test("mean the peer where nobody stands before it", async () => {
    const bytes = request("GET /node/echo", ["Connection: close", "X-Forwarded-For: 198.51.100.9"]);
    expect(statusOf(await exchangeFrom("127.0.0.2", gateway.port, bytes))).toBe(403);
    expect(statusOf(await exchangeFrom("127.0.0.3", gateway.port, bytes))).toBe(200);
  });
});

describe("a route's rules", () => {
  test.each([
    ["198.51.100.9", 200],
    ["198.51.100.66", 403],
    ["192.0.2.1", 403],
    ["203.0.113.9", 403],
  ])("%s gets %d", async (client, status) => {
    expect((await as(client, "/office/echo")).status).toBe(status);
  });

  test("do not touch other routes", async () => {
    expect((await as("192.0.2.1", "/node/echo")).status).toBe(200);
  });

  test("do not send a byte upstream", () => {
    expect(origin.requests.filter((one) => one.fields.get("x-real-ip") === "192.0.2.1")).toHaveLength(1);
  });
});
