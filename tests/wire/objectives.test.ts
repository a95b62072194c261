// docs/pressure.md#objectives
import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createConnection } from "node:net";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway, upstream } from "../harness/gateway.ts";
import { END_HEADERS, END_STREAM, H2Client } from "../harness/h2-client.ts";
import { H2Origin } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = ScriptedOrigin.start();
origin.on("/ok", (call) => call.reply("200 OK"));
origin.on("/bad", (call) => call.reply("500 Internal Server Error"));
origin.on("/missing", (call) => call.reply("404 Not Found"));
origin.on("/slow", async (call) => {
  await Bun.sleep(150);
  call.reply("200 OK");
});
origin.on("/cut", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
origin.on("/ws", (call) => {
  call.takeOver();
  call.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
  const key = call.request.fields.get("sec-websocket-key") ?? "";
  call.send(`Sec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`);
});
origin.on("/large", (call) => call.reply("200 OK", [], new Uint8Array(20_000_000)));
const grpc = await H2Origin.start({
  onEnd(stream) {
    const isOnlyTrailers = stream.path.includes("only");
    const status = [["grpc-status", stream.path.replace(/\D/g, "")]] as const;
    const fields = [[":status", "200"] as const, ["content-type", "application/grpc"] as const];
    if (isOnlyTrailers) return stream.head([...fields, ...status], END_HEADERS | END_STREAM);
    stream.head(fields);
    stream.head(status, END_HEADERS | END_STREAM);
  },
});
const away = { url: `http://127.0.0.1:${freePort()}` };
const slo = { availability: 99, latency: { p: 90, under: "100ms" } };
const gateway = await startGateway({
  config: { server: { workers: 2, http2: { extended_connect: true } } },
  routes: [
    upstream("/api", origin, { slo }),
    upstream("/away", away, { slo: { availability: 99.9, window: "1d" }, concurrency: { limit: 5 } }),
    upstream("/quiet", origin, { slo }),
    upstream("/none", origin),
    upstream("/live", origin, { slo, timeouts: { total: "400ms" } }),
    upstream("/grpc", grpc, { slo }),
  ],
});
afterAll(() => stopAll(gateway, origin, grpc));

function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}
const burn = (route: string, kind: string, window: string) =>
  gateway.metric("gateway_slo_burn_rate", { route, slo: kind, window });
const ask = (target: string) => gateway.once(request(`GET ${target}`));

test("5xx, cut responses and refusals of the gateway's own are bad, in each window; slow responses are slow", async () => {
  for (const target of ["/api/ok", "/api/ok", "/api/ok", "/api/missing", "/api/ok", "/api/ok", "/api/slow"])
    await ask(target);
  await ask("/api/bad");
  await ask("/api/cut").catch(() => null);
  const client = await gateway.connect();
  client.send(request("GET /api/slow"));
  await origin.until("the request", () => (origin.requestsFor("/slow").length === 2 ? true : undefined));
  client.reset();
  await eventually(async () => expect(await burn("/api", "availability", "5m")).toBeCloseTo(2 / 10 / 0.01));
  for (const window of ["1h", "6h"]) expect(await burn("/api", "availability", window)).toBeCloseTo(2 / 10 / 0.01);
  const slow = await burn("/api", "latency", "1h");
  expect(slow * 10 * 0.1).toBeWithin(0.999, 2.001);
  expect((await ask("/away/x")).status).toBe(502);
  expect(await burn("/away", "availability", "5m")).toBeCloseTo(1000);
  for (const kind of ["availability", "latency"]) expect(await burn("/quiet", kind, "5m")).toBe(0);
  expect(await gateway.metric("gateway_slo_objective", { route: "/api", slo: "latency" })).toBe(0.9);
  expect(await gateway.metric("gateway_slo_window_seconds", { route: "/away" })).toBe(86_400);
  const samples = await gateway.samples();
  expect(samples.filter(({ name, labels }) => /_slo_/.test(name) && labels.route === "/none")).toEqual([]);
});

test("calls of gRPC go by their grpc-status; clients that are slow, and WebSockets that last, are neither bad nor slow", async () => {
  const h2 = await H2Client.connect(gateway.port);
  for (const path of ["0", "5", "7", "16", "14", "only-13", "only-3", "2"])
    await h2.request([
      [":method", "POST"],
      [":scheme", "http"],
      [":path", `/grpc/${path}`],
      [":authority", "gw.test"],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ]);
  expect(await burn("/grpc", "availability", "5m")).toBeCloseTo(3 / 8 / 0.01);
  const socket = await gateway.connect();
  socket.send(request("GET /live/ws", ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: a"]));
  expect((await socket.reply()).status).toBe(101);
  const id = h2.headers(
    [
      [":method", "CONNECT"],
      [":protocol", "websocket"],
      [":scheme", "http"],
      [":path", "/live/ws"],
      [":authority", "gw.test"],
      ["sec-websocket-version", "13"],
    ],
    false,
  );
  await eventually(() => expect(h2.seen(id).status).toBe(200));
  // It takes nothing of its response until that is cut.
  const slow = createConnection(gateway.port, "127.0.0.1");
  slow.write(request("GET /live/large"));
  slow.pause();
  await gateway.log(
    "the cut",
    ({ event, path, fault }) => event === "access" && path === "/live/large" && fault !== null,
  );
  for (const client of [socket, h2]) client.reset();
  slow.destroy();
  const all = (name: string) => gateway.metric("gateway_requests_total", { path: name });
  await eventually(async () => expect(await all("/live")).toBe(3));
  expect(await burn("/live", "availability", "5m")).toBe(0);
  expect((await burn("/live", "latency", "5m")) * 3 * 0.1).toBeCloseTo(1);
});

test("a reload keeps the counts", async () => {
  expect((await gateway.reload()).ok).toBe(true);
  expect(await burn("/away", "availability", "1h")).toBeCloseTo(1000);
  await ask("/away/x");
  expect(await burn("/away", "availability", "1h")).toBeCloseTo(1000);
});

test("edge status shows what burns, and that it is not well", async () => {
  const { code, stdout } = await runProcess([EDGE_BINARY, "status"], { cwd: gateway.folder, timeout: 30_000 });
  expect([code, stdout]).toEqual([1, expect.stringContaining("/away misses its objective of 99.9 % without 5xx")]);
  expect(stdout).toMatch(/OBJECTIVES \(9\)/);
  const found = await runProcess([EDGE_BINARY, "status", "--json"], { cwd: gateway.folder, timeout: 30_000 });
  const { objectives } = JSON.parse(found.stdout) as { objectives: { route: string; burn: number[] }[] };
  expect(objectives[0]).toMatchObject({ route: "/away", slo: "availability", objective: 0.999, windowMs: 86_400_000 });
  expect(objectives[0]!.burn.every((rate) => Math.abs(rate - 1000) < 1)).toBe(true);
});
