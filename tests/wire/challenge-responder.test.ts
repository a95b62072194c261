import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/acme.md#http-01, where the gateway obtains no certificates itself.

const origin = EchoOrigin.start();
const alone = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: [upstream("/api", origin)],
});
const fronting = await startGateway({ routes: [upstream("/", origin)] });
afterAll(() => stopAll(alone, fronting, origin));

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

  test("a route that takes the path keeps it: the server behind may obtain its own certificate", async () => {
    const seen = origin.requests.length;
    expect((await fronting.once(request(`GET ${PATH}/token`))).status).toBe(200);
    expect(origin.requests.length).toBe(seen + 1);
  });
});
