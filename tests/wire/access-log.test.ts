import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const LARGE_BYTES = 64 << 20;
const HIDDEN = { response: { remove: ["X-Request-Id"] } };
const routes = [
  upstream("/node", origin),
  upstream("/hidden", origin, { headers: HIDDEN }),
  upstream("/late", origin, { headers: { response: { ...HIDDEN.response, set: { "X-Path": "{path}" } } } }),
];
const talking = await startGateway({
  routes: [...routes, { type: "static", prefix: "/files", dir: "site" }],
  files: { "site/large.txt": "x".repeat(LARGE_BYTES) },
});
const silent = await startGateway({ config: { server: { access_log: { enabled: false } } }, routes });
afterAll(async () => {
  await talking.stop();
  await stopAll(silent, origin);
});

function isAccess(line: LogLine): boolean {
  return line.event === "access" || line.type === "access";
}

async function accessLine(gateway: Gateway, id: string, bytes: Buffer): Promise<LogLine> {
  await gateway.once(bytes);
  return gateway.log(`access ${id}`, (line) => isAccess(line) && line.request_id === id);
}

describe("the access log", () => {
  test.each(["/hidden", "/late"])("names a request by the id that its response at %s does not tell", async (prefix) => {
    const id = `kept${prefix.replace("/", "-")}`;
    const reply = await talking.once(request(`GET ${prefix}/echo`, [`X-Request-Id: ${id}`]));
    expect([reply.status, reply.fields.has("x-request-id")]).toEqual([200, false]);
    expect(origin.requests.at(-1)!.fields.get("x-request-id")).toBe(id);
    expect(await talking.log(id, (line) => isAccess(line) && line.request_id === id)).toMatchObject({ status: 200 });
  });

  test("has a line for a proxied request", async () => {
    const lines = ["X-Request-Id: log-1", "User-Agent: probe/1", "Host: shop.test:81"];
    const line = await accessLine(talking, "log-1", request("POST /node/echo?q=secret", lines, "hello"));
    expect(line).toMatchObject({
      client_ip: "127.0.0.1",
      method: "POST",
      protocol: "HTTP/1.1",
      status: 200,
      bytes_in: 5,
      route: "/node",
      user_agent: "probe/1",
    });
    expect(String(line.host)).toContain("shop.test");
    expect(String(line.path)).toStartWith("/node/echo");
    expect(Number.isNaN(Date.parse(String(line.time)))).toBe(false);
    for (const name of ["duration_ms", "upstream_ms", "bytes_out"]) expect(line[name]).toBeNumber();
    expect(line.bytes_out as number).toBeGreaterThan(0);
    expect(String(line.upstream)).toContain(String(origin.port));
  });

  test("has one for an answer of the gateway's own", async () => {
    await talking.once(request("GET /health", ["User-Agent: log-2"]));
    const built = await talking.log("the built-in", (line) => isAccess(line) && line.user_agent === "log-2");
    expect(built).toMatchObject({ status: 200, path: "/health", route: "/health" });
    await talking.once(request("GET /nowhere", ["User-Agent: log-3"]));
    const missing = await talking.log("the 404", (line) => isAccess(line) && line.user_agent === "log-3");
    expect(missing).toMatchObject({ status: 404, path: "/nowhere" });
  });

  test("names a client that has gone without waiting for the whole answer", async () => {
    const client = await talking.connect();
    client.send(request("GET /files/large.txt", ["User-Agent: log-gone"]));
    await client.takeUntil("\r\n\r\n", 4096);
    client.reset();
    const line = await talking.log("the abandoned one", (one) => isAccess(one) && one.user_agent === "log-gone");
    expect(line).toMatchObject({ client_ip: "127.0.0.1", path: "/files/large.txt" });
    expect(line.bytes_out as number).toBeLessThan(LARGE_BYTES);
  });

  test("keeps one line a request, whatever the request says", async () => {
    const nasty = 'a"b\\c{}%0a%0d';
    const id = "log-4";
    const lines = [`X-Request-Id: ${id}`, `User-Agent: ${nasty}\xff`, `Referer: ${nasty}`];
    const line = await accessLine(talking, id, request(`GET /node/echo/${nasty}`, lines));
    expect(String(line.path)).toContain(nasty);
    expect(talking.logs.stray).toEqual([]);
  });

  test("has the refusals of framing beside it", async () => {
    await talking.once(request("GET /node/canary", ["X : 1"]));
    const line = await talking.log("framing_reject", (each) => each.event === "framing_reject");
    expect(JSON.stringify(line)).toContain("space_before_colon");
  });

  test("is switched off by its setting; refusals are still told", async () => {
    for (let i = 0; i < 5; i++) await silent.once(request("GET /node/canary"));
    await silent.once(request("GET /node/canary", ["X : 1"]));
    await silent.log("framing_reject", (line) => line.event === "framing_reject");
    expect(silent.logs.json.filter(isAccess)).toEqual([]);
  });
});
