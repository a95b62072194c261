import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const OWN = "https://own.example.com";
const APP = "https://app.example.com";
const folder = mkdtempSync("/tmp/route-policies-");
writeFileSync(join(folder, "a.txt"), "hello");
const origin = EchoOrigin.start();
const cors = { allowed_origins: [OWN], max_age: "1m" };
/** One route of every type, each with the same policies. */
const policies = { cors, security_headers: { frame_options: "DENY" } };
const gateway = await startGateway({
  config: {
    server: {
      waf: { enabled: true },
      security_headers: { referrer_policy: "no-referrer" },
      cors: { allowed_origins: [APP], allowed_methods: ["PUT"], allow_credentials: true },
      allowed_methods: ["GET", "POST", "OPTIONS"],
    },
  },
  routes: [
    upstream("/plain", origin),
    upstream("/own", origin, policies),
    upstream("/off", origin, { cors: "off", security_headers: false, allowed_methods: [] }),
    { type: "static", prefix: "/files", dir: folder, ...policies },
    { type: "redirect", path: "/go", to: "https://other.example.com/", ...policies },
    { type: "respond", path: "/say", body: "hi", ...policies },
    // Two routes of one path, told apart by their methods.
    { type: "respond", path: "/two", methods: ["GET"], body: "get" },
    { type: "respond", path: "/two", methods: ["POST"], body: "post", ...policies },
    upstream("/read", origin, { allowed_methods: ["GET"] }),
    upstream("/limits", origin, {
      rate_limit: [
        { requests: 100, window: "1h", key: "route", headers: true },
        { requests: 3, window: "1h", headers: true },
        "50r/s",
      ],
    }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const get = (path: string, from = OWN) => gateway.once(request(`GET ${path}`, [`Origin: ${from}`]));
const ask = (path: string, method: string, from = OWN) =>
  gateway.once(request(`OPTIONS ${path}`, [`Origin: ${from}`, `Access-Control-Request-Method: ${method}`]));
const frame = (reply: Reply) => reply.fields.get("x-frame-options");
const allowed = (reply: Reply) => reply.fields.get("access-control-allow-origin");

describe("a route's policy comes before the server's", () => {
  test.each(["/own/echo", "/files/a.txt", "/go", "/say"])("at %s", async (path) => {
    const own = await get(path);
    expect([allowed(own), frame(own), own.fields.get("referrer-policy")]).toEqual([OWN, "DENY", "no-referrer"]);
    expect(own.fields.get("access-control-allow-credentials")).toBe("true");
    expect(allowed(await get(path, APP))).toBeNull();
    const preflight = await ask(path, "PUT");
    expect([preflight.status, allowed(preflight), preflight.fields.get("access-control-max-age")]).toEqual([
      204,
      OWN,
      "60",
    ]);
    expect(preflight.fields.get("access-control-allow-methods")).toBe("PUT");
    expect(frame(preflight)).toBe("DENY");
  });

  test("and is the server's where a route says nothing, and where none is found", async () => {
    for (const path of ["/plain/echo", "/nowhere", "/health"]) {
      const reply = await get(path, APP);
      expect([allowed(reply), frame(reply)]).toEqual([APP, "SAMEORIGIN"]);
    }
  });

  test("a route that switches it off leaves the origin's own word", async () => {
    origin.on("/theirs", (call) => call.reply("200 OK", ["Access-Control-Allow-Origin: *"], "x"));
    const reply = await get("/off/theirs");
    expect([allowed(reply), frame(reply), reply.fields.get("x-content-type-options")]).toEqual(["*", null, null]);
    expect((await ask("/off/echo", "PUT")).status).toBe(200);
    expect((await gateway.once(request("DELETE /off/echo"))).status).toBe(200);
  });

  test("refusals before and after routing have the policy of the route that the path belongs to", async () => {
    const attack = await get("/own/echo?q=%3Cscript%3Ealert(1)%3C/script%3E%20union%20select%201,2,3%20from%20users");
    expect([attack.status, allowed(attack), frame(attack)]).toEqual([403, OWN, "DENY"]);
    const missing = await get("/files/none.txt");
    expect([missing.status, allowed(missing), frame(missing)]).toEqual([404, OWN, "DENY"]);
    const method = await gateway.once(request("DELETE /own/echo", [`Origin: ${OWN}`]));
    expect([method.status, allowed(method), frame(method)]).toEqual([405, OWN, "DENY"]);
    const broken = await get("/own/%zz");
    expect([broken.status, allowed(broken)]).toEqual([400, OWN]);
  });

  test("a preflight is for the route that has the method it asks for", async () => {
    expect(allowed(await ask("/two", "POST"))).toBe(OWN);
    expect(allowed(await ask("/two", "GET"))).toBeNull();
    expect(allowed(await ask("/two", "GET", APP))).toBe(APP);
  });
});

test("allowed_methods: others are 405 at every type of route, and HEAD goes with GET", async () => {
  for (const path of ["/plain/echo", "/say", "/go"]) {
    const reply = await gateway.once(request(`DELETE ${path}`));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "GET, HEAD, POST, OPTIONS"]);
  }
  const own = await gateway.once(request("POST /read/echo"));
  expect([own.status, own.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect((await gateway.once(request("HEAD /read/echo"))).status).toBe(200);
  expect((await gateway.once(request("PUT /health"))).status).toBe(405);
});

test("several rate limits: all must allow, the tightest is told, and what one refuses costs the others nothing", async () => {
  const states: (string | undefined)[] = [];
  for (let i = 0; i < 5; i++) {
    const reply = await gateway.once(request("GET /limits/echo"));
    const told = reply.fields.all("ratelimit");
    expect([reply.fields.all("ratelimit-policy").length, told.length]).toEqual([1, 1]);
    states.push(
      `${reply.status} ${/r=(\d+)/.exec(told[0]!)![1]} ${/q=(\d+)/.exec(reply.fields.get("ratelimit-policy")!)![1]}`,
    );
  }
  expect(states).toEqual(["200 2 3", "200 1 3", "200 0 3", "429 0 3", "429 0 3"]);
});
