import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const APP = "https://app.example.com";
const origin = EchoOrigin.start();
const routes = [upstream("/node", origin, { methods: ["GET", "POST"] }), upstream("/api", origin)];
const gateway = await startGateway({
  config: {
    server: {
      waf: { enabled: true },
      security_headers: {},
      cors: {
        allowed_origins: [APP, "http://localhost:3000"],
        allowed_methods: ["GET", "PUT"],
        allowed_headers: ["X-Api-Key"],
        exposed_headers: ["X-Total"],
        allow_credentials: true,
        max_age: "5m",
      },
    },
  },
  routes,
});
const open = await startGateway({ config: { server: { cors: { allowed_origins: ["*"] } } }, routes });
afterAll(async () => {
  await open.stop();
  await stopAll(gateway, origin);
});

function cors(reply: Reply): Record<string, string[]> {
  const names = [
    ...new Set(reply.fields.names.filter((name) => name.startsWith("access-control-") || name === "vary")),
  ];
  return Object.fromEntries(names.map((name) => [name, reply.fields.all(name)]));
}

const ALLOWED = {
  "access-control-allow-origin": [APP],
  "access-control-allow-credentials": ["true"],
  "access-control-expose-headers": ["X-Total"],
  vary: ["Origin"],
};
const UNKNOWN = { vary: ["Origin"] };

describe("a preflight", () => {
  const preflight = (path: string, from: string, through = gateway) =>
    through.once(request(`OPTIONS ${path}`, [`Origin: ${from}`, "Access-Control-Request-Method: PUT"]));

  test("of an allowed origin is answered by the gateway", async () => {
    const seen = origin.requests.length;
    for (const path of ["/node/echo", "/api/x?q=1", "/of/nobody"]) {
      const reply = await preflight(path, APP);
      expect([reply.status, reply.text, reply.fields.has("content-length")]).toEqual([204, "", false]);
      expect(cors(reply)).toEqual({
        ...ALLOWED,
        "access-control-allow-methods": ["GET, PUT"],
        "access-control-allow-headers": ["X-Api-Key"],
        "access-control-max-age": ["300"],
      });
      expect(reply.fields.all("x-content-type-options")).toEqual(["nosniff"]);
    }
    expect(origin.requests.length).toBe(seen);
  });

  test("of another origin allows nothing", async () => {
    const reply = await preflight("/node/echo", "https://evil.example.com");
    expect([reply.status, cors(reply)]).toEqual([204, UNKNOWN]);
  });

  test("passes the WAF first", async () => {
    expect((await preflight("/node/%2e%2e/%2e%2e/x", APP)).status).toBe(403);
  });

  test("says nothing for endpoints that are not for pages", async () => {
    for (const path of ["/internal/api/status", "/metrics"]) {
      const reply = await preflight(path, APP);
      expect([reply.status, reply.fields.has("access-control-allow-methods")]).toEqual([405, false]);
    }
  });

  test("with * is one answer for everybody", async () => {
    const reply = await preflight("/node/echo", "https://any.test", open);
    expect(cors(reply)).toEqual({
      "access-control-allow-origin": ["*"],
      "access-control-allow-methods": ["GET, HEAD, POST"],
      "access-control-max-age": ["600"],
    });
  });

  test("keeps the connection, and HTTP/1.0 is served", async () => {
    const client = await gateway.connect();
    const lines = [`Origin: ${APP}`, "Access-Control-Request-Method: PUT"];
    expect((await client.exchange(request("OPTIONS /node/echo", lines))).status).toBe(204);
    expect((await client.exchange(request("GET /node/echo"))).status).toBe(200);
    client.close();
    expect((await gateway.once(request("OPTIONS /node/echo HTTP/1.0", lines))).status).toBe(204);
  });
});

describe("an OPTIONS that is no preflight", () => {
  test("goes upstream where the route takes it, else it is 405", async () => {
    const seen = origin.requests.length;
    const [api, node] = await Promise.all(
      ["/api/echo", "/node/echo"].map((path) => gateway.once(request(`OPTIONS ${path}`, [`Origin: ${APP}`]))),
    );
    expect([api!.status, node!.status, origin.requests.length - seen]).toEqual([200, 405, 1]);
    expect(cors(api!)).toEqual(ALLOWED);
  });
});

