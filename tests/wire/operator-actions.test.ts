// docs/endpoints.md#actions, docs/operations.md#audit
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const [one, two] = [EchoOrigin.start(), EchoOrigin.start()];
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    {
      type: "upstream",
      prefix: "/pair",
      targets: [{ url: one.url }, { url: two.url }],
      load_balancing: { policy: "sticky", cookie: { name: "node" } },
    },
    upstream("/sole", two),
    upstream("/own", one, { maintenance: { enabled: false, retry_after: "7s" } }),
  ],
});
afterAll(() => stopAll(gateway, one, two));

const JSON_LINES = ["Content-Type: application/json"];

function call(action: string, body: unknown, lines = JSON_LINES, at: Gateway = gateway): Promise<Reply> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return at.once(
    request(`POST /internal/api/${action}`, [...lines, `Content-Length: ${Buffer.byteLength(text)}`]) + text,
  );
}

async function done(action: string, body: unknown): Promise<Record<string, unknown>> {
  const reply = await call(action, body);
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return json(reply);
}

const get = (path: string, lines: readonly string[] = [], at: Gateway = gateway): Promise<Reply> =>
  at.once(request(`GET ${path}`, lines));

const state = async (): Promise<unknown> => json(await get("/internal/api/status")).operations;

/** Waits until the line `audit` of the last action of this name says this. */
function audited(action: string, fields: object): Promise<void> {
  return eventually(() => {
    const last = gateway.logs.json.findLast((line) => line.event === "audit" && line.action === action);
    expect(last).toMatchObject(fields);
  });
}

async function requestsTo(origin: { readonly url: string }): Promise<number> {
  return gateway.metric("gateway_upstream_requests_total", { upstream: origin.url });
}

