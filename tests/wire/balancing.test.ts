import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { askInTurn, balanced, namedOrigins, tally, times } from "./named-origins.ts";

const origins = namedOrigins("a", "b", "c");
const [a, b, c] = origins as [(typeof origins)[0], (typeof origins)[0], (typeof origins)[0]];
const three = origins.map(({ url }) => ({ url }));
const weighted = [
  { url: a.url, weight: 5 },
  { url: b.url, weight: 1 },
  { url: c.url, weight: 0 },
];

const gateway = await startGateway({
  routes: [
    balanced("/turns", three),
    balanced("/weighted", weighted),
    balanced("/random", weighted, { load_balancing: { policy: "random" } }),
    balanced("/least", three, { load_balancing: { policy: "least_conn" } }),
    balanced("/least-weighted", weighted, { load_balancing: { policy: "least_conn" } }),
    balanced("/p2c", three, { load_balancing: { policy: "p2c" } }),
    balanced("/ip", three, { load_balancing: { policy: "ip_hash" } }),
    balanced("/uri", three, { load_balancing: { policy: "uri_hash" } }),
    balanced("/header", three, { load_balancing: { policy: "header", header: "X-User" } }),
    balanced("/cookie", three, { load_balancing: { policy: "cookie", cookie: "session" } }),
    balanced("/backup", [{ url: a.url }, { url: b.url, backup: true }]),
  ],
  config: { server: { trusted_proxies: ["127.0.0.1/32"] } },
});
afterAll(() => stopAll(gateway, ...origins));

const keys = Array.from({ length: 60 }, (_, i) => `k${i * 7919}`);

/** The answers to one request for each key; `linesOf` puts the key into the request. */
async function answersFor(path: string, linesOf: (key: string) => readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const key of keys) answers.push(...(await askInTurn(gateway, [path], linesOf(key))));
  return answers;
}

/** Keys stick to their targets, and all targets get some of them. */
async function expectSticky(path: string, linesOf: (key: string) => readonly string[]): Promise<string[]> {
  const first = await answersFor(path, linesOf);
  expect(await answersFor(path, linesOf)).toEqual(first);
  const counts = tally(first);
  for (const name of ["a", "b", "c"]) expect(counts[name] ?? 0).toBeGreaterThan(5);
  return first;
}

