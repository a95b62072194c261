import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:http2";
import type { LiveState } from "../../src/features/dashboard/live-state.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { LiveStream } from "../harness/live-stream.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const WATCHERS = 32;
const origin = EchoOrigin.start();
const config = {
  server: { workers: 2, waf: { enabled: true, mode: "enforce" }, cache: { enabled: true, cookies: "bypass" } },
};
const gateway = await startGateway({ config, routes: [upstream("/node", origin), upstream("/two", origin)] });
const url = `http://127.0.0.1:${gateway.port}`;
afterAll(() => stopAll(gateway, origin));

const ask = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));

test("what operators ask the gateway itself is no latency of its clients", async () => {
  const own = await startGateway({ routes: [{ type: "respond", path: "/hello", body: "hi" }] });
  const counted = () => own.metric("gateway_request_duration_seconds_count");
  try {
    const before = await counted();
    const streams = [await LiveStream.open(`http://127.0.0.1:${own.port}`)];
    for (const path of ["/internal/", "/internal/api/upstreams/health", "/internal/api/status", "/metrics"])
      expect((await own.once(request(`GET ${path}`))).status).toBe(200);
    streams[0]!.close();
    await eventually(async () =>
      expect(await own.metric("gateway_requests_total", { path: "/internal/api/stream" })).toBe(1),
    );
    expect(await counted()).toBe(before);
    streams.push(await LiveStream.open(`http://127.0.0.1:${own.port}`));
    await streams[1]!.until<LiveState>(({ history, latency }) => history === undefined && latency === null);
    await own.once(request("GET /hello"));
    await streams[1]!.until<LiveState>(({ latency }) => latency !== null);
    expect(await counted()).toBe(before + 1);
    streams[1]!.close();
  } finally {
    await own.stop();
  }
});

