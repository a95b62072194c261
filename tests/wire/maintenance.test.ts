// docs/pages.md#maintenance
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const BROWSER = "Accept: text/html,*/*;q=0.8";
const own = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = EchoOrigin.start();
const files = {
  "page.html": "<p>back soon {status} {request_id}</p>",
  "sorry.html": "<p>sorry</p>",
  "site/a.txt": "a",
};
const down = await startGateway({
  config: {
    server: {
      maintenance: { page: "./page.html", allow: ["127.0.0.9"], retry_after: "90s" },
      errors: { 503: "./sorry.html" },
      rate_limit: { requests: 1, window: "1h", burst: 1 },
      waf: { enabled: true },
      ip_rules: { deny: ["127.0.0.7"] },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/open", origin, { maintenance: false, rate_limit: { enabled: false } }),
    { type: "static", prefix: "/files", dir: "site" },
  ],
  files: { ...files, "a.pem": own.cert, "a.key": own.key },
});
const cached = await startGateway({
  config: { server: { cache: { enabled: true, cookies: "share", default_ttl: "1h" } } },
  routes: [upstream("/node", origin), upstream("/other", origin), upstream("/third", origin)],
  files,
});
afterAll(async () => {
  await cached.stop();
  await stopAll(down, origin);
});

const ask = (start: string, lines: readonly string[] = []): Promise<Reply> => down.once(request(start, lines));

describe("a server under maintenance", () => {
  test.each(["GET /node/x", "GET /files/a.txt", "POST /node/x"])("answers %s of a program with 503", async (start) => {
    const reply = await ask(start);
    expect([reply.status, reply.fields.get("content-type"), reply.fields.get("retry-after")]).toEqual([
      503,
      "application/json",
      "90",
    ]);
    expect(reply.text).toBe('{"error":"503 Service Unavailable","message":"down for maintenance, try again later"}');
  });

  test("shows browsers its page, which goes before that of the status", async () => {
    const reply = await ask("GET /node/x", [BROWSER, "X-Request-Id: down-1"]);
    expect([reply.status, reply.fields.get("retry-after"), reply.text]).toEqual([
      503,
      "90",
      "<p>back soon 503 down-1</p>",
    ]);
    expect(reply.fields.get("cache-control")).toBe("no-store");
  });

  test("does so over HTTP/2 and HTTP/3", async () => {
    const two = await H2Client.connectTls(tlsPort);
    const three = await H3Client.connect(tlsPort);
    const page = await two.request(head("GET", "/node/x", [["accept", "text/html"]]));
    expect([page.status, page.fields.get("retry-after"), page.text]).toEqual([
      503,
      "90",
      expect.stringContaining("soon"),
    ]);
    expect((await two.request(head("GET", "/node/x"))).text).toContain("down for maintenance");
    const other = await three.ask("GET", "/node/x", { accept: "text/html" });
    expect([other.status, other.body.toString()]).toEqual([503, expect.stringContaining("back soon")]);
    two.close();
    three.close();
  });

  test("no origin sees any of it, and no rate limit counts it", async () => {
    expect(origin.requestsFor("/x")).toEqual([]);
    for (let i = 0; i < 3; i++) expect((await ask("GET /node/x")).status).toBe(503);
  });

  test("lets its clients in, serves routes that are not under maintenance, and its own endpoints", async () => {
    const reply = await exchangeFrom("127.0.0.9", down.port, request("GET /node/echo", ["Connection: close"]));
    expect(reply).toStartWith("HTTP/1.1 200 ");
    expect((await ask("GET /open/echo")).status).toBe(200);
    expect((await ask("GET /health")).status).toBe(200);
    expect((await ask("GET /metrics")).status).toBe(200);
  });

  test("what is no business of maintenance stays: attacks, addresses, paths without a route", async () => {
    expect((await ask("GET /node/x?q=<script>alert(1)</script>")).status).toBe(403);
    const denied = await exchangeFrom("127.0.0.7", down.port, request("GET /node/x", ["Connection: close"]));
    expect(denied).toStartWith("HTTP/1.1 403 ");
    expect((await ask("GET /nowhere")).status).toBe(404);
  });

  test("the connection goes on after the body of a refused request", async () => {
    const client = await down.connect();
    for (let i = 0; i < 2; i++) {
      client.send(request("POST /node/x", [], "hello"));
      expect((await client.reply()).status).toBe(503);
    }
    client.close();
  });

  test("counts and logs each", async () => {
    const before = await down.metric("gateway_maintenance_refusals_total");
    await ask("GET /node/counted?secret=1", ["X-Request-Id: down-2"]);
    expect(await down.metric("gateway_maintenance_refusals_total")).toBe(before + 1);
    const line = await down.log("the line", (one) => one.event === "maintenance_reject" && one.request_id === "down-2");
    expect(line).toMatchObject({
      client_ip: "127.0.0.1",
      method: "GET",
      path: "/node/counted",
      route: "/node",
      status: 503,
    });
    const access = await down.log("the access", (one) => one.event === "access" && one.request_id === "down-2");
    expect([access.status, access.fault]).toEqual([503, "maintenance"]);
  });
});

describe("maintenance that begins with a reload", () => {
  const get = (path: string, lines: readonly string[] = []): Promise<Reply> =>
    cached.once(request(`GET ${path}`, lines));
  const reload = async (routes: readonly object[]): Promise<void> => {
    const before = cached.logs.json.filter(({ event }) => event === "config_reload").length;
    await Bun.write(`${cached.folder}/routes.yaml`, JSON.stringify(routes));
    cached.signal("SIGHUP");
    await cached.log(
      "the reload",
      () => cached.logs.json.filter(({ event }) => event === "config_reload").length > before,
    );
  };

  test("holds for stored responses, and ends with the next one", async () => {
    origin.on("/stored", (call) => call.reply("200 OK", ["Cache-Control: max-age=600"], "stored"));
    await get("/node/stored");
    expect((await get("/node/stored")).fields.get("x-cache")).toBe("HIT");
    await reload([
      upstream("/node", origin, { maintenance: "./page.html" }),
      upstream("/other", origin),
      upstream("/third", origin, { maintenance: true }),
    ]);
    const reply = await get("/node/stored");
    expect([reply.status, reply.fields.has("x-cache"), reply.fields.get("retry-after")]).toEqual([503, false, "300"]);
    expect((await get("/node/stored", [BROWSER])).text).toContain("back soon");
    expect((await get("/other/echo")).status).toBe(200);
    const builtIn = await get("/third/echo", [BROWSER]);
    expect([builtIn.status, builtIn.text]).toEqual([503, expect.stringContaining("Please try again in 5 minutes.")]);
    await reload([upstream("/node", origin), upstream("/other", origin), upstream("/third", origin)]);
    expect((await get("/node/stored")).fields.get("x-cache")).toBe("HIT");
  });
});