describe("round robin", () => {
  test("takes the targets in turn", async () => {
    expect(await askInTurn(gateway, times(6, "/turns/x"))).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("keeps to the weights, spread out, and sends nothing to weight 0", async () => {
    const answers = await askInTurn(gateway, times(60, "/weighted/x"));
    expect(tally(answers)).toEqual({ a: 50, b: 10 });
    expect(answers.slice(0, 6)).toEqual(answers.slice(6, 12));
    expect(answers.slice(0, 3)).not.toEqual(["b", "b", "b"]);
  });
});

test("random keeps to the weights on average", async () => {
  const counts = tally(await askInTurn(gateway, times(600, "/random/x")));
  expect(Object.keys(counts).sort()).toEqual(["a", "b"]);
  // 500 expected; six standard deviations are 55.
  expect(counts.a).toBeGreaterThan(440);
  expect(counts.a).toBeLessThan(560);
});

describe.each(["least", "p2c"])("%s", (policy) => {
  test("passes a busy target over", async () => {
    const busy = await gateway.connect();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const origin of origins) {
      origin.on("/hold", async (call) => {
        await held;
        call.reply("200 OK", [], origin === a ? "a" : origin === b ? "b" : "c");
      });
    }
    busy.send(request(`GET /${policy}/hold`));
    const busyOrigin = await a.until("a held request", () =>
      origins.find((origin) => origin.requestsFor("/hold").length > 0),
    );
    const name = busyOrigin === a ? "a" : busyOrigin === b ? "b" : "c";
    const counts = tally(await askInTurn(gateway, times(30, `/${policy}/x`)));
    release();
    expect((await busy.reply()).text).toBe(name);
    busy.close();
    for (const origin of origins) origin.requests.length = 0;
    // Each of the two others gets its share; the busy one loses every comparison.
    expect(counts[name] ?? 0).toBe(0);
    expect(Object.keys(counts).length).toBe(2);
  });
});

test("least connections takes idle targets by their weights", async () => {
  expect(tally(await askInTurn(gateway, times(60, "/least-weighted/x")))).toEqual({ a: 50, b: 10 });
});

test("a probe through proxy-test leaves nothing under way", async () => {
  const probe = JSON.stringify({ path: "/least/probed", method: "GET", headers: {} });
  for (let i = 0; i < 2; i++) {
    const reply = await gateway.once(
      request("POST /internal/api/proxy-test", ["Content-Type: application/json"], probe),
    );
    expect(json(reply)).toMatchObject({ status_code: 200 });
  }
  expect(tally(await askInTurn(gateway, times(9, "/least/x")))).toEqual({ a: 3, b: 3, c: 3 });
  await eventually(async () => {
    const samples = await gateway.samples();
    expect(sumOf(samples, "gateway_requests_in_flight")).toBe(1);
  });
});

describe("a key sticks to its target:", () => {
  test("the address of the client, as a trusted proxy tells it", async () => {
    await expectSticky("/ip/x", (key) => [`X-Forwarded-For: 203.0.113.${Number(key.slice(1)) % 251}`]);
    expect(Object.keys(tally(await askInTurn(gateway, times(12, "/ip/y")))).length).toBe(1);
  });

  test("path and query", async () => {
    const first = await askInTurn(
      gateway,
      keys.map((key) => `/uri/${key}?q=1`),
    );
    expect(
      await askInTurn(
        gateway,
        keys.map((key) => `/uri/${key}?q=1`),
      ),
    ).toEqual(first);
    expect(
      await askInTurn(
        gateway,
        keys.map((key) => `/uri/${key}?q=2`),
      ),
    ).not.toEqual(first);
    expect(Object.keys(tally(first)).length).toBe(3);
  });

  test("a header, whatever the case of its name", async () => {
    const first = await expectSticky("/header/x", (key) => [`X-User: ${key}`]);
    expect(await answersFor("/header/y", (key) => ["X-Other: 1", `x-uSER:   ${key}`])).toEqual(first);
  });

  test("a cookie among others", async () => {
    const first = await expectSticky("/cookie/x", (key) => [`Cookie: session=${key}`]);
    const others = (key: string) => [`Cookie: a=session; xsession=${keys[0]}; session=${key}; session=other`];
    expect(await answersFor("/cookie/y", others)).toEqual(first);
  });

  test.each(["/header/x", "/cookie/x"])("without a key %s takes turns", async (path) => {
    expect(tally(await askInTurn(gateway, times(9, path), ["Cookie: other=1"]))).toEqual({ a: 3, b: 3, c: 3 });
  });
});

describe("a target that is away", () => {
  test("gives its keys to the others and takes no others' keys along; back again it has them all", async () => {
    const before = await answersFor("/header/x", (key) => [`X-User: ${key}`]);
    const { port } = b;
    b.stop();
    const meanwhile = await answersFor("/header/x", (key) => [`X-User: ${key}`]);
    b.listen(port);
    const moved = keys.filter((_, i) => before[i] !== meanwhile[i]);
    expect(moved).toEqual(keys.filter((_, i) => before[i] === "b"));
    expect(new Set(meanwhile)).toEqual(new Set(["a", "c"]));
    expect(await answersFor("/header/x", (key) => [`X-User: ${key}`])).toEqual(before);
  });

  test("is replaced by the backup, which gets nothing else", async () => {
    expect(tally(await askInTurn(gateway, times(10, "/backup/x")))).toEqual({ a: 10 });
    const { port } = a;
    a.stop();
    expect(tally(await askInTurn(gateway, times(10, "/backup/x")))).toEqual({ b: 10 });
    a.listen(port);
    expect(tally(await askInTurn(gateway, times(10, "/backup/x")))).toEqual({ a: 10 });
  });
});
