import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, echoUpgrade } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const headers = {
  request: {
    remove: ["X-Secret", "User-Agent", "x-forwarded-host"],
    set: { "X-Team": "blue", "X-Real-IP": "203.0.113.9", Authorization: "Basic abc", "X-Many": ["1", "2"] },
    add: { "X-Trace": "edge", Cookie: "from=edge" },
  },
  response: {
    remove: ["X-Powered-By", "Server"],
    set: { "Cache-Control": "no-store", "X-Frame": "deny" },
    add: { "Set-Cookie": "via=edge", Vary: "Origin" },
  },
};
const gateway = await startGateway({
  routes: [
    upstream("/e", origin, { headers }),
    upstream("/add", origin, {
      headers: { request: { add: { "X-Only": "added" } }, response: { add: { "X-Up": "1" } } },
    }),
    upstream("/hidden", origin, {
      headers: { request: { remove: ["X-Request-Id"] }, response: { remove: ["x-request-id"] } },
    }),
    upstream("/plain", origin),
    { type: "static", prefix: "/files", dir: "./public", headers: { response: headers.response } },
  ],
  files: { "public/a.txt": "hello", "public/large.bin": "x".repeat(5_000_000) },
});
afterAll(() => stopAll(gateway, origin));

origin.on("/answer", (call) =>
  call.reply("200 OK", [
    "Server: origin/1",
    "x-powered-by: magic",
    "X-Powered-By: more magic",
    "cache-control: public, max-age=60",
    "Set-Cookie: own=1",
    "X-Kept: yes",
  ]),
);
origin.on("/refused", (call) => call.takeOver().reset());
origin.on("/upgrade", echoUpgrade);

describe("on the way up", () => {
  const lines = [
    "X-Secret: s1",
    "x-secret: s2",
    "User-Agent: test",
    "X-TEAM: red",
    "X_Team: red",
    "x_secret: s3",
    "X.Secret: s4",
    "X-Trace: client",
    "Cookie: a=b",
    "X-Secrets: kept",
    "Authorization: Bearer client",
  ];

  test.each(["GET", "POST"])("fields are removed, set and added: %s", async (method) => {
    const body = method === "POST" ? "hello" : undefined;
    const echo = json<Echo>(await gateway.once(request(`${method} /e/echo?x`, lines, body)));
    expect(echo.target).toBe("/echo?x");
    expect(echo.length).toBe(body?.length ?? 0);
    const sent = echo.headers;
    for (const gone of ["x-secret", "x_secret", "x.secret", "x_team", "user-agent", "x-forwarded-host"])
      expect(sent[gone]).toBeUndefined();
    expect(sent).toMatchObject({
      host: "gw.test",
      "x-team": "blue",
      "x-real-ip": "203.0.113.9",
      authorization: "Basic abc",
      "x-many": ["1", "2"],
      "x-trace": ["client", "edge"],
      cookie: ["a=b", "from=edge"],
      "x-secrets": "kept",
      via: "1.1 edge",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
    });
  });

  test("adding alone leaves all others as they are", async () => {
    const plain = json<Echo>(await gateway.once(request("GET /plain/echo", [...lines, "X-Request-Id: r1"])));
    const added = json<Echo>(await gateway.once(request("GET /add/echo", [...lines, "X-Request-Id: r1"])));
    expect(added.fields).toEqual([...plain.fields, ["X-Only", "added"]]);
  });

  test("the gateway's own fields can be left out", async () => {
    const reply = await gateway.once(request("GET /hidden/echo"));
    expect(json<Echo>(reply).headers["x-request-id"]).toBeUndefined();
    expect(reply.fields.get("x-request-id")).toBeNull();
  });

  test("an upgrade has them too", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(
      request("GET /e/upgrade", ["Connection: Upgrade", "Upgrade: websocket", "X-Team: red"]),
    );
    expect([reply.status, reply.fields.get("x-frame")]).toEqual([101, "deny"]);
    const seen = origin.requestsFor("/upgrade").at(-1)!;
    expect([seen.fields.get("x-team"), seen.fields.get("upgrade")]).toEqual(["blue", "websocket"]);
    client.close();
  });
});

describe("on the way down", () => {
  test("fields are removed, set and added", async () => {
    const { fields } = await gateway.once(request("GET /e/answer"));
    expect(fields.get("x-powered-by")).toBeNull();
    expect(fields.get("server")).toBeNull();
    expect(fields.all("cache-control")).toEqual(["no-store"]);
    expect(fields.all("set-cookie")).toEqual(["own=1", "via=edge"]);
    expect([fields.get("x-frame"), fields.get("vary"), fields.get("x-kept")]).toEqual(["deny", "Origin", "yes"]);
  });

  test("answers of the gateway's own are left alone", async () => {
    const reply = await gateway.once(request("POST /e/refused"));
    expect([reply.status, reply.fields.get("x-frame"), reply.fields.get("server")]).toEqual([502, null, "edge"]);
  });

  test.each([
    ["a small file", "/files/a.txt", [], 200],
    ["a large file", "/files/large.bin", ["Range: bytes=0-9"], 206],
    ["a missing file", "/files/none.txt", [], 404],
  ] as const)("a static route has them too: %s", async (_name, path, lines, status) => {
    for (let i = 0; i < 3; i++) {
      const { fields, ...reply } = await gateway.once(request(`GET ${path}`, lines));
      expect(reply.status).toBe(status);
      expect([fields.all("cache-control"), fields.get("x-frame"), fields.get("set-cookie")]).toEqual([
        ["no-store"],
        "deny",
        "via=edge",
      ]);
    }
  });
});
