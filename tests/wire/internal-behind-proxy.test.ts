import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#internal-endpoints: a proxy on this machine makes every client a peer from loopback.
const TOKEN = "Authorization: Bearer open-sesame-17";
const origin = EchoOrigin.start();
const listen = freePort();
const routes = [
  upstream("/node", origin),
  upstream("/here", origin, { ip_rules: { allow: ["127.0.0.0/8", "::1"] } }),
  upstream("/once", origin, { rate_limit: { requests: 1, window: "2h" } }),
];
const plain = await startGateway({ routes });
const locked = await startGateway({ config: { internal_api: { token: "open-sesame-17" } }, routes });
const trusting = await startGateway({
  config: { server: { trusted_proxies: ["127.0.0.1"] }, internal_api: { allow: ["203.0.113.7"] } },
  routes,
});
const apart = await startGateway({
  config: { server: { trusted_proxies: ["127.0.0.1"] }, internal_api: { listen: `127.0.0.1:${listen}` } },
  routes,
});
afterAll(async () => {
  for (const one of [locked, trusting, apart]) await one.stop();
  await stopAll(plain, origin);
});

const PATHS = ["/metrics", "/internal/api/status", "/internal/api/routes"];
const SIGNS = [
  ...["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For:", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"],
  ...["Via: 1.1 nginx", "X-Real-IP: 127.0.0.1", "CF-Connecting-IP: 203.0.113.9", "X-Forwarded-Proto: https"],
  ...["X-Forwarded-Host: localhost", "x_forwarded_for: 127.0.0.1", "True-Client-IP: ::1", "X-Client-IP: 127.0.0.1"],
  ...["CDN-Loop: cloudflare", "X-Forwarded-Prefix: /", "X-Original-URL: /health"],
];

describe("a request from loopback that a proxy has forwarded", () => {
  test.each(SIGNS)("is refused without a token: %s", async (line) => {
    for (const path of PATHS) {
      expect((await plain.once(request(`GET ${path}`, ["Host: localhost", line]))).status).toBe(403);
      expect((await locked.once(request(`GET ${path}`, ["Host: localhost", line]))).status).toBe(401);
      expect((await locked.once(request(`GET ${path}`, ["Host: x.test", line, TOKEN]))).status).toBe(200);
    }
    expect((await plain.once(request("GET /health", [line]))).status).toBe(200);
  });

  test("is none where only the client itself has been at work", async () => {
    const h2c = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
    const own = [
      "X-Request-Id: mine",
      "User-Agent: curl/8",
      "Accept-Encoding: gzip",
      "X-Custom: 1",
      "Traceparent: 00-1-2-3",
    ];
    for (const lines of [[...h2c], own]) {
      expect((await plain.once(request("GET /metrics", ["Host: localhost", ...lines]))).status).toBe(200);
    }
  });

  test("has a line in the log with its id", async () => {
    await plain.once(request("GET /metrics", ["Via: 1.1 a", "X-Request-Id: sneaky"]));
    const line = await plain.log("access", (each) => each.event === "access" && each.request_id === "sneaky");
    expect(line).toMatchObject({ status: 403, fault: "access_denied", client_ip: "127.0.0.1" });
  });

  test("is refused over HTTP/2, too", async () => {
    const client = await H2Client.connect(plain.port);
    for (const line of [
      "via: 1.1 x",
      "x-forwarded-for: 127.0.0.1",
      "forwarded: for=127.0.0.1",
      "x_real_ip: 127.0.0.1",
    ]) {
      const id = client.headers([...head("GET", "/internal/api/status"), line.split(": ") as [string, string]], true);
      expect((await client.reply(id)).status).toBe(403);
    }
    client.close();
  });

  test("stays refused where Connection names the field", async () => {
    for (const line of [
      "X-Forwarded-For: 203.0.113.9",
      "Via: 1.1 x",
      "Forwarded: for=1.2.3.4",
      "CF-Connecting-IP: 1",
    ]) {
      const named = `Connection: close, ${line.split(":")[0]}`;
      expect((await plain.once(request("GET /internal/api/status", [named, line]))).status).toBe(403);
    }
  });
});

describe("behind a trusted proxy, whoever it names must be allowed as well", () => {
  const status = async (lines: string[]) => (await trusting.once(request("GET /metrics", lines))).status;

  test.each([
    [["X-Forwarded-For: 203.0.113.9"], 403],
    [["X-Forwarded-For: 203.0.113.7"], 200],
    [["X-Forwarded-For: 127.0.0.1"], 200],
    [["X-Forwarded-For: 127.0.0.1, 203.0.113.9"], 403],
    [["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: ::1"], 200],
    [["X-Forwarded-For:"], 403],
    [["X-Forwarded-For: nonsense"], 403],
    [["X-Forwarded-For: 127.0.0.1, unknown"], 403],
    [["X-Forwarded-For: ,"], 403],
    [["Connection: X-Forwarded-For", "X-Forwarded-For: 203.0.113.9"], 403],
    [["Forwarded: for=127.0.0.1"], 403],
    [["X-Real-IP: 127.0.0.1"], 403],
    [["Via: 1.1 nginx"], 403],
    [[], 200],
  ])("%p is %p", async (lines, expected) => {
    expect(await status(lines as string[])).toBe(expected as number);
  });

  test("at a listener of their own, too", async () => {
    const at = async (lines: string[]) => (await exchangeOnce(listen, request("GET /metrics", lines))).status;
    expect([await at([]), await at(["X-Forwarded-For: 203.0.113.9"]), await at(["Via: 1.1 a"])]).toEqual([
      200, 403, 403,
    ]);
  });
});

interface Result {
  readonly status_code: number;
  readonly body: string;
}

describe("a probe of proxy-test", () => {
  const probe = async (path: string, through = plain, lines: string[] = [], headers: Record<string, string> = {}) =>
    json<Result>(
      await through.once(request("POST /internal/api/proxy-test", lines, JSON.stringify({ path, headers }))),
    );

  test("is no client of this machine to a route's rules, nor to an origin", async () => {
    expect((await probe("/here/echo")).status_code).toBe(403);
    expect((await plain.once(request("GET /here/echo"))).status).toBe(200);
    const { headers } = JSON.parse((await probe("/node/echo")).body) as Echo;
    expect(headers).toMatchObject({ "x-forwarded-for": "unknown", "x-real-ip": "unknown" });
    expect(JSON.stringify({ ...headers, host: "" })).not.toContain("127.0.0.1");
  });

  test("comes from its caller, whom a trusted proxy names", async () => {
    const gateway = await startGateway({
      config: {
        server: { trusted_proxies: ["127.0.0.1"] },
        internal_api: { allow: ["203.0.113.7"], token: "open-sesame-17" },
      },
      routes: [upstream("/node", origin)],
    });
    const lines = ["X-Forwarded-For: 203.0.113.7", "Authorization: Bearer open-sesame-17"];
    const { headers } = JSON.parse((await probe("/node/echo", gateway, lines)).body) as Echo;
    expect(headers).toMatchObject({ "x-forwarded-for": "203.0.113.7", "x-real-ip": "203.0.113.7" });
    await gateway.stop();
  });

  test("carries no field about its client", async () => {
    const claims = {
      Forwarded: "for=127.0.0.1",
      "X-Real-IP": "127.0.0.1",
      "True-Client-IP": "::1",
      x_forwarded_for: "::1",
    };
    const { headers } = JSON.parse((await probe("/node/echo", trusting, [], claims)).body) as Echo;
    expect(headers).not.toHaveProperty("forwarded");
    expect(JSON.stringify({ ...headers, host: "" })).not.toMatch(/127\.0\.0\.1|::1/);
    for (const name of ["X-Admin", "x_remote_user", "X.Authenticated.User"]) {
      const body = JSON.stringify({ path: "/node/echo", headers: { [name]: "root" } });
      expect((await plain.once(request("POST /internal/api/proxy-test", [], body))).status).toBe(403);
    }
  });

  test("passes no limit that its caller would not pass", async () => {
    expect((await plain.once(request("GET /once/echo"))).status).toBe(200);
    expect((await probe("/once/echo")).status_code).toBe(429);
  });
});

test("PROXY headers that name nobody open nothing", async () => {
  const proxied = await startGateway({
    config: {
      server: { proxy_protocol: { trusted: ["127.0.0.2"] }, ip_rules: { allow: ["127.0.0.0/8"] } },
    },
    routes,
  });
  const local = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x20, 0, 0, 0]);
  const unix = Buffer.concat([local.subarray(0, 12), Buffer.from([0x21, 0x31, 0, 216]), Buffer.alloc(216, 0x2f)]);
  for (const header of [Buffer.from("PROXY UNKNOWN\r\n"), Buffer.from("PROXY UNKNOWN ::1 ::1 1 2\r\n"), local, unix]) {
    for (const path of ["/internal/api/status", "/node/echo"]) {
      const bytes = Buffer.concat([
        header,
        request(`GET ${path}`, ["Connection: close", "X-Forwarded-For: 127.0.0.1"]),
      ]);
      expect(statusOf(await exchangeFrom("127.0.0.2", proxied.port, bytes))).toBe(403);
    }
  }
  await proxied.stop();
});
