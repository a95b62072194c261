// docs/pressure.md#canaries
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, type Gateway, restartGateway, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { runProcess } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const origins = Array.from({ length: 3 }, () => ScriptedOrigin.start()) as [
  ScriptedOrigin,
  ScriptedOrigin,
  ScriptedOrigin,
];
const [old, good, bad] = origins;
old.otherwise((call) => call.reply("200 OK", [], "old"));
good.otherwise((call) => call.reply("200 OK", [], "new"));
bad.otherwise((call) => call.reply("500 Internal Server Error", [], "bad"));
const abort = { min_requests: 5 };
const route = (prefix: string, canary: object, more: object = {}) => ({
  type: "upstream",
  prefix,
  target: old.url,
  retries: { attempts: 0 },
  canary,
  ...more,
});
const routes = [
  route("/good", { target: good.url, steps: [50, 100], every: "1s", sticky: false, abort }),
  route("/bad", { targets: [{ url: bad.url }], steps: [20, 100], every: "1h", sticky: false, abort }),
  route("/sticky", { target: good.url, steps: [50, 100], every: "1h", abort }),
  route("/hand", { target: good.url, steps: [0.01, 100], every: "1h", sticky: false, abort }),
];
let gateway = await startGateway({ config: { server: { workers: 2 } }, routes });
afterAll(() => stopAll(gateway, ...origins));

const ask = async (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));
const edge = (...args: string[]) =>
  runProcess([EDGE_BINARY, "canary", ...args], { cwd: gateway.folder, timeout: 30_000 });
interface Listed {
  readonly canaries: readonly Readonly<Record<string, unknown>>[];
}
const listed = async (): Promise<Listed["canaries"]> =>
  (JSON.parse((await ask("/internal/api/canaries")).text) as Listed).canaries;
const standing = async (name: string) => (await listed()).find((one) => one.route === name)!;

