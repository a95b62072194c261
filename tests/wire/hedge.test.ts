// A slow request is sent to a second target, and the first to respond wins: docs/upstreams.md#hedging
import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const BIG = Buffer.alloc(3_000_000, "b");
const MALFORMED = "HTTP/1.1 2OO\r\n\r\n";
/** No further request is read from the connection of a call that waited. */
const ONCE = ["Connection: close"];
/** Calls that wait for a word of the test, by their path. */
class Holder extends Map<string, OriginCall> {
  readonly hold = (call: OriginCall): void => {
    call.takeOver();
    this.set(call.request.target, call);
  };
}
const held = new Holder();
const heldSecond = new Holder();
/** Requests come here first: the other target is a backup. */
const slow = ScriptedOrigin.start().otherwise(held.hold);
const fast = ScriptedOrigin.start().otherwise((call) => call.reply("200 OK", ["X-From: fast"], call.request.method));
slow.on("/quick", (call) => call.reply("200 OK", [], "slow"));
slow.on("/write", (call) => void setTimeout(() => call.reply("200 OK", [], "written"), 250));
fast.on("/big", (call) => call.reply("200 OK", [], BIG));
fast.on("/cut", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!"));
fast.on("/trailers", (call) =>
  call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"),
);
for (const path of ["/silent/both", "/first", "/left", "/leaves/1", "/leaves/2"]) fast.on(path, heldSecond.hold);
fast.on("/second-fails", (call) => call.sendAndFinish(MALFORMED));
fast.on("/both-fail", (call) => call.sendAndFinish(MALFORMED));

const terms = {
  target: undefined,
  targets: [{ url: slow.url }, { url: fast.url, backup: true }],
  strip_prefix: false,
  retries: { attempts: 0 },
};
const gateway = await startGateway({
  routes: [
    upstream("/", slow, { ...terms, hedge: { after: "50ms" }, headers: { response: { set: { "X-Edited": "yes" } } } }),
    upstream("/silent", slow, { ...terms, hedge: { after: "50ms" }, timeouts: { total: "500ms" } }),
  ],
});
afterAll(() => stopAll(gateway, slow, fast));

async function counted(route = "/"): Promise<Record<string, number>> {
  const samples = await gateway.samples();
  const rows = samples.filter(({ name, labels }) => name === "gateway_hedged_requests_total" && labels.route === route);
  return Object.fromEntries(rows.map(({ labels, value }) => [labels.result!, value]));
}

const get = (path: string, method = "GET") => gateway.once(request(`${method} ${path}`));
/** Every connection of a target whose request was given up has been closed. */
const noneIsOpen = (origin: ScriptedOrigin, paths: readonly string[]) =>
  eventually(() => {
    const numbers = paths.flatMap((path) => origin.requestsFor(path).map(({ connection }) => connection));
    expect(numbers.every((at) => origin.connections[at]!.isClosed || origin.connections[at]!.ending !== "open")).toBe(
      true,
    );
  });

describe("the second target", () => {
  test("responds in the place of a first one that does not, whose request is given up", async () => {
    for (const method of ["GET", "OPTIONS", "HEAD"]) {
      const response = await get("/a", method);
      expect([response.status, response.text]).toEqual([200, method === "HEAD" ? "" : method]);
      expect(response.fields.get("x-from")).toBe("fast");
      expect(response.fields.get("x-edited")).toBe("yes");
    }
    await noneIsOpen(slow, ["/a"]);
    expect(await counted()).toEqual({ sent: 3, won: 3 });
    const line = await gateway.log("access", ({ path }) => path === "/a");
    expect(line).toMatchObject({ status: 200, attempts: 2, upstream: fast.url });
    const [first] = slow.requestsFor("/a");
    const [second] = fast.requestsFor("/a");
    expect(second!.fields.get("x-request-id")).toBe(first!.fields.get("x-request-id"));
  });

  test("sends long bodies at the client's pace, and trailers, over HTTP/1.1 and HTTP/2", async () => {
    expect((await get("/big")).body.equals(BIG)).toBe(true);
    expect((await get("/trailers")).trailers.get("x-sum")).toBe("7");
    const client = await H2Client.connect(gateway.port);
    const big = await client.request(head("GET", "/big"));
    expect(Buffer.from(big.body).equals(BIG)).toBe(true);
    expect((await client.request(head("GET", "/a"))).status).toBe(200);
    client.close();
    await noneIsOpen(slow, ["/big", "/a"]);
  });

  test("is not asked for what may change something, and not if the first one is quick", async () => {
    const before = await counted();
    for (const method of ["POST", "PUT", "DELETE"])
      expect((await gateway.once(request(`${method} /write`))).text).toBe("written");
    expect((await gateway.once(request("GET /write", [], "a body"))).text).toBe("written");
    expect((await get("/quick")).text).toBe("slow");
    expect(fast.requestsFor("/write")).toEqual([]);
    expect(await counted()).toEqual(before);
  });

  test("cuts the response if it breaks off", async () => {
    await expect(get("/cut")).rejects.toThrow();
  });
});

test("the first target's response is the client's if it comes first, and the second request is given up", async () => {
  const response = get("/first");
  await eventually(() => expect(heldSecond.has("/first")).toBe(true));
  held.get("/first")!.reply("200 OK", ONCE, "the first");
  expect((await response).text).toBe("the first");
  await noneIsOpen(fast, ["/first"]);
});

describe("a failure", () => {
  test("of the second leaves the first, whose response comes", async () => {
    const response = get("/second-fails");
    await eventually(async () => expect((await counted()).failed).toBeGreaterThan(0));
    held.get("/second-fails")!.reply("200 OK", ONCE, "the first");
    expect((await response).text).toBe("the first");
  });

  test("of the first leaves the second, and of both is the first's", async () => {
    const response = get("/left");
    await eventually(() => expect(heldSecond.has("/left")).toBe(true));
    slow.connections[slow.requestsFor("/left")[0]!.connection]!.close();
    heldSecond.get("/left")!.reply("200 OK", ONCE, "the second");
    expect((await response).text).toBe("the second");
    const failing = get("/both-fail");
    await eventually(() => expect(fast.requestsFor("/both-fail")).toHaveLength(1));
    held.get("/both-fail")!.sendAndFinish(MALFORMED);
    expect((await failing).status).toBe(502);
  });

  test("of neither, but silence of both, ends by timeouts.total", async () => {
    expect((await get("/silent/both")).status).toBe(504);
    await noneIsOpen(slow, ["/silent/both"]);
    await noneIsOpen(fast, ["/silent/both"]);
  });
});

test("a client that leaves, and one that reads no more, leave nothing behind", async () => {
  const leaving = await RawClient.connect(gateway.port);
  leaving.send(request("GET /silent/both"));
  await eventually(() => expect(fast.requestsFor("/silent/both").length).toBeGreaterThan(1));
  leaving.close();
  const stopped = await RawClient.connect(gateway.port);
  stopped.send(request("GET /big"));
  await eventually(() => expect(fast.requestsFor("/big").length).toBeGreaterThan(2));
  stopped.close();
  await noneIsOpen(slow, ["/silent/both", "/big"]);
  await noneIsOpen(fast, ["/silent/both"]);
  await eventually(async () => {
    const samples = await gateway.samples();
    expect(samples.find(({ name }) => name === "gateway_active_requests")?.value ?? 0).toBeLessThanOrEqual(1);
  });
});

test("a client that leaves ends both requests at once, over HTTP/1.1 and HTTP/2", async () => {
  const paths = ["/leaves/1", "/leaves/2"];
  const leaving = await RawClient.connect(gateway.port);
  leaving.send(request(`GET ${paths[0]}`));
  const client = await H2Client.connect(gateway.port);
  const id = client.headers(head("GET", paths[1]!));
  await eventually(() => expect(paths.every((path) => heldSecond.has(path))).toBe(true));
  leaving.close();
  client.frame(Type.reset, 0, id, uint32(8));
  await noneIsOpen(slow, paths);
  await noneIsOpen(fast, paths);
  client.close();
});

test("second requests have a budget: a fifth of the requests, and ten a second", async () => {
  const before = await counted();
  const paths = Array.from({ length: 160 }, (_, i) => `/many/${i}`);
  const responses = Promise.all(paths.map((path) => get(path)));
  await eventually(() => expect(paths.every((path) => held.has(path))).toBe(true));
  await eventually(async () => expect((await counted()).skipped ?? 0).toBeGreaterThan(0));
  for (const path of paths) if (fast.requestsFor(path).length === 0) held.get(path)!.reply("200 OK", ONCE, "late");
  expect((await responses).every(({ status }) => status === 200)).toBe(true);
  const after = await counted();
  expect(after.sent! - (before.sent ?? 0)).toBeLessThanOrEqual(140);
});

test("what cannot be hedged is a fault, and what is of no use a warning", async () => {
  const check = async (more: object) => {
    const routes = [upstream("/", slow, { ...terms, hedge: { after: "20ms" }, ...more })];
    const { stdout, stderr } = await runEdge(["check"], { routes });
    return stdout + stderr;
  };
  expect(await check({ mirror: { target: fast.url } })).toContain("does not go with mirror: remove one");
  expect(await check({ canary: { target: fast.url } })).toContain("does not go with canary: remove one");
  expect(await check({ targets: undefined, target: slow.url })).toContain("has no effect: the route has one target");
  expect(await check({ hedge: { after: 0 } })).toContain("hedge.after");
});
