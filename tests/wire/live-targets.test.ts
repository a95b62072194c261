// docs/providers.md#changes-of-targets
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin, echo } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origins = Array.from({ length: 3 }, () => EchoOrigin.start());
const [first, second, third] = origins as [EchoOrigin, EchoOrigin, EchoOrigin];
const team = (targets: readonly EchoOrigin[], more = "") =>
  `- type: upstream\n  prefix: /team\n  targets:\n${targets.map(({ url }) => `    - {url: ${url}}\n`).join("")}${more}- {type: respond, path: /last, body: last}\n`;
const gateway = await startGateway({
  config: {
    server: { workers: 2, drain_delay: "0s", debug_header: true },
    providers: { directory: { path: "routes.d" } },
  },
  routes: [{ type: "respond", path: "/own", body: "own" }],
  files: { "routes.d/team.yaml": team([first]) },
  binary: binaryWithHooks(),
});
afterAll(() => stopAll(gateway, ...origins));

const LIST = "/internal/api/config/routes";
const call = (start: string, body?: string) =>
  gateway.once(
    request(start, ["Host: localhost", ...(body === undefined ? [] : ["Content-Type: application/json"])], body),
  );
const generation = async () => json<{ generation: number }>(await call("GET /internal/api/status")).generation;
const write = (text: string) => writeFileSync(join(gateway.folder, "routes.d/team.yaml"), text);
const put = async (targets: readonly { readonly url: string; readonly weight?: number }[], more: object = {}) => {
  const reply = await call(
    `PUT ${LIST}/shop`,
    JSON.stringify({ type: "upstream", prefix: "/shop", retries: { attempts: 3 }, targets, ...more }),
  );
  expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""]);
};
const taken = (all: readonly EchoOrigin[] = origins) => all.map(({ requests }) => requests.length);
/** Which origins get requests, of so many on connections of their own. */
async function served(path: string, requests = 12): Promise<readonly EchoOrigin[]> {
  const before = taken();
  const replies = await Promise.all(Array.from({ length: requests }, () => call(`GET ${path}`)));
  expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
  return origins.filter((origin, i) => origin.requests.length > before[i]!);
}
const reaches = (path: string, wanted: readonly EchoOrigin[]) =>
  eventually(async () => expect((await served(path)).map(({ url }) => url)).toEqual(wanted.map(({ url }) => url)));
const urls = (all: readonly EchoOrigin[]) => all.map(({ url }) => ({ url }));
const listed = async (prefix: string) =>
  json<{ routes: { prefix: string; targets: { url: string }[] }[] }>(await call("GET /internal/api/routes"))
    .routes.find((route) => route.prefix === prefix)!
    .targets.map(({ url }) => url);

test("a file in which targets alone differ, weights and targets of the API: the configuration stays, and no request is lost", async () => {
  await put(urls([first]));
  const before = await generation();
  let isOver = false;
  const load = Promise.all(
    Array.from({ length: 2 }, async () => {
      const client = await gateway.connect();
      let sent = 0;
      for (; !isOver || sent < 1000; sent++)
        expect((await client.exchange(request(`GET ${sent % 2 === 0 ? "/team" : "/shop"}/x`))).status).toBe(200);
      client.close();
      return sent;
    }),
  );
  try {
    write(team([first, second], "  host_header: other.test\n"));
    await eventually(async () => expect(await generation()).toBe(before + 1));
    write(team([first, second]));
    await eventually(async () => expect(await generation()).toBe(before + 2));
    for (const targets of [[first, second, third], [third, first], [second]]) {
      write(team(targets));
      await put(urls(targets));
      const wanted = origins.filter((origin) => targets.includes(origin));
      await reaches("/team/x", wanted);
      await reaches("/shop/x", wanted);
      expect([await listed("/team"), await listed("/shop")]).toEqual([
        targets.map(({ url }) => url),
        targets.map(({ url }) => url),
      ]);
    }
    await put([
      { url: first.url, weight: 1 },
      { url: second.url, weight: 0 },
    ]);
    await reaches("/shop/x", [first]);
    const weights = await call(`PATCH ${LIST}/shop/weights`, JSON.stringify({ [first.url]: 0, [second.url]: 1 }));
    expect(weights.status).toBe(200);
    await reaches("/shop/x", [second]);
  } finally {
    isOver = true;
  }
  expect((await load).reduce((sum, sent) => sum + sent, 0)).toBeGreaterThanOrEqual(2000);
  expect(await generation()).toBe(before + 2);
  const lines = gateway.logs.json.filter(({ event, targets }) => event === "config_reload" && targets !== undefined);
  expect(lines.length).toBeGreaterThan(0);
  expect(new Set(lines.map(({ generation: of }) => of))).toEqual(new Set([before + 2]));
}, 20_000);