describe("a rollout", () => {
  test("of a good version grows to all requests", async () => {
    expect(gateway.logs.json.filter(({ event }) => event === "canary_started").length).toBe(4);
    const bodies = new Set<string>();
    await eventually(async () => {
      bodies.add((await ask("/good/x")).text);
      expect(await standing("/good")).toMatchObject({ state: "promoted", share: 100, old_errors: 0, errors: 0 });
    });
    expect(bodies).toEqual(new Set(["old", "new"]));
    const line = await gateway.log(
      "the promotion",
      ({ event, route }) => event === "canary_promoted" && route === "/good",
    );
    expect(Number(line.requests)).toBeGreaterThanOrEqual(5);
    for (let i = 0; i < 5; i++) expect((await ask("/good/x")).text).toBe("new");
    expect(await gateway.metric("gateway_canary_share", { route: "/good" })).toBe(1);
  }, 30_000);

  test("of a bad version goes back at once, with few requests hurt", async () => {
    let hurt = 0;
    await eventually(async () => {
      if ((await ask("/bad/x")).status === 500) hurt++;
      expect((await standing("/bad")).state).toBe("aborted");
    });
    const line = await gateway.log("the end", ({ event, route }) => event === "canary_aborted" && route === "/bad");
    expect(line).toMatchObject({ reason: "errors", share: 0, requests: expect.any(Number), old_errors: 0 });
    expect(Number(line.errors_evidence)).toBeGreaterThan(200);
    for (let i = 0; i < 20; i++) expect((await ask("/bad/x")).text).toBe("old");
    expect(await gateway.metric("gateway_canary_requests_total", { route: "/bad", version: "new" })).toBe(hurt);
  }, 30_000);

  test("keeps a client by its cookie, else by its address", async () => {
    const from = async (address: string, cookie = "") => {
      const lines = ["Connection: close", ...(cookie === "" ? [] : [`Cookie: a=b; edge_canary=${cookie}`])];
      const text = await exchangeFrom(address, gateway.port, request("GET /sticky/x", lines));
      return { version: text.endsWith("new") ? "new" : "old", cookie: /edge_canary=([^;]+)/.exec(text)?.[1] ?? "" };
    };
    const clients = await Promise.all(Array.from({ length: 24 }, (_, i) => from(`127.0.1.${i + 1}`)));
    expect(new Set(clients.map(({ version }) => version))).toEqual(new Set(["old", "new"]));
    for (const [i, { version, cookie }] of clients.entries()) {
      expect((await from(`127.0.1.${i + 1}`)).version).toBe(version);
      // With its cookie, wherever it comes from, and without a new one.
      expect(await from(`127.0.1.${24 - i}`, cookie)).toEqual({ version, cookie: "" });
    }
    const [other] = clients.filter(({ version }) => version === "old");
    const forged = other!.cookie.replace(/^\d+/, "0");
    expect((await from("127.0.1.99", forged)).version).toBe((await from("127.0.1.99")).version);
  });

  test("goes by hand, and survives a reload and a restart", async () => {
    expect(await standing("/hand")).toMatchObject({ state: "running", share: 0.01 });
    expect((await edge("promote")).code).toBe(2);
    expect((await edge("promote", "/nowhere")).code).toBe(1);
    const promoted = await edge("promote", "/hand", "--json");
    expect(JSON.parse(promoted.stdout)).toMatchObject({
      canaries: [{ route: "/hand", state: "promoted", share: 100 }],
    });
    expect((await ask("/hand/x")).text).toBe("new");
    expect((await edge("status", "/hand")).stdout).toStartWith(`/hand: promoted (operator), 100 % to ${good.url}`);
    expect((await gateway.reload()).ok).toBe(true);
    expect((await ask("/hand/x")).text).toBe("new");
    gateway = await restartGateway(gateway, { config: { server: { workers: 2 } }, routes });
    expect((await ask("/hand/x")).text).toBe("new");
    expect(await standing("/bad")).toMatchObject({ state: "aborted", reason: "errors" });
    expect((await ask("/bad/x")).text).toBe("old");
    expect((await edge("abort", "/hand")).code).toBe(0);
    expect((await ask("/hand/x")).text).toBe("old");
    await gateway.log("who", ({ event, action }) => event === "audit" && action === "canary_abort");
  }, 30_000);

  test("begins anew with another target in the file", async () => {
    const file = join(gateway.folder, "routes.yaml");
    const text = await Bun.file(file).text();
    writeFileSync(file, text.replaceAll(bad.url, good.url));
    gateway.signal("SIGHUP");
    await gateway.log("another rollout", ({ event, route }) => event === "canary_started" && route === "/bad");
    expect(await standing("/bad")).toMatchObject({ state: "running", share: 20, requests: 0 });
  });
});

describe.skipIf(REDIS === null)("a rollout of a fleet", () => {
  test("is one for all: what one gateway sees, none sends any more", async () => {
    const redis = await RedisServer.start();
    const start = (node: string): Promise<Gateway> =>
      startGateway({
        config: { cluster: { store: redis.url, node } },
        routes: [route("/bad", { target: bad.url, steps: [20, 100], every: "1h", sticky: false, abort })],
      });
    const fleet = await Promise.all([start("one"), start("two")]);
    try {
      const share = (one: Gateway) => one.metric("gateway_canary_share", { route: "/bad" });
      await eventually(async () => {
        await fleet[0]!.once(request("GET /bad/x"));
        expect(await share(fleet[0]!)).toBe(0);
      }, 20_000);
      await eventually(async () => expect(await share(fleet[1]!)).toBe(0));
      await fleet[1]!.log("the end", ({ event }) => event === "canary_aborted");
      expect((await fleet[1]!.once(request("GET /bad/x"))).text).toBe("old");
    } finally {
      await Promise.all(fleet.map((one) => one.stop()));
      await redis.stop();
    }
  }, 60_000);
});