describe("draining a target", () => {
  test("moves sticky clients, leaves the others where they are, and outlives a reload", async () => {
    const first = await get("/pair");
    const cookie = first.fields.get("set-cookie")!.split(";")[0]!;
    const [kept, other] = (await requestsTo(one)) > 0 ? [one, two] : [two, one];
    expect(await done("upstreams/drain", { target: kept.url })).toMatchObject({
      target: kept.url,
      drained: [kept.url],
    });
    expect(await state()).toMatchObject({ log_level: "info", drained: [kept.url], maintenance: [] });
    const before = await requestsTo(kept);
    for (let i = 0; i < 4; i++) expect((await get("/pair", [`Cookie: ${cookie}`])).status).toBe(200);
    expect([await requestsTo(kept), await requestsTo(other)]).toEqual([before, 4]);
    await audited("drain", {
      action: "drain",
      by: null,
      from: "127.0.0.1",
      ok: true,
      target: kept.url,
    });
    expect((await done("reload", "")).ok).toBe(true);
    for (let i = 0; i < 4; i++) await get("/pair", [`Cookie: ${cookie}`]);
    expect([await requestsTo(kept), await requestsTo(other)]).toEqual([before, 8]);
    expect(await done("upstreams/undrain", { target: `${kept.url}/` })).toEqual({ target: kept.url, drained: [] });
    await get("/pair", [`Cookie: ${cookie}`]);
    expect(await requestsTo(kept)).toBe(before + 1);
  });

  test("lets what is under way end", async () => {
    const [under, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(asked) {
        under.resolve();
        const sent = await asked.text();
        await gate.promise;
        return new Response(`took ${sent.length}`);
      },
    });
    const own = await startGateway({ routes: [upstream("/slow", { url: `http://127.0.0.1:${slow.port}` })] });
    try {
      const reply = own.once(request("POST /slow", [], "x".repeat(10)));
      await under.promise;
      const drained = await call("upstreams/drain", { target: `http://127.0.0.1:${slow.port}` }, JSON_LINES, own);
      expect(drained.status).toBe(200);
      expect((await get("/slow", [], own)).status).toBe(503);
      gate.resolve();
      expect([(await reply).status, (await reply).text]).toEqual([200, "took 10"]);
    } finally {
      await own.stop();
      await slow.stop(true);
    }
  });

  test("that is the only one leaves a route without any: 503, and health says drained", async () => {
    await done("upstreams/drain", { target: two.url });
    expect((await get("/sole/x")).status).toBe(503);
    const health = json(await get("/internal/api/upstreams/health")) as { upstreams: Record<string, unknown>[] };
    expect(health.upstreams.map(({ target, drained }) => [target, drained])).toContainEqual([two.url, true]);
    const listed = json(await get("/internal/api/routes")) as { routes: { prefix: string; targets: object[] }[] };
    expect(listed.routes.find(({ prefix }) => prefix === "/sole")!.targets).toMatchObject([{ drained: true }]);
    await done("upstreams/undrain", { target: two.url });
    expect((await get("/sole/x")).status).toBe(200);
  });

  test("a mirror and an upstream of the transcoder are drained and used again, and a reload keeps that", async () => {
    const shop = await GrpcShop.start();
    const copies = EchoOrigin.start();
    const own = await startGateway({
      config: {
        server: { workers: 2 },
        transcoder: {
          enabled: true,
          routes: [{ ...shopRoute("GET", "/items/:id", "GetItem", shop.url), descriptor_set: SHOP_FILE }],
        },
      },
      routes: [upstream("/own", one, { mirror: { target: copies.url, share: "100%" } })],
    });
    const mirrored = () => own.metric("gateway_mirrored_requests_total", { result: "sent" });
    try {
      for (const action of ["drain", "undrain"]) {
        for (const target of [shop.url, copies.url]) {
          expect((await call(`upstreams/${action}`, { target }, JSON_LINES, own)).status).toBe(200);
        }
        expect((await call("reload", {}, JSON_LINES, own)).status).toBe(200);
        const isDrained = action === "drain";
        const { operations } = json<{ operations: { drained: string[] } }>(await get("/internal/api/status", [], own));
        expect(operations.drained.length).toBe(isDrained ? 2 : 0);
        for (let i = 0; i < 4; i++) {
          expect((await get("/items/7", [], own)).status).toBe(isDrained ? 503 : 200);
          expect((await get("/own", [], own)).status).toBe(200);
        }
        if (isDrained) expect(await mirrored()).toBe(0);
        else await eventually(async () => expect(await mirrored()).toBe(4));
      }
    } finally {
      await stopAll(own, copies, shop);
    }
  }, 60_000);

  test.each([
    [{ target: "http://127.0.0.1:1" }, 404],
    [{ target: 5 }, 400],
    [{}, 400],
    [{ target: one.url, also: 1 }, 400],
  ])("%j is %i", async (body, status) => {
    expect((await call("upstreams/drain", body)).status).toBe(status);
  });
});

