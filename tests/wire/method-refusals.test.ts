import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/routing.md#no-route, where some other route would take every method and every path.

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      routes: [
        { http_method: "GET", http_path: "/v1/users/:id", grpc_method: "/a.B/Get", upstream_url: origin.url },
        { http_method: "DELETE", http_path: "/v1/users/:id", grpc_method: "/a.B/Delete", upstream_url: origin.url },
      ],
    },
  },
  routes: [upstream("/", origin), upstream("/only", origin, { methods: ["POST"], host: "only.test" })],
});
const { prefix: _, ...anyPath } = upstream("/", origin);
const cors = { allowed_origins: ["https://app.example.com"], allowed_methods: ["GET"] };
const layered = await startGateway({
  config: { server: { cors } },
  routes: [
    upstream("/", origin),
    { ...anyPath, path: "/admin", methods: ["GET"], ip_rules: { allow: ["127.0.0.1"] } },
    upstream("/shop", origin),
    upstream("/shop/cart", origin, { methods: ["GET", "PUT"] }),
    upstream("/shop/cart", origin, { methods: ["DELETE"], host: "a.test" }),
    upstream("/shop/cart", origin, { methods: ["PATCH"], host: "*.a.test" }),
    { ...anyPath, path: "/form", methods: ["GET"] },
    { ...anyPath, path: "/form", methods: ["POST"] },
    upstream("/form", origin),
  ],
});
afterAll(async () => {
  await layered.stop();
  await stopAll(gateway, origin);
});

describe("docs/security.md#methods: the most specific path wins before the method is looked at", () => {
  test.each([
    ["POST /admin", "gw.test", "GET, HEAD"],
    ["OPTIONS /admin", "gw.test", "GET, HEAD"],
    ["POST /%2e/admin", "gw.test", "GET, HEAD"],
    ["POST //admin", "gw.test", "GET, HEAD"],
    ["BREW /admin", "gw.test", "GET, HEAD"],
    ["TRACE /admin", "gw.test", "GET, HEAD"],
    ["POST /shop/cart/1", "gw.test", "GET, HEAD, PUT"],
    ["DELETE /shop/cart", "gw.test", "GET, HEAD, PUT"],
    ["PATCH /shop/cart", "a.test", "GET, HEAD, PUT, DELETE"],
    ["DELETE /shop/x/../cart/1", "b.a.test", "GET, HEAD, PUT, PATCH"],
    ["PUT /form", "gw.test", "GET, HEAD, POST"],
  ])("%s at %s is 405 with %s", async (start, host, allow) => {
    const seen = origin.requests.length;
    const reply = await layered.once(`${start} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`);
    expect([reply.status, reply.fields.get("allow"), origin.requests.length]).toEqual([405, allow, seen]);
  });

  test.each([
    ["HEAD /admin", "gw.test"],
    ["GET /shop/cart", "a.test"],
    ["DELETE /shop/cart/1", "a.test"],
    ["PATCH /shop/cart", "x.b.a.test"],
    ["POST /form", "gw.test"],
    ["PUT /form/x", "gw.test"],
    ["POST /shop/carts", "gw.test"],
  ])("%s at %s is taken", async (start, host) => {
    expect((await layered.once(`${start} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`)).status).toBe(200);
  });

  test.each(["/admin", "/shop/cart"])("a preflight for %s is answered", async (path) => {
    const fields = ["Origin: https://app.example.com", "Access-Control-Request-Method: GET"];
    const reply = await layered.once(request(`OPTIONS ${path}`, fields));
    expect([reply.status, reply.fields.get("access-control-allow-origin")]).toEqual([204, "https://app.example.com"]);
    const noOrigin = await layered.once(request(`OPTIONS ${path}`, fields.slice(1)));
    expect(noOrigin.status).toBe(405);
  });

  test("over HTTP/2, too", async () => {
    const client = await H2Client.connect(layered.port);
    const reply = await client.request(head("POST", "/admin"));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
    client.close();
  });
});

describe("Allow of a path that the gateway answers itself", () => {
  test.each([
    ["POST /health", "GET, HEAD"],
    ["DELETE /internal/api/routes", "GET, HEAD"],
    ["GET /internal/api/proxy-test", "POST"],
    ["PUT /v1/users/7", "GET, HEAD, DELETE"],
  ])("%s leaves out what only a prefix would take", async (start, allow) => {
    const reply = await gateway.once(request(start));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, allow]);
    expect(json(reply)).toEqual({ error: "405 Method Not Allowed", message: `allowed methods: ${allow}` });
  });
});

describe("CONNECT and TRACE are 405", () => {
  test.each(["CONNECT /node/x", "CONNECT /health", "CONNECT gw.test:80", "TRACE /node/x"])("%s", async (start) => {
    const seen = origin.requests.length;
    const reply = await gateway.once(request(start, start.includes(":80") ? ["Host: gw.test:80"] : []));
    expect([reply.status, reply.fields.get("allow")?.includes("CONNECT")]).toEqual([405, false]);
    expect(origin.requests.length).toBe(seen);
  });
});

test("a wrong method is counted under the route that lacks it", async () => {
  await gateway.once(request("PATCH /api/status"));
  await gateway.once(request("PATCH /v1/users/7"));
  const count = async (path: string) => {
    return gateway.metric("gateway_requests_total", { method: "PATCH", code: "405", path });
  };
  await eventually(async () => expect(await count("/api/status")).toBe(1));
  await eventually(async () => expect(await count("/v1/users/:id")).toBe(1));
});
