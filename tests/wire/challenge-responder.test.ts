import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/acme.md#http-01, where the gateway obtains no certificates itself.

const origin = EchoOrigin.start();
const alone = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: [upstream("/api", origin)],
});
const fronting = await startGateway({
  routes: [
    upstream("/", origin),
    { type: "static", prefix: "/.well-known", dir: "." },
    upstream("/.well-known/acme-challenge", origin, { host: "client.test", acme_challenge: "upstream" }),
  ],
});
// Each key by which something looks at responses, by the route that a request has.
const watched = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: [
    upstream("/", origin, { match: { header: { "X-Next": "1" } } }),
    upstream("/", origin, {
      ...{ security_headers: { enabled: true }, access_log: { sample: 0.5 }, cors: { allowed_origins: ["*"] } },
      ...{ slo: { latency: { under: "1ms" } }, compression: { min_bytes: 1 }, waf: { mode: "enforce" } },
      ...{ errors: { intercept: true }, bots: { enabled: true }, rate_limit: { requests: 1000 } },
    }),
  ],
});
const rejecting = await startGateway({
  config: { server: { inbound_chunked_mode: "reject", max_body_bytes: 1000 } },
  routes: [upstream("/", origin)],
});
afterAll(() => stopAll(alone, fronting, watched, rejecting, origin));

const PATH = "/.well-known/acme-challenge";

describe("without ACME", () => {
  test.each([
    ["POST", "some-token", 405, "Method Not Allowed", "text/plain"],
    ["DELETE", "..", 405, "Method Not Allowed", "text/plain"],
    ["GET", "padded=", 400, "Invalid ACME Challenge Token", "text/plain; charset=utf-8"],
    ["GET", "..", 400, "Invalid ACME Challenge Token", "text/plain; charset=utf-8"],
    ["GET", "a%20b", 400, "Invalid ACME Challenge Token", "text/plain; charset=utf-8"],
    ["GET", "", 400, "Invalid ACME Challenge Token", "text/plain; charset=utf-8"],
    ["GET", "a".repeat(129), 400, "Invalid ACME Challenge Token", "text/plain; charset=utf-8"],
    ["GET", "a".repeat(128), 404, "Unknown ACME Challenge Token", "text/plain"],
    ["HEAD", "some-token", 404, "", "text/plain"],
  ])("%s of token %s is %d", async (method, token, status, text, type) => {
    const reply = await alone.once(request(`${method} ${PATH}/${token}`));
    expect([reply.status, reply.text, reply.fields.get("content-type")]).toEqual([status, text, type]);
    expect(reply.fields.get("allow")).toBe(status === 405 ? "GET, HEAD" : null);
  });

  test.each(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])(
    "no route takes the path, for %s neither",
    async (method) => {
      const seen = origin.requests.length;
      const isReading = method === "GET" || method === "HEAD";
      const reply = await fronting.once(request(`${method} ${PATH}/token`));
      expect([reply.status, reply.fields.get("allow")]).toEqual(isReading ? [404, null] : [405, "GET, HEAD"]);
      expect((await fronting.once(request(`${method} ${PATH}/${"a".repeat(129)}`))).status).toBe(isReading ? 400 : 405);
      expect(origin.requests.length).toBe(seen);
    },
  );

  test("a route with acme_challenge: upstream does, in every spelling and for every method", async () => {
    const host = ["Host: client.test"];
    for (const [method, path] of [
      ["GET", `${PATH}/token`],
      ["POST", `${PATH}/token`],
      ["GET", `${PATH}/${"a".repeat(200)}`],
      ["GET", "/.well-known/./acme-challenge/token"],
    ]) {
      const seen = origin.requests.length;
      expect((await fronting.once(request(`${method} ${path}`, host))).status).toBe(200);
      expect(origin.requests.length).toBe(seen + 1);
    }
  });

  test("keys that look at each response by its route look at these", async () => {
    const client = await H2Client.connect(watched.port);
    for (const [method, token, status] of [
      ["GET", "token", 404],
      ["GET", "padded=", 400],
      ["POST", "token", 405],
    ] as const) {
      const path = `${PATH}/${token}`;
      const fields = method === "POST" ? ["Transfer-Encoding: chunked"] : [];
      const body = method === "POST" ? "0\r\nX-Late: 1\r\n\r\n" : "";
      expect((await watched.once(request(`${method} ${path}`, fields, body))).status).toBe(status);
      expect((await client.request(head(method, path))).status).toBe(status);
    }
    client.close();
    expect(watched.logs.json.filter(({ event }) => event === "exception")).toEqual([]);
  });

  test("inbound_chunked_mode and max_body_bytes hold there as on every path", async () => {
    const body = chunked("hello");
    for (const method of ["GET", "POST"]) {
      const reply = await rejecting.once(request(`${method} ${PATH}/token`, ["Transfer-Encoding: chunked"], body));
      expect([reply.status, reply.text]).toEqual([501, "Inbound chunked transfer encoding is disabled"]);
      expect(reply.fields.get("connection")).toBe("close");
    }
    expect((await rejecting.once(request(`POST ${PATH}/token`, [], "a".repeat(1001)))).status).toBe(413);
    expect((await alone.once(request(`POST ${PATH}/token`, ["Transfer-Encoding: chunked"], body))).status).toBe(405);
  });
});