test("targets that stay keep their drains and connections; a request under way to a target that goes ends there", async () => {
  await put(urls([first, second]));
  await reaches("/shop/x", [first, second]);
  expect((await call("POST /internal/api/upstreams/drain", JSON.stringify({ target: second.url }))).status).toBe(200);
  await reaches("/shop/x", [first]);
  const before = await generation();
  const open = () => first.connections.filter(({ isClosed, ending }) => !isClosed && ending === "open");
  const kept = open();
  expect(kept.length).toBeGreaterThan(0);
  await put(urls([first, second, third]));
  await reaches("/shop/x", [first, third]);
  expect(open()).toEqual(expect.arrayContaining(kept));
  await put(urls([first, third]));
  await put(urls([third, second, first]));
  await reaches("/shop/x", [first, third]);
  expect((await call("POST /internal/api/upstreams/undrain", JSON.stringify({ target: second.url }))).status).toBe(200);
  await put(urls([first]));
  await reaches("/shop/x", [first]);
  const slow = await gateway.connect();
  const released = Promise.withResolvers<void>();
  first.on("/wait", async (one) => {
    await released.promise;
    await echo(one);
  });
  slow.send(request("GET /shop/wait"));
  await eventually(() => expect(first.requests.some(({ target }) => target === "/wait")).toBe(true));
  await put(urls([third]));
  await reaches("/shop/x", [third]);
  // Its kept connections close; the connection of the request stays.
  await eventually(() => expect(open().length).toBe(1));
  released.resolve();
  expect((await slow.reply()).status).toBe(200);
  slow.close();
  expect(await generation()).toBe(before);
}, 20_000);

test("more targets than the table of nodes has room for: they get a larger one, and drains stay", async () => {
  const idle = Array.from({ length: 150 }, (_, i) => ({ url: `http://127.0.0.1:${20_000 + i}`, weight: 0 }));
  await put(urls([first, second]));
  expect((await call("POST /internal/api/upstreams/drain", JSON.stringify({ target: second.url }))).status).toBe(200);
  const before = await generation();
  for (const more of [idle, idle.slice(75), idle, []]) {
    await put([...more, ...urls([second, third, first])]);
    await reaches("/shop/x", [first, third]);
  }
  expect((await call("POST /internal/api/upstreams/undrain", JSON.stringify({ target: second.url }))).status).toBe(200);
  await reaches("/shop/x", [first, second, third]);
  expect(await generation()).toBe(before);
}, 20_000);

test("a worker that begins later, and reloads in between, have the newest targets", async () => {
  const before = await generation();
  await put(urls([second, third]));
  await put(urls([third, first]));
  // The new worker finds the places of nodes that are in another order by now.
  const died = gateway.logs.json.filter(({ event }) => event === "worker_died").length;
  void call("GET /__test/crash").catch(() => null);
  await eventually(async () => {
    expect(gateway.logs.json.filter(({ event }) => event === "worker_died").length).toBe(died + 1);
    expect((await served("/shop/x", 40)).length).toBe(2);
  });
  expect(await served("/shop/x", 40)).toEqual([first, third]);
  expect(await generation()).toBe(before);
  for (let n = 0; n < 6; n++) {
    write(team(n % 2 === 0 ? [third] : [second]));
    if (n % 2 === 0) gateway.signal("SIGHUP");
    await put(
      urls(
        [
          [first, second],
          [second, third],
          [third, first],
        ][n % 3]!,
      ),
    );
  }
  await reaches("/shop/x", [first, third]);
  await reaches("/team/x", [second]);
  expect(await generation()).toBeGreaterThan(before);
}, 20_000);

test("all workers take targets, or none", async () => {
  await put(urls([first]));
  const before = await generation();
  void call("GET /__test/fail-reload").catch(() => null);
  const body = JSON.stringify({ type: "upstream", prefix: "/shop", retries: { attempts: 3 }, targets: urls([second]) });
  await eventually(async () => {
    const reply = await call(`PUT ${LIST}/shop`, body);
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining("keeps this worker from building it")]);
  });
  expect(await served("/shop/x", 40)).toEqual([first]);
  expect([await listed("/shop"), await generation()]).toEqual([[first.url], before]);
  await put(urls([second]));
  await reaches("/shop/x", [second]);
}, 20_000);
