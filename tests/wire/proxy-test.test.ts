import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

interface Result {
  status_code: number;
  status_text: string;
  latency_ms: number;
  headers: Record<string, string>;
  body: string;
  truncated: boolean;
}

const LIMIT = 2000;
const origin = await EchoOrigin.start();
const gateway = await startGateway({
  config: { internal_api: { max_proxy_test_response_bytes: LIMIT } },
  routes: [upstream("/node", origin), { type: "upstream", prefix: "/down", target: "http://127.0.0.1:1" }],
});
afterAll(() => stopAll(gateway, origin));

function call(body: unknown, fields: string[] = []) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return gateway.once(request("POST /internal/api/proxy-test", fields, text));
}

describe("a probe", () => {
  test("gives status, headers and body of what a client would get", async () => {
    const reply = await call({ path: "/node/canary", method: "GET" });
    expect(reply.status).toBe(200);
    const result = json<Result>(reply);
    expect(result).toMatchObject({ status_code: 200, status_text: "OK", truncated: false });
    expect(JSON.parse(result.body)).toMatchObject({ status: "canary_ok" });
    expect(result.headers["content-type"]).toStartWith("application/json");
    expect(result.latency_ms).toBeGreaterThan(0);
  });

  test.each(["/health", "/api/status", "health", "node/canary"])("may ask for %s", async (path) => {
    expect(json<Result>(await call({ path })).status_code).toBe(200);
  });

  test("carries the caller's headers, but no credentials and no forwarding claims", async () => {
    const headers = { "X-Team": "shop", Authorization: "Bearer t", Cookie: "a=b", "X-Forwarded-For": "9.9.9.9" };
    const result = json<Result>(await call({ path: "/node/echo", method: "POST", headers }));
    const seen = JSON.parse(result.body).headers as Record<string, string>;
    expect(seen["x-team"]).toBe("shop");
    expect(seen).not.toHaveProperty("authorization");
    expect(seen).not.toHaveProperty("cookie");
    expect(seen["x-forwarded-for"]).toBe("127.0.0.1");
  });

  test("shows an upstream that fails as its status", async () => {
    expect(json<Result>(await call({ path: "/down/x" }))).toMatchObject({ status_code: 502, truncated: false });
  });

  test("is cut to the limit, and the origin's connection is kept", async () => {
    origin.on("/large", (one) => one.reply("200 OK", [], "x".repeat(LIMIT + 1000)));
    const result = json<Result>(await call({ path: "/node/large" }));
    expect([result.body.length, result.truncated]).toEqual([LIMIT, true]);
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  });

  test("of exactly the limit is not cut", async () => {
    origin.on("/exact", (one) => one.reply("200 OK", [], "x".repeat(LIMIT)));
    const result = json<Result>(await call({ path: "/node/exact" }));
    expect([result.body.length, result.truncated]).toEqual([LIMIT, false]);
  });
});

describe("is refused", () => {
  const bad400: [string, unknown][] = [
    ["no JSON", "{"],
    ["an array", []],
    ["no path", { method: "GET" }],
    ["an empty path", { path: "" }],
    ["PUT", { path: "/node/canary", method: "PUT" }],
    ["DELETE", { path: "/node/canary", method: "DELETE" }],
    ["get in lower case", { path: "/node/canary", method: "get" }],
    ["an absolute URL", { path: "http://127.0.0.1/node/canary" }],
    ["a host", { path: "//evil.test/node" }],
    ["user info", { path: "user@evil.test/node" }],
    ["a backslash", { path: "/node\\canary" }],
    ["a line break", { path: "/node/canary HTTP/1.1\r\nX: y" }],
    ["a NUL", { path: "/node/\u0000" }],
    ["a header with a line break", { path: "/node/canary", headers: { "X-A": "1\r\nHost: b" } }],
    ["a header name that is none", { path: "/node/canary", headers: { "X A": "1" } }],
    ["headers that are no object", { path: "/node/canary", headers: "X: 1" }],
  ];
  test.each(bad400)("with 400: %s", async (_name, body) => {
    const seen = origin.requests.length;
    const reply = await call(body);
    expect([reply.status, json<{ error: string }>(reply).error]).toEqual([400, "400 Bad Request"]);
    expect(origin.requests.length).toBe(seen);
  });

  const bad403: [string, unknown][] = [
    ["/internal/", { path: "/internal/api/status" }],
    ["/internal/ by dot segments", { path: "/node/../internal/api/status" }],
    ["/internal/ encoded", { path: "/%69nternal/api/status" }],
    ["/internal/ encoded twice", { path: "/%2569nternal/api/status" }],
    ["/internal/ behind double slashes", { path: "/node/..//internal/api/status" }],
    ["itself", { path: "/internal/api/proxy-test", method: "POST" }],
    ["/metrics", { path: "/metrics" }],
    ["a path of no route", { path: "/nowhere" }],
    ...["X-Authenticated-User", "x-admin", "X-User", "x-remote-user"].map((name): [string, unknown] => [
      name,
      { path: "/node/canary", headers: { [name]: "root" } },
    ]),
  ];
  test.each(bad403)("with 403: %s", async (_name, body) => {
    const seen = origin.requests.length;
    expect((await call(body)).status).toBe(403);
    expect(origin.requests.length).toBe(seen);
  });

  test("a body over 64 KB, declared or chunked, with the exact text", async () => {
    const expected = { error: "400 Bad Request", message: "Request body exceeds maximum allowed size of 64KB" };
    expect(json(await call("x".repeat(65537)))).toEqual(expected);
    const chunk = `${(65537).toString(16)}\r\n${"x".repeat(65537)}\r\n0\r\n\r\n`;
    const head = "POST /internal/api/proxy-test HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(json(await gateway.once(head + chunk))).toEqual(expected);
    const fits = JSON.stringify({ path: "/health" }).padEnd(65536, " ");
    expect((await call(fits)).status).toBe(200);
  });

  test("a page of another origin", async () => {
    expect((await call({ path: "/health" }, ["Origin: http://evil.test"])).status).toBe(403);
    expect((await call({ path: "/health" }, ["Origin: http://gw.test"])).status).toBe(200);
  });

  test("GET", async () => {
    const reply = await gateway.once(request("GET /internal/api/proxy-test"));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "POST"]);
  });
});