describe("any other answer", () => {
  const get = (path: string, from?: string, through = gateway) =>
    through.once(request(`GET ${path}`, from === undefined ? [] : [`Origin: ${from}`]));

  test("tells an allowed origin that it may read it, errors included", async () => {
    for (const path of ["/node/echo", "/health", "/nowhere", "/node/%2e%2e/%2e%2e/x"]) {
      expect(cors(await get(path, APP))).toEqual(ALLOWED);
    }
    const lower = await get("/node/echo", "http://localhost:3000");
    expect(cors(lower)["access-control-allow-origin"]).toEqual(["http://localhost:3000"]);
  });

  test("tells caches that it depends on the origin", async () => {
    expect(cors(await get("/node/echo"))).toEqual(UNKNOWN);
    expect(cors(await get("/node/echo", "https://evil.example.com"))).toEqual(UNKNOWN);
    expect(cors(await get("/node/echo", "null"))).toEqual(UNKNOWN);
  });

  test("does not carry the upstream's own word", async () => {
    const lines = [
      "Access-Control-Allow-Origin: *",
      "X-Total: 7",
      "access-control-allow-credentials: true",
      "Access-Control-Allow-Methods: DELETE",
      "Vary: Accept-Encoding",
    ];
    origin.on("/own", (call) => call.reply("200 OK", lines, "hi"));
    const mine = await get("/node/own", APP);
    expect(cors(mine)).toEqual({ ...ALLOWED, vary: ["Accept-Encoding", "Origin"] });
    expect([mine.fields.get("x-total"), mine.text]).toEqual(["7", "hi"]);
    expect(cors(await get("/node/own", "https://evil.example.com"))).toEqual({ vary: ["Accept-Encoding", "Origin"] });
    expect(cors(await get("/node/own", "https://any.test", open))).toEqual({
      "access-control-allow-origin": ["*"],
      vary: ["Accept-Encoding"],
    });
  });

  test("says nothing on endpoints that are not for pages", async () => {
    for (const path of ["/internal/api/status", "/metrics"]) {
      for (const through of [gateway, open]) {
        const reply = await get(path, APP, through);
        expect([reply.status, cors(reply)]).toEqual([200, {}]);
      }
    }
  });
});

describe("origins with a star", async () => {
  const named = (more: object) => ({
    cors: { allowed_origins: ["https://*.app.test", "http://*:8080", APP], ...more },
  });
  const all = await startGateway({
    routes: [
      upstream("/named", origin, named({ allow_credentials: true, allowed_methods: ["PUT"] })),
      upstream("/echo", origin, {
        cors: {
          ...{ allowed_origins: ["*"], allowed_methods: ["*"], allowed_headers: ["*"] },
          ...{ allow_credentials: true, echo_any: true },
        },
      }),
      upstream("/open", origin, { cors: { allowed_origins: ["*"], allowed_methods: ["*"], allowed_headers: ["*"] } }),
    ],
  });
  afterAll(() => all.stop());
  const originOf = async (path: string, from: string, method = "GET", more: readonly string[] = []) => {
    const reply = await all.once(request(`${method} ${path}/echo`, [`Origin: ${from}`, ...more]));
    return originIn(reply);
  };
  const originIn = (reply: Reply) => reply.fields.all("access-control-allow-origin")[0] ?? "";

  test("allow names below, of their scheme and port alone", async () => {
    for (const from of [
      "https://a.app.test",
      "https://a.b.app.test",
      "http://x.test:8080",
      "http://127.0.0.1:8080",
      APP,
    ])
      expect(await originOf("/named", from)).toBe(from);
    for (const from of [
      ...["https://app.test", "https://.app.test", "https://eapp.test", "http://a.app.test", "https://a.app.test:8443"],
      ...["https://a.app.test.evil.test", "https://evil.test/.app.test", "https://evil.test#.app.test", "null", ""],
      ...[
        "https://user@a.app.test",
        "https://evil.test:1/a.app.test",
        "http://x.test",
        "http://a:1:8080",
        "https://a@.app.test",
      ],
    ])
      expect([from, await originOf("/named", from)]).toEqual([from, ""]);
  });

  test("with credentials name what the request names, and nothing that is no token or no page", async () => {
    const ask = (method: string, fields: string, from = "https://any.test:1") =>
      all.once(
        request("OPTIONS /echo/x", [
          `Origin: ${from}`,
          `Access-Control-Request-Method: ${method}`,
          `Access-Control-Request-Headers: ${fields}`,
        ]),
      );
    expect(cors(await ask("PUT", "x-a, x-b"))).toEqual({
      "access-control-allow-origin": ["https://any.test:1"],
      "access-control-allow-credentials": ["true"],
      "access-control-allow-methods": ["PUT"],
      "access-control-allow-headers": ["x-a, x-b"],
      "access-control-max-age": ["600"],
      vary: ["Origin"],
    });
    expect(Object.keys(cors(await ask("P UT", "x-a, x;b"))).join()).not.toMatch(/methods|headers/);
    for (const from of ["null", "file://", "https://a.test/x", "https://a.test, https://b.test", "a.test"])
      expect([from, originIn(await ask("PUT", "x-a", from))]).toEqual([from, ""]);
    expect(
      cors(await all.once(request("OPTIONS /open/x", [`Origin: ${APP}`, "Access-Control-Request-Method: PUT"]))),
    ).toEqual({
      "access-control-allow-origin": ["*"],
      "access-control-allow-methods": ["*"],
      "access-control-allow-headers": ["*"],
      "access-control-max-age": ["600"],
    });
  });

  test("say the same over HTTP/2", async () => {
    const client = await H2Client.connect(all.port);
    const { fields } = await client.request(head("GET", "/named/echo", [["origin", "https://a.app.test"]]));
    expect([fields.get("access-control-allow-origin"), fields.get("vary")]).toEqual(["https://a.app.test", "Origin"]);
    client.close();
  });
});