describe("an event a second", () => {
  test("says what the counters of /metrics say, and who asked for what", async () => {
    const stream = await LiveStream.open(url);
    expect([stream.response.status, stream.response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(stream.response.headers.get("cache-control")).toBe("no-store");
    await stream.until<LiveState>(({ history }) => history !== undefined);
    for (let i = 0; i < 20; i++) await ask("/node/echo?token=secret-in-a-query");
    await ask("/two/x?q=1%27%20OR%20%271%27=%271");
    await gateway.once("GET /bad HTTP/1.1\r\n\r\n");
    const seen = await stream.until<LiveState>(
      ({ routes, rows }) => routes.some(({ latency }) => latency !== null) && rows.length > 0,
    );
    const route = seen.routes.find(({ label }) => label === "/node")!;
    expect(route.latency![0]).toBeGreaterThan(0);
    const all = () => (stream.events as unknown as LiveState[]).flatMap(({ rows }) => rows);
    await eventually(() => expect(all().filter(({ path }) => path === "/node/echo")).toHaveLength(20));
    expect(all().find(({ cache }) => cache === "miss")).toMatchObject({
      method: "GET",
      host: "gw.test",
      status: 200,
      upstream: origin.url,
      address: "127.0.0.1",
    });
    expect(JSON.stringify(stream.events)).not.toContain("secret-in-a-query");
    const last = await stream.until<LiveState>(
      ({ hits, attackers }) => hits.length > 0 && (attackers[0]?.refusals ?? 0) >= 2,
    );
    expect(last.hits[0]).toMatchObject({
      category: "sqli",
      exclusion: expect.stringMatching(/^- \{rule: SQLI-\d+, path: "\/two\/x", param: "q"\}$/),
    });
    expect(last.attackers[0]!.reasons.map(([reason]) => reason).sort()).toEqual(["missing_host", "waf_blocked"]);
    const samples = await gateway.metric("gateway_requests_total", { path: "/node" });
    expect(last.routes.find(({ label }) => label === "/node")!.requests).toBe(samples);
    expect(last.totals.wafBlocked).toBe(await gateway.metric("gateway_waf_blocked_requests_total"));
    expect(last.workers).toHaveLength(2);
    stream.close();
  }, 60_000);

  test("comes over HTTP/2 as well", async () => {
    const client = connect(url);
    const stream = client.request({ ":path": "/internal/api/stream" });
    let text = "";
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    await eventually(() => expect(text.split("\n\n").length).toBeGreaterThanOrEqual(3), 20_000);
    client.destroy();
  }, 30_000);

  test("has no body for HEAD, and ends", async () => {
    const reply = await gateway.once(request("HEAD /internal/api/stream"), "HEAD");
    expect([reply.status, reply.fields.get("content-type")]).toEqual([200, "text/event-stream"]);
  });
});

describe("bounds", () => {
  test(`there are ${WATCHERS} watchers at most, and a place is free again when one has left`, async () => {
    const streams: LiveStream[] = [];
    await eventually(async () => {
      const stream = await LiveStream.open(url);
      if (stream.response.status === 200) streams.push(stream);
      if (streams.length < WATCHERS) throw new Error("more");
    }, 30_000);
    const refused = await gateway.once(request("GET /internal/api/stream"));
    expect([refused.status, refused.fields.get("retry-after")]).toEqual([503, "5"]);
    expect(json(refused)).toMatchObject({ message: expect.stringContaining("watchers already") });
    for (const stream of streams.splice(0, 4)) stream.close();
    const next = await eventually(async () => {
      const stream = await LiveStream.open(url);
      if (stream.response.status !== 200) throw new Error("still full");
      return stream;
    }, 20_000);
    for (const stream of [...streams, next]) stream.close();
  }, 90_000);

  test("a watcher that does not read costs others nothing, and its events are dropped", async () => {
    const lazy = await gateway.connect();
    lazy.hold();
    lazy.send(request("GET /internal/api/stream"));
    const stream = await LiveStream.open(url);
    await eventually(() => expect(stream.events.length).toBeGreaterThanOrEqual(4), 20_000);
    expect(await gateway.metric("gateway_unsent_bytes")).toBeLessThan(1 << 20);
    stream.close();
    lazy.close();
  }, 60_000);
});

test("a drain ends the streams in order", async () => {
  const own = await startGateway({ config: { server: { workers: 1 } }, routes: [upstream("/node", origin)] });
  const stream = await LiveStream.open(`http://127.0.0.1:${own.port}`);
  await stream.until<LiveState>(({ history }) => history !== undefined);
  own.signal("SIGTERM");
  await eventually(() => expect(stream.hasEnded).toBe(true), 20_000);
  expect(await own.exited()).toBe(0);
  own.kill();
}, 60_000);

test("who may see the internal endpoints may watch, and no one else", async () => {
  const locked = await startGateway({ config: { internal_api: { token: "open-sesame-17" } }, routes: [] });
  const at = `http://127.0.0.1:${locked.port}`;
  expect((await LiveStream.open(at)).response.status).toBe(401);
  const stream = await LiveStream.open(at, { Authorization: "Bearer open-sesame-17" });
  expect(stream.response.status).toBe(200);
  stream.close();
  // The page holds nothing of the gateway: it asks for the token.
  expect((await locked.once(request("GET /internal/"))).status).toBe(200);
  expect((await locked.once(request("GET /internal/", ["Host: rebound.attacker.dev"]))).status).toBe(403);
  expect((await locked.once(request("GET /internal/", ["Via: 1.1 other"]))).status).toBe(200);
  expect((await locked.once(request("GET /internal/api/config"))).status).toBe(401);
  const shown = await locked.once(request("GET /internal/api/config", ["Authorization: Bearer open-sesame-17"]));
  expect([shown.status, shown.fields.get("content-type")]).toEqual([200, "application/yaml"]);
  expect(shown.text).toContain("internal_api:");
  expect(shown.text).not.toContain("open-sesame-17");
  await locked.stop();
}, 60_000);
