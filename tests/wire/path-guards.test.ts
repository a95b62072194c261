import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { expectCanary, expectJsonError, expectRefused } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [
  { type: "static", prefix: "/public", dir: "site" },
  upstream("/node", origin),
  { ...upstream("/internal-exact", origin), prefix: undefined, path: "/exact" },
];
const files = { "site/app.js": "1", "site/js/lib.js": "2", "secret.txt": "secret" };
const guarded = await startGateway({ config: { server: { waf: { enabled: true } } }, routes, files });
const unguarded = await startGateway({ routes, files });
const detecting = await startGateway({ config: { server: { waf: { mode: "detection" } } }, routes, files });
afterAll(async () => {
  await guarded.stop();
  await detecting.stop();
  await stopAll(unguarded, origin);
});

/** Sends a traversal with a canary request behind it, and checks the teardown that every such refusal promises. */
async function refusedBy(gateway: Gateway, target: string): Promise<Reply> {
  const before = origin.sequence;
  const client = await gateway.connect();
  client.send(Buffer.concat([request(`GET ${target}`), request("GET /node/canary")]));
  const reply = await client.reply();
  expect([reply.status, reply.fields.get("content-type")]).toEqual([403, "application/json"]);
  expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
  expect((await client.takeRest()).byteLength).toBe(0);
  client.close();
  await expectCanary(gateway, before + 1);
  return reply;
}

const ATTACKS = [
  "/../../etc/passwd",
  "/public/../../etc/passwd",
  "/public/%2e%2e/%2e%2e/etc/passwd",
  "/public/%2E%2E/secret.txt",
  "/public/.%2e/secret.txt",
  "/public/%252e%252e/secret.txt",
  "/public/..%2f..%2fsecret.txt",
  "/public/..%5csecret.txt",
  "/public/..;/secret.txt",
];

describe("the WAF", () => {
  test.each(ATTACKS)("blocks %s with its body, its event and a closed connection", async (target) => {
    const reply = await refusedBy(guarded, target);
    const body = json<{ threat_score: number; triggered_rules: string[] }>(reply);
    expect(body).toEqual({
      error: "403 Forbidden",
      message: "Request blocked by Web Application Firewall",
      threat_score: expect.any(Number),
      triggered_rules: expect.any(Array),
    } as never);
    expect(body.threat_score).toBeGreaterThanOrEqual(5);
    expect(body.triggered_rules.length).toBeGreaterThan(0);
    const event = await guarded.log("the waf_block", (line) => line.event === "waf_block" && line.path === target);
    expect(event).toMatchObject({ client_ip: "127.0.0.1", method: "GET", category: "traversal", action: "blocked" });
    expect(event).toMatchObject({ location: "url", anomaly_score: body.threat_score });
    expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test.each([
    ["/public/app.js", 200],
    ["/public/js/../app.js", 200],
    ["/node/canary?file=a..b", 200],
    ["/node/a..b/c", 200],
    ["/public/../exact", 200],
  ])("lets %s through", async (target, status) => {
    expect((await guarded.once(request(`GET ${target}`))).status).toBe(status);
  });

  test("looks at the path alone for traversal, not at the query", async () => {
    expect((await guarded.once(request("GET /node/canary?next=/../x"))).status).toBe(200);
  });

  test("only logs in detection mode", async () => {
    const target = "/node/%2e%2e/echo";
    const reply = await detecting.once(request(`GET ${target}`));
    expect(reply.text).not.toContain("Web Application Firewall");
    const event = await detecting.log("the waf_detect", (line) => line.event === "waf_detect" && line.path === target);
    expect(event).toMatchObject({ action: "logged", category: "traversal" });
  });
});

describe("the prefix guard, with the WAF off,", () => {
  test.each([
    "/public/../../etc/passwd",
    "/public/%2e%2e/secret.txt",
    "/public/..%2fsecret.txt",
    "/public/%252e%252e/x",
  ])("refuses %s", async (target) => {
    expect(json(await refusedBy(unguarded, target))).toEqual({ error: "403 Forbidden: Path Traversal Disallowed" });
  });

  test("logs prefix_guard_block with the raw target up to its query", async () => {
    const target = "/public/%2e%2e/logged";
    await refusedBy(unguarded, `${target}?a=b`);
    const event = await unguarded.log(
      "the block",
      (line) => line.event === "prefix_guard_block" && line.path === target,
    );
    expect(event).toMatchObject({ client_ip: "127.0.0.1", method: "GET", action: "blocked", status: 403 });
  });

  test("lets dot segments within the mount through", async () => {
    expect((await unguarded.once(request("GET /public/js/../app.js"))).text).toBe("1");
    expect((await unguarded.once(request("GET /public/./js/lib.js"))).text).toBe("2");
  });

  test("finds nothing behind a name that no file system has, though dot segments lead back", async () => {
    for (const name of ["A".repeat(256), "%41".repeat(300)]) {
      expect((await unguarded.once(request(`GET /public/${name}/../app.js`))).status).toBe(404);
    }
    expect((await unguarded.once(request(`GET /public/${"%41".repeat(255)}/../app.js`))).status).toBe(200);
  });

  test("stands behind an exact route", async () => {
    expect((await unguarded.once(request("GET /public/../exact"))).status).toBe(200);
  });

  test("is not for upstream routes", async () => {
    expect((await unguarded.once(request("GET /node/x/../canary"))).status).toBe(200);
  });
});

describe("a path with a broken escape or an escaped NUL", () => {
  const paths = ["/node/%", "/node/a%zz", "/node/%4", "/node/a%00b", "/%zz", "/%00", "/exact%zz", "/public/a%zz.js"];
  test.each(paths)("%s is 400, the connection closes, and nothing of it reaches the origin", async (path) => {
    for (const gateway of [guarded, unguarded, detecting]) {
      const row = { name: path, bytes: request(`GET ${path}`), status: 400 };
      expectJsonError(await expectRefused(gateway, origin, row));
    }
  });

  test("is 403 where the WAF or the guard have more to say", async () => {
    expect((await guarded.once(request("GET /node/../../%zz"))).status).toBe(403);
    expect((await unguarded.once(request("GET /public/../%zz"))).status).toBe(403);
  });

  test("in the query goes through as it came", async () => {
    expect((await unguarded.once(request("GET /node/canary?a=100%&b=%zz"))).status).toBe(200);
  });
});