describe("maintenance", () => {
  test("on for all and off again, without reading the files", async () => {
    const file = join(gateway.folder, "routes.yaml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, "not: [routes");
    const answer = await done("maintenance", { on: true });
    expect(answer).toMatchObject({ on: true, route: null, routes: ["/pair", "/sole"] });
    const reply = await get("/sole/x");
    expect([reply.status, reply.fields.get("retry-after")]).toEqual([503, "300"]);
    expect((await get("/own/x")).status).toBe(200);
    expect((await get("/health")).status).toBe(200);
    expect((await call("reload", {})).status).toBe(422);
    expect((await get("/sole/x")).status).toBe(503);
    writeFileSync(file, text);
    await done("reload", {});
    expect((await get("/sole/x")).status).toBe(503);
    expect(await done("maintenance", { on: false })).toMatchObject({ routes: [] });
    expect((await get("/sole/x")).status).toBe(200);
    await audited("maintenance", { ok: true, on: false, route: null, from: "127.0.0.1" });
  });

  test("of one route keeps what the file says of it beside the switch", async () => {
    expect(await done("maintenance", { on: true, route: "/own" })).toMatchObject({ routes: ["/own"] });
    const reply = await get("/own/x");
    expect([reply.status, reply.fields.get("retry-after"), (await get("/sole")).status]).toEqual([503, "7", 200]);
    expect(await done("maintenance", { on: false, route: "/own" })).toMatchObject({ routes: [] });
  });

  test.each([
    [{ on: true, route: "/none" }, 404],
    [{ on: "yes" }, 400],
    [{}, 400],
    [[], 400],
  ])("%j is %i", async (body, status) => {
    expect((await call("maintenance", body)).status).toBe(status);
  });
});

describe("a reload", () => {
  test("is told nothing", async () => {
    for (const body of [{ target: "x" }, { on: true }]) expect((await call("reload", body)).status).toBe(400);
  });

  test("answers with its faults, and both ways to ask for it are noted", async () => {
    const file = join(gateway.folder, "routes.yaml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}\nnonsense: 1\n`);
    const reply = await call("reload", {});
    expect([reply.status, json(reply).ok]).toEqual([422, false]);
    expect(String((json(reply).faults as string[])[0])).toMatch(/routes\.(yaml|json)/);
    await audited("reload", { ok: false, from: "127.0.0.1" });
    writeFileSync(file, text);
    gateway.signal("SIGHUP");
    await gateway.log("audit", (line) => line.event === "audit" && line.by === "signal" && line.ok === true);
    await audited("reload", { by: "signal", from: "SIGHUP", ok: true });
    const replies = await Promise.all([call("reload", {}), call("reload", {}), call("reload", {})]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe("the log level", () => {
  test("holds for every thread, and an audit line is written at each", async () => {
    expect(await done("log-level", { level: "error" })).toEqual({ level: "error", before: "info" });
    // Messages are taken in their order: a worker that has taken a reload up has taken the level before it.
    await done("reload", {});
    for (let i = 0; i < 16; i++) await get("/sole/quiet");
    await done("log-level", { level: "info" });
    await done("reload", {});
    await audited("log_level", { level: "info", before: "error", ok: true });
    const linesOf = (path: string) => gateway.logs.json.filter((line) => line.path === path).length;
    for (let i = 0; i < 16; i++) await get("/sole/loud");
    await eventually(() => expect(linesOf("/sole/loud")).toBe(16));
    expect(linesOf("/sole/quiet")).toBe(0);
    expect((await call("log-level", { level: "loud" })).status).toBe(400);
  });
});

describe("who may act", () => {
  const drain = { target: "http://127.0.0.1:1" };
  test.each([
    ["a page of another origin", ["Origin: http://evil.test", ...JSON_LINES], 403],
    ["a page of another site", ["Sec-Fetch-Site: cross-site", ...JSON_LINES], 403],
    ["a page of the same site", ["Sec-Fetch-Site: same-site", ...JSON_LINES], 403],
    ["a form", ["Content-Type: application/x-www-form-urlencoded"], 415],
    ["text", ["Content-Type: text/plain"], 415],
    ["a body of no type", [], 415],
    ["a page that also names our origin", ["Origin: http://gw.test", "Origin: http://evil.test", ...JSON_LINES], 403],
    ["the dashboard", ["Origin: http://gw.test", "Sec-Fetch-Site: same-origin", ...JSON_LINES], 404],
  ])("%s", async (_, lines, status) => {
    expect((await call("upstreams/drain", drain, lines as string[])).status).toBe(status as number);
  });

  test("a body that is too long, or no JSON", async () => {
    expect((await call("upstreams/drain", { target: "x".repeat(5000) })).status).toBe(413);
    expect((await call("upstreams/drain", "{")).status).toBe(400);
    expect((await get("/internal/api/reload")).status).toBe(405);
  });

  test("with a token who shows it, by that name; a forwarded call without it is refused", async () => {
    const guarded = await startGateway({ config: { internal_api: { token: "a-long-token" } } });
    try {
      expect((await call("reload", {}, JSON_LINES, guarded)).status).toBe(401);
      const shown = ["Authorization: Bearer a-long-token", ...JSON_LINES];
      expect((await call("reload", {}, shown, guarded)).status).toBe(200);
      const line = await guarded.log("audit", ({ event }) => event === "audit");
      expect(line).toMatchObject({ action: "reload", by: "token", from: "127.0.0.1" });
    } finally {
      await guarded.stop();
    }
  });
});
