import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin, echoUpgrade } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const files = { "site/app.js": "app()\n" };
const routes = [upstream("/node", origin), { type: "static", prefix: "/site", dir: "./site" }];
const gateway = await startGateway({
  config: { server: { security_headers: {}, waf: { enabled: true } } },
  routes,
  files,
});
const strict = await startGateway({
  config: { server: { security_headers: { frame_options: "DENY", referrer_policy: "no-referrer" } } },
  routes,
  files,
});
const plain = await startGateway({ routes, files });
afterAll(async () => {
  await strict.stop();
  await plain.stop();
  await stopAll(gateway, origin);
});

const NAMES = ["x-content-type-options", "x-frame-options", "referrer-policy", "strict-transport-security"];

async function fieldsOf(path: string, through = gateway, lines: readonly string[] = []) {
  const { fields } = await through.once(request(`GET ${path}`, lines));
  return Object.fromEntries(NAMES.map((name) => [name, fields.all(name)]));
}

const DEFAULTS = {
  "x-content-type-options": ["nosniff"],
  "x-frame-options": ["SAMEORIGIN"],
  "referrer-policy": ["strict-origin-when-cross-origin"],
  // HSTS must not be sent in the clear: RFC 6797 §7.2.
  "strict-transport-security": [],
};

describe("security headers", () => {
  test.each([
    ["a proxied answer", "/node/echo"],
    ["a file", "/site/app.js"],
    ["a missing file", "/site/none.js"],
    ["a built-in endpoint", "/health"],
    ["an answer of the control thread", "/metrics"],
    ["a path of nobody", "/nowhere"],
    ["a WAF refusal", "/node/%2e%2e/%2e%2e/x"],
  ])("stand on %s", async (_name, path) => {
    expect(await fieldsOf(path)).toEqual(DEFAULTS);
  });

  test("stand on refusals of framing, on 304 and on HEAD", async () => {
    const first = await gateway.once(request("GET /site/app.js"));
    const tag = first.fields.get("etag");
    const again = await gateway.once(request("GET /site/app.js", [`If-None-Match: ${tag}`]));
    const bad = await gateway.once(request("GET /node/echo", ["X : 1"]));
    const head = await gateway.once(request("HEAD /node/echo"));
    expect([again.status, bad.status, head.status]).toEqual([304, 400, 200]);
    for (const { fields } of [again, bad, head]) expect(fields.all("x-frame-options")).toEqual(["SAMEORIGIN"]);
    expect(bad.fields.get("connection")).toBe("close");
  });

  test("are the operator's", async () => {
    expect(await fieldsOf("/node/echo", strict)).toEqual({
      ...DEFAULTS,
      "x-frame-options": ["DENY"],
      "referrer-policy": ["no-referrer"],
    });
  });

  test("never stand over what the upstream says", async () => {
    const lines = ["x-frame-options: ALLOW-FROM x", "Referrer-Policy: unsafe-url", "X-Content-Type-Options: no"];
    origin.on("/own", (call) => call.reply("200 OK", lines, "hi"));
    expect(await fieldsOf("/node/own")).toEqual({
      ...DEFAULTS,
      "x-frame-options": ["ALLOW-FROM x"],
      "referrer-policy": ["unsafe-url"],
      "x-content-type-options": ["no"],
    });
  });

  test("leave an upgrade alone", async () => {
    origin.on("/upgrade", echoUpgrade);
    const client = await gateway.connect();
    client.send(request("GET /node/upgrade", ["Connection: Upgrade", "Upgrade: echo"]));
    const reply = await client.reply();
    expect([reply.status, reply.fields.get("x-frame-options")]).toEqual([101, null]);
    client.close();
  });

  test("are pipelined like everything else", async () => {
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /health"), request("GET /node/echo"), request("GET /nowhere")]));
    for (const status of [200, 200, 404]) {
      const reply = await client.reply();
      expect([reply.status, reply.fields.all("x-frame-options")]).toEqual([status, ["SAMEORIGIN"]]);
    }
    client.close();
  });

  test("are not there unless asked for", async () => {
    expect(await fieldsOf("/node/echo", plain)).toEqual(Object.fromEntries(NAMES.map((name) => [name, []])));
  });
});
