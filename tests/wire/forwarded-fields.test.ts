import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [upstream("/node", origin), upstream("/own", origin, { preserve_host: false })];
const gateway = await startGateway({ routes });
const trusting = await startGateway({ config: { server: { trusted_proxies: ["127.0.0.0/8"] } }, routes });
afterAll(async () => {
  await trusting.stop();
  await stopAll(gateway, origin);
});

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function headersAt(lines: readonly string[], through = gateway, path = "/node/echo") {
  return json<Echo>(await through.once(request(`GET ${path}`, lines))).headers;
}

describe("the client's address", () => {
  const forged = ["X-Forwarded-For: 203.0.113.9, 198.51.100.7", "X-Real-IP: 203.0.113.9"];

  test("is the peer's", async () => {
    expect(await headersAt([])).toMatchObject({ "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" });
  });

  test("replaces what a peer claims that is not trusted", async () => {
    expect(await headersAt(forged)).toMatchObject({ "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" });
    const twice = ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 198.51.100.7"];
    expect((await headersAt(twice))["x-forwarded-for"]).toBe("127.0.0.1");
  });

  test.each(["X_Forwarded_For", "X-Forwarded_For", "x_real_ip", "X_Forwarded_Proto", "X_FORWARDED_HOST"])(
    "cannot be claimed by a name that CGI takes for the same: %s",
    async (name) => {
      for (const through of [gateway, trusting]) {
        const headers = await headersAt([`${name}: 203.0.113.9`, "X_Forwarder: kept"], through);
        expect(JSON.stringify(headers)).not.toContain("203.0.113.9");
        // Behind a trusted proxy that tells of nobody in earnest it means that somebody is there.
        const isHidden = through === trusting && /for|ip/i.test(name.replace(/forwarded/i, ""));
        const chain = isHidden ? "unknown, 127.0.0.1" : "127.0.0.1";
        expect(headers).toMatchObject({ "x-forwarded-for": chain, x_forwarder: "kept" });
      }
    },
  );

  test("is appended to what a trusted proxy claims", async () => {
    const headers = await headersAt(forged, trusting);
    expect(String(headers["x-forwarded-for"])).toBe("203.0.113.9, 198.51.100.7, 127.0.0.1");
  });
});

describe("X-Forwarded-Proto, X-Forwarded-Host and Via", () => {
  test("say how the client came", async () => {
    expect(await headersAt(["Host: shop.test:8080"])).toMatchObject({
      "x-forwarded-proto": "http",
      "x-forwarded-host": "shop.test:8080",
      via: "1.1 edge",
    });
  });

  test("are not the client's to choose", async () => {
    const headers = await headersAt(["X-Forwarded-Proto: https", "X-Forwarded-Host: evil.test"]);
    expect(headers).toMatchObject({ "x-forwarded-proto": "http", "x-forwarded-host": "gw.test" });
  });

  test("Via is appended to the hops before", async () => {
    expect([(await headersAt(["Via: 1.1 other"])).via].flat().join(", ")).toBe("1.1 other, 1.1 edge");
  });
});

describe("X-Request-Id", () => {
  test.each(["a", "abc-DEF_0.9", "x".repeat(128)])("%s of the client is kept and echoed", async (id) => {
    const reply = await gateway.once(request("GET /node/echo", [`X-Request-Id: ${id}`]));
    expect(json<Echo>(reply).headers["x-request-id"]).toBe(id);
    expect(reply.fields.all("x-request-id")).toEqual([id]);
  });

  test.each([
    ["absent", []],
    ["empty", ["X-Request-Id:"]],
    ["too long", [`X-Request-Id: ${"x".repeat(129)}`]],
    ["with a space", ["X-Request-Id: a b"]],
    ["with markup", ["X-Request-Id: <script>"]],
    ["with bytes above 127", ["X-Request-Id: caf\xe9"]],
  ])("%s gives a UUIDv7, the same upstream and in the answer", async (_name, lines) => {
    const reply = await gateway.once(request("GET /node/echo", lines));
    const id = json<Echo>(reply).headers["x-request-id"];
    expect(id).toMatch(UUID_V7);
    expect(reply.fields.all("x-request-id")).toEqual([id as string]);
  });

  test("twice gives one, the same upstream and in the answer", async () => {
    const reply = await gateway.once(request("GET /node/echo", ["X-Request-Id: a", "X-Request-Id: b"]));
    expect(json<Echo>(reply).headers["x-request-id"]).toBeString();
    expect(reply.fields.all("x-request-id")).toEqual([json<Echo>(reply).headers["x-request-id"] as string]);
  });

  test("is another one each time", async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, async () => (await headersAt([]))["x-request-id"]));
    expect(new Set(ids).size).toBe(50);
  });

  test("is the gateway's on the answer, whatever the origin says", async () => {
    origin.on("/own-id", (call) => call.reply("200 OK", ["X-Request-Id: of-the-origin"]));
    const reply = await gateway.once(request("GET /node/own-id", ["X-Request-Id: mine"]));
    expect(reply.fields.all("x-request-id")).toEqual(["mine"]);
  });
});

describe("Host", () => {
  test("is the client's", async () => {
    expect((await headersAt(["Host: shop.test:8080"])).host).toBe("shop.test:8080");
  });

  test("is the target's where the route says so", async () => {
    expect((await headersAt([], gateway, "/own/echo")).host).toBe(`127.0.0.1:${origin.port}`);
  });

  test("is there once although an HTTP/1.0 client sent none", async () => {
    const reply = await gateway.once("GET /node/echo HTTP/1.0\r\n\r\n");
    expect(typeof json<Echo>(reply).headers.host).toBe("string");
  });
});

test("other fields go through as they are, in order", async () => {
  const lines = ["X-One: 1", "Cookie: a=b; c=d", "X-Two:", "x-one: again", "Accept: */*", "traceparent: 00-ab-cd-01"];
  const text = ["X-Latin: caf\xe9", "!#$%&'*+-.^_`|~0aZ: every token character"];
  const { fields } = json<Echo>(await gateway.once(request("GET /node/echo", [...lines, ...text])));
  const names = new Set(["x-one", "cookie", "x-two", "accept", "traceparent", "x-latin", "!#$%&'*+-.^_`|~0az"]);
  expect(fields.filter(([name]) => names.has(name.toLowerCase())).map(([, value]) => value)).toEqual([
    "1",
    "a=b; c=d",
    "",
    "again",
    "*/*",
    "00-ab-cd-01",
    "caf\xe9",
    "every token character",
  ]);
});
