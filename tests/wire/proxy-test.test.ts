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
    expect(seen["x-forwarded-for"]).toBe("unknown");
  });

  test("gives headers as they are whose names every object has a member of", async () => {
    origin.on("/named", (one) => one.reply("200 OK", ["constructor: a", "toString: b", "toString: c"], ""));
    const { headers } = json<Result>(await call({ path: "/node/named" }));
    expect([headers.constructor as unknown, headers.tostring]).toEqual(["a", "b, c"]);
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

const NO_OBJECT = "the body must be a JSON object with path, method and headers";
const METHODS = "method must be GET, HEAD or POST";
const RELATIVE = "path must be relative, without scheme, host or user info";
const HEADERS = "header names must be tokens, and values text on one line";
const INTERNAL = "paths under /internal/ cannot be probed";
const NO_ROUTE = "no active route takes this path";

describe("is refused", () => {
  const bad400: [string, unknown, string][] = [
    ["no JSON", "{", NO_OBJECT],
    ["an array", [], NO_OBJECT],
    ["no path", { method: "GET" }, "path is missing"],
    ["an empty path", { path: "" }, "path is missing"],
    ["PUT", { path: "/node/canary", method: "PUT" }, METHODS],
    ["DELETE", { path: "/node/canary", method: "DELETE" }, METHODS],
    ["get in lower case", { path: "/node/canary", method: "get" }, METHODS],
    ["an absolute URL", { path: "http://127.0.0.1/node/canary" }, RELATIVE],
    ["a host", { path: "//evil.test/node" }, RELATIVE],
    ["user info", { path: "user@evil.test/node" }, RELATIVE],
    ["a backslash", { path: "/node\\canary" }, RELATIVE],
    ["a line break", { path: "/node/canary HTTP/1.1\r\nX: y" }, RELATIVE],
    ["a NUL", { path: "/node/\u0000" }, RELATIVE],
    ["a header with a line break", { path: "/node/canary", headers: { "X-A": "1\r\nHost: b" } }, HEADERS],
    ["a header name that is none", { path: "/node/canary", headers: { "X A": "1" } }, HEADERS],
    ["headers that are no object", { path: "/node/canary", headers: "X: 1" }, "headers must be an object"],
  ];
  test.each(bad400)("with 400: %s", async (_name, body, message) => {
    const seen = origin.requests.length;
    const reply = await call(body);
    expect([reply.status, json(reply)]).toEqual([400, { error: "400 Bad Request", message }]);
    expect(reply.fields.get("content-type")).toBe("application/json");
    expect(origin.requests.length).toBe(seen);
  });

  const bad403: [string, unknown, string][] = [
    ["/internal/", { path: "/internal/api/status" }, INTERNAL],
    ["/internal/ by dot segments", { path: "/node/../internal/api/status" }, INTERNAL],
    ["/internal/ encoded", { path: "/%69nternal/api/status" }, INTERNAL],
    ["/internal/ encoded twice", { path: "/%2569nternal/api/status" }, INTERNAL],
    ["/internal/ behind double slashes", { path: "/node/..//internal/api/status" }, INTERNAL],
    ["itself", { path: "/internal/api/proxy-test", method: "POST" }, INTERNAL],
    ["/metrics", { path: "/metrics" }, NO_ROUTE],
    ["a path of no route", { path: "/nowhere" }, NO_ROUTE],
    ...["X-Authenticated-User", "x-admin", "X-User", "x-remote-user", "X_Admin", "x_remote-user"].map(
      (name): [string, unknown, string] => [
        name,
        { path: "/node/canary", headers: { [name]: "root" } },
        `the header ${name.toLowerCase().replaceAll("_", "-")} cannot be probed with`,
      ],
    ),
  ];
  test.each(bad403)("with 403: %s", async (_name, body, message) => {
    const seen = origin.requests.length;
    const reply = await call(body);
    expect([reply.status, json(reply)]).toEqual([403, { error: "403 Forbidden", message }]);
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
    for (const foreign of ["http://evil.test", "null", "http://gw.test.evil.test", "http://gw.test:81"]) {
      const reply = await call({ path: "/health" }, [`Origin: ${foreign}`]);
      const message = "not from a page of another origin";
      expect([reply.status, json(reply)]).toEqual([403, { error: "403 Forbidden", message }]);
    }
    expect((await call({ path: "/health" }, ["Origin: http://gw.test"])).status).toBe(200);
  });

  test("GET", async () => {
    const reply = await gateway.once(request("GET /internal/api/proxy-test"));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "POST"]);
  });
});
