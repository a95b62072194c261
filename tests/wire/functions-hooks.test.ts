// docs/functions.md#hooks
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json, RawClient, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MODULES = join(import.meta.dir, "../vectors/functions");
const source = (name: string): string => readFileSync(join(MODULES, name), "utf8");
const origin = EchoOrigin.start();
const large = "y".repeat(600_000);
for (const what of ["replace", "none", "throw", "stream", "other"])
  origin.on(`/do-${what}`, async (call) => {
    await call.body();
    call.reply("200 OK", [`X-Do: ${what}`], what === "other" ? large : "the origin's");
  });
origin.on("/text", async (call) => {
  await call.body();
  call.reply("200 OK", ["Content-Type: text/plain"], "quiet");
});
origin.on("/long", async (call) => {
  await call.body();
  call.reply("200 OK", [], large);
});
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    upstream("/h", origin, { hooks: { module: "./hooks.ts", timeout: "1s" } }),
    upstream("/b", origin, { hooks: { module: "./upper.ts", bodies: true, max_body_bytes: "64KiB" } }),
    { type: "static", prefix: "/s", dir: "site", hooks: "./hooks.ts" },
  ],
  files: {
    "hooks.ts": source("hooks.ts"),
    "upper.ts": source("upper.ts"),
    "site/a.txt": "a file",
    "site/moved": "moved file",
  },
});
afterAll(() => stopAll(gateway, origin));

const ask = (path: string, lines: readonly string[] = [], body?: string): Promise<Reply> =>
  gateway.once(request(`${body === undefined ? "GET" : "POST"} ${path}`, lines, body));
const echo = async (path: string, lines: readonly string[] = [], body?: string): Promise<Echo> =>
  json<Echo>(await ask(path, lines, body));

describe("onRequest", () => {
  test("lets a request go on, with its body", async () => {
    const reply = await ask("/h/plain?q=1", ["X-Request-Id: id-1"], "body");
    const { method, target, length } = json<Echo>(reply);
    expect([method, target, length]).toEqual(["POST", "/plain?q=1", 4]);
    expect(reply.fields.get("x-hooked")).toBe("id-1");
  });

  test("answers", async () => {
    const reply = await ask("/h/deny");
    expect([reply.status, reply.text, reply.fields.get("x-by")]).toEqual([403, "denied", "hook"]);
  });

  test("changes fields in place, and where a request goes", async () => {
    const { headers } = await echo("/h/set", ["X-Gone: 1"]);
    expect([headers["x-set"], headers["x-gone"]]).toEqual(["in place", undefined]);
    expect((await echo("/h/move", [], "abc")).target).toBe("/moved?by=hook");
    expect((await echo("/h/method")).method).toBe("DELETE");
  });

  test("cannot say how a request is framed, whom it is for, or who sends it", async () => {
    const { headers, length } = await echo("/h/smuggle", ["Host: shop.test"], "abcdefgh");
    expect(length).toBe(8);
    expect(headers["x-mine"]).toBe("1");
    expect([headers.host, headers["content-length"], headers["x-forwarded-for"]]).toEqual([
      "shop.test",
      "8",
      "127.0.0.1",
    ]);
    expect([headers["transfer-encoding"], headers.connection]).toEqual([undefined, undefined]);
  });

  test.each([
    ["throw", 500],
    ["nonsense", 500],
    ["escape", 500],
    ["never", 504],
  ])("that goes wrong (%s) is %d, with a line of the log, and the origin is not asked", async (name, status) => {
    const reply = await ask(`/h/${name}`, [`X-Request-Id: hook-${name}`]);
    expect(reply.status).toBe(status);
    expect(reply.text).not.toContain("secret");
    await gateway.log("function_failed", ({ request_id }) => request_id === `hook-${name}`);
  });
});

describe("onResponse", () => {
  test("leaves the body of a response whose head it changes", async () => {
    const reply = await ask("/h/do-other", ["X-Request-Id: id-2"]);
    expect([reply.text === large, reply.fields.get("x-hooked")]).toEqual([true, "id-2"]);
  });

  test("gives another response", async () => {
    const reply = await ask("/h/do-replace");
    expect([reply.status, reply.text]).toEqual([201, "replaced"]);
    const streamed = await ask("/h/do-stream");
    expect([streamed.status, streamed.body.length]).toEqual([200, 1_000_000]);
    expect((await ask("/h/do-none")).status).toBe(204);
  });

  test("that throws is 500", async () => {
    const reply = await ask("/h/do-throw", ["X-Request-Id: hook-response"]);
    expect([reply.status, reply.text.includes("secret")]).toEqual([500, false]);
    await gateway.log("function_failed", ({ request_id }) => request_id === "hook-response");
  });

  test("sees bodies where it asks for them, up to a bound", async () => {
    expect((await ask("/b/text")).text).toBe("QUIET");
    expect((await ask("/b/long")).status).toBe(500);
  });
});

describe("a static route", () => {
  test("has hooks", async () => {
    const reply = await ask("/s/a.txt", ["X-Request-Id: id-3"]);
    expect([reply.text, reply.fields.get("x-hooked")]).toEqual(["a file", "id-3"]);
    expect((await ask("/s/deny")).status).toBe(403);
    // A path that a hook gives stays below the prefix.
    expect((await ask("/s/move")).status).toBe(500);
    expect((await ask("/s/none")).status).toBe(404);
  });
});

describe("HEAD", () => {
  const paths = [
    "/s/a.txt",
    "/s/none",
    "/h/x",
    "/h/get",
    "/h/method",
    "/h/deny",
    "/h/do-replace",
    "/h/do-stream",
    "/b/text",
  ];

  test.each(paths)("has a response without a body, and the next is that of the next request: %s", async (path) => {
    const client = await RawClient.connect(gateway.port);
    client.send(`${request(`HEAD ${path}`)}${request("GET /nowhere")}`);
    const first = await client.reply("HEAD");
    const { status, text } = await client.reply();
    expect([first.status < 500 || path === "/h/method", status, text]).toEqual([
      true,
      404,
      '{"error":"404 Not Found","message":"no route matches /nowhere"}',
    ]);
    client.close();
    const h2 = await H2Client.connect(gateway.port);
    const { body, reset, isEnded } = await h2.request(head("HEAD", path));
    expect([body.length, reset, isEnded]).toEqual([0, -1, true]);
    h2.close();
  });

  test("is sent as it came if a hook makes the request anew, and no other request becomes one", async () => {
    await gateway.once(request("HEAD /h/get"), "HEAD");
    expect(origin.requests.at(-1)!.method).toBe("HEAD");
    expect((await ask("/h/head")).status).toBe(500);
    expect((await echo("/h/get", [], "body")).method).toBe("GET");
  });
});
