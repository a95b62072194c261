import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Spec, "Request processing order", step 5, where some other route would take every method and every path.

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
afterAll(() => stopAll(gateway, origin));

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
    const { text } = await gateway.once(request("GET /metrics"));
    return sumOf(parseMetrics(text), "gateway_requests_total", { method: "PATCH", code: "405", path });
  };
  await eventually(async () => expect(await count("/api/status")).toBe(1));
  await eventually(async () => expect(await count("/v1/users/:id")).toBe(1));
});
