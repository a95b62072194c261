// docs/pressure.md#canaries
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, type Gateway, restartGateway, startGateway } from "../harness/gateway.ts";
import { END_HEADERS, END_STREAM } from "../harness/h2-client.ts";
import { H2Origin } from "../harness/h2-origin.ts";
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
for (const origin of [old, good])
  origin
    .on("/held", (call) => void call.takeOver())
    .on("/missing", (call) => call.reply("404 Not Found"))
    .on("/upload", async (call) => {
      await call.body();
      call.reply("200 OK");
    });
bad.on("/cut", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
const [grpcOld, grpcBad] = await Promise.all(
  ["0", "13"].map((status) =>
    H2Origin.start({
      onEnd(stream) {
        stream.head([[":status", "200"], ...([["content-type", "application/grpc"]] as const)]);
        stream.head([["grpc-status", status]], END_HEADERS | END_STREAM);
      },
    }),
  ),
);
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
  route("/cut", { target: bad.url, steps: [20, 100], every: "1h", sticky: false, abort }),
  route(
    "/grpc",
    { target: grpcBad!.url, steps: [20, 100], every: "1h", sticky: false, abort },
    { target: grpcOld!.url },
  ),
  route("/hostile", { target: good.url, steps: [50, 60, 100], every: "1h", sticky: false, abort }),
  route("/hand", { target: good.url, steps: [0.01, 100], every: "1h", sticky: false, abort }),
];
let gateway = await startGateway({ config: { server: { workers: 2 } }, routes });
afterAll(() => stopAll(gateway, ...origins, grpcOld!, grpcBad!));

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
    expect(gateway.logs.json.filter(({ event }) => event === "canary_started").length).toBe(routes.length);
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

  test.each(["/cut", "/grpc"])(
    "of a version whose responses end badly goes back: %s",
    async (name) => {
      await eventually(async () => {
        await ask(`${name}${name}`).catch(() => null);
        expect(await standing(name)).toMatchObject({ state: "aborted", reason: "errors", old_errors: 0 });
      });
    },
    30_000,
  );

  test("is not moved by clients: slow uploads, requests that are left or refused, paths that are not there", async () => {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const upload = await gateway.connect();
        upload.send(request("POST /hostile/upload", ["Content-Length: 6"]));
        upload.send("abc");
        await Bun.sleep(1000);
        upload.send("def");
        expect((await upload.reply()).status).toBe(200);
        upload.close();
        const held = await gateway.connect();
        const seen = old.requestsFor("/held").length + good.requestsFor("/held").length;
        held.send(request("GET /hostile/held"));
        await eventually(() =>
          expect(old.requestsFor("/held").length + good.requestsFor("/held").length).toBeGreaterThan(seen),
        );
        held.reset();
        expect((await ask("/hostile/missing")).status).toBe(404);
      }),
    );
    const found = await eventually(async () => {
      const now = await standing("/hostile");
      expect(Number(now.requests) + Number(now.old_requests)).toBe(24);
      return now;
    });
    expect([found.errors, found.old_errors, found.state]).toEqual([0, 0, "running"]);
    for (const p99 of [found.p99_ms, found.old_p99_ms]) expect(Number(p99)).toBeLessThan(800);
  });

  test("keeps its share with other steps in the file", async () => {
    const file = join(gateway.folder, "routes.yaml");
    const text = await Bun.file(file).text();
    writeFileSync(file, text.replace(/- 50\n(\s+)- 60\n/, "- 1\n$1- 2\n"));
    gateway.signal("SIGHUP");
    await eventually(async () => expect((await standing("/hostile")).steps).toEqual([1, 2, 100]));
    expect(await standing("/hostile")).toMatchObject({ share: 50, state: "running" });
  });

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
        routes: [
          route("/bad", { target: bad.url, steps: [20, 100], every: "1h", sticky: false, abort }),
          route("/hand", { target: good.url, steps: [0.01, 100], every: "1h", sticky: false, abort }),
        ],
      });
    const fleet = await Promise.all([start("one"), start("two")]);
    try {
      const share = (one: Gateway, name = "/bad") => one.metric("gateway_canary_share", { route: name });
      const promote = [EDGE_BINARY, "canary", "promote", "/hand"];
      expect((await runProcess(promote, { cwd: fleet[1]!.folder, timeout: 30_000 })).code).toBe(0);
      await eventually(async () => {
        await fleet[0]!.once(request("GET /bad/x"));
        expect(await share(fleet[0]!)).toBe(0);
      }, 20_000);
      await eventually(async () => expect(await share(fleet[1]!)).toBe(0));
      await fleet[1]!.log("the end", ({ event }) => event === "canary_aborted");
      expect((await fleet[1]!.once(request("GET /bad/x"))).text).toBe("old");
      await eventually(async () => expect(await share(fleet[0]!, "/hand")).toBe(1));
      // A store that has lost its data takes up what the gateways know.
      await redis.command("FLUSHALL");
      const rollouts = async () => (await redis.command("--raw", "KEYS", "*rollout:*")).split("\n").filter(Boolean);
      await eventually(async () => expect((await rollouts()).length).toBe(2), 20_000);
      const phases = async () =>
        (await Promise.all((await rollouts()).map((key) => redis.command("HGET", key, "phase")))).toSorted();
      expect(await phases()).toEqual(["aborted", "promoted"]);
      for (const one of fleet) expect([await share(one), await share(one, "/hand")]).toEqual([0, 1]);
      // Out of the configuration and in again, it begins anew.
      const texts = await Promise.all(fleet.map((one) => Bun.file(join(one.folder, "routes.yaml")).text()));
      const use = async (change: (text: string) => string) => {
        for (const [i, one] of fleet.entries()) {
          writeFileSync(join(one.folder, "routes.yaml"), change(texts[i]!));
          one.signal("SIGHUP");
        }
      };
      await use((text) => text.replaceAll(/^( +)canary:\n(\1 .*\n)+/gm, ""));
      await eventually(async () => expect(await rollouts()).toEqual([]), 20_000);
      await use((text) => text);
      await eventually(async () => expect((await rollouts()).length).toBe(2), 20_000);
      expect(await phases()).toEqual(["running", "running"]);
      for (const one of fleet)
        await eventually(async () => expect([await share(one), await share(one, "/hand")]).toEqual([0.2, 0.0001]));
    } finally {
      await Promise.all(fleet.map((one) => one.stop()));
      await redis.stop();
    }
  }, 60_000);
});
