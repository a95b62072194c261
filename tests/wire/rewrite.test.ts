// docs/routing.md#rewrite on the binary: what the origin sees and what is looked up, over every protocol, whatever a client writes.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

type Settings = Record<string, unknown>;

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const based = { url: `${origin.url}/base` };
const OLD = { regex: "^/old/(.*)$", to: "/new/{match.1}" };
origin.on("/new/c", (call) => call.reply("200 OK", ["Cache-Control: max-age=60"], call.request.target));

const gateway = await startGateway({
  config: {
    server: {
      access_log: { enabled: true },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true, cookies: "share" },
    },
  },
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "www/v2/index.html": "v2 index",
    "www/v2/a.txt": "v2 a",
    "www/v2/sub/index.html": "v2 sub",
    "www/own.txt": "own",
    "www/.git/config": "secret",
  },
  routes: [
    upstream("/app", origin, { cache: false, rewrite: { path: "/new{rest}" } }),
    upstream("/based", based, { cache: false, rewrite: { path: "/x{rest}" } }),
    upstream("/value", based, { cache: false, rewrite: { path: "/v/{query.a}/{cookie.c}" } }),
    upstream("/old", origin, {
      cache: false,
      rewrite: OLD,
      headers: { request: { set: { "X-Found": "{match.1}", "X-Path": "{path}" } } },
    }),
    { ...upstream("/", origin, { rewrite: { path: "/elsewhere" } }), prefix: undefined, path: "/exact" },
    upstream("/cached", origin, { rewrite: { path: "/new/c" } }),
    { type: "static", prefix: "/docs", dir: "./www", rewrite: { path: "/v2{rest}" } },
    { type: "static", prefix: "/files", dir: "./www", rewrite: { regex: "^/files/old/(.*?)/?$", to: "/v2/{match.1}" } },
    { type: "static", prefix: "/q", dir: "./www", rewrite: { path: "/v2/{query.f}" } },
    upstream("/", origin, { cache: false }),
  ],
});
afterAll(() => stopAll(gateway, origin));

/** What the origin was asked for; the status where it was not. */
async function seenBy(target: string, ...lines: readonly string[]): Promise<string> {
  const seen = origin.requests.length;
  const reply = await gateway.once(request(`GET ${target}`, lines));
  const [call, ...more] = origin.requests.slice(seen);
  expect(more).toEqual([]);
  return call?.target ?? String(reply.status);
}

describe("what goes upstream", () => {
  test.each([
    ["/app/a/b", "/new/a/b"],
    ["/app", "/new/"],
    ["/app?x=1&y", "/new/?x=1&y"],
    ["/app/a%20b/%C3%BC?q=%2f#f", "/new/a%20b/%C3%BC?q=%2f"],
    ["/app//a//b", "/new/a//b"],
    ["/app/x/../y", "/new/y"],
    ["/%61pp/x", "/new/x"],
    ["/based/a", "/base/x/a"],
    ["/value?a=b", "/base/v/b/?a=b"],
    ["/old/a/b?x", "/new/a/b?x"],
    ["/%6fld/a%2541", "/new/a%2541"],
    ["/old//a", "/new/a"],
    ["/old", "/"],
    ["/exact?x=1", "/elsewhere?x=1"],
    ["/other", "/other"],
  ])("%s: %s", async (target, path) => {
    expect(await seenBy(target)).toBe(path);
  });

  test.each([
    ["/app/../../etc", "/etc"],
    ["/app/%2e%2e/%2e%2e/etc", "/etc"],
    ["/app/..%2f..%2fetc", "/etc"],
    ["/app/%2f%2fevil.test/x", "/new/evil.test/x"],
    ["/app/%5cevil.test", "/new/evil.test"],
    ["/app/a%3fb=c%23d", "/new/a%3fb=c%23d"],
    ["/app/%0d%0aX:1", "/new/%0d%0aX:1"],
    ["/app/%00", "400"],
    ["/app/%zz", "400"],
    ["/app/%252e%252e/x", "/x"],
    ["/value?a=..", "400"],
    ["/value?a=%2e%2e%2f%2e%2e", "400"],
    ["/value?a=%252e%252e", "400"],
    ["/value?a=b%2f..%2f..%2fc", "400"],
    ["/value?a=//evil.test", "/base/v/%2F%2Fevil.test/?a=//evil.test"],
    ["/value?a=%0d%0aHost:evil.test", "/base/v/%0D%0AHost%3Aevil.test/?a=%0d%0aHost:evil.test"],
    ["/value?a=x%20HTTP/1.1", "/base/v/x%20HTTP%2F1.1/?a=x%20HTTP/1.1"],
    ["/value?a=b%3fc%23d", "/base/v/b%3Fc%23d/?a=b%3fc%23d"],
    ["/old/a?b=c", "/new/a?b=c"],
    ["/old/%3fadmin=1%23", "/new/%3Fadmin=1%23"],
    ["/old/%2f%2fevil.test", "/new/evil.test"],
    ["/old/%20HTTP/1.1%0d%0aX:1", "/new/%20HTTP/1.1%0D%0AX:1"],
  ])("hostile %s: %s", async (target, path) => {
    expect(await seenBy(target)).toBe(path);
  });

  test("a value that makes too long a path is 414", async () => {
    const raw = "%25".repeat(1300);
    expect(await seenBy(`/value?a=${raw}`, `Cookie: c=${"%".repeat(1500)}`)).toBe("414");
  });

  test("header values may name the groups, percent-encoded, and the client's own path", async () => {
    const seen = origin.requests.length;
    await gateway.once(request("GET /old/a%20b%0d%0aX-Evil:%201", []));
    const { fields } = origin.requests[seen]!;
    expect(fields.get("x-found")).toBe("a%20b%0D%0AX-Evil:%201");
    expect(fields.get("x-path")).toBe("/old/a%20b%0d%0aX-Evil:%201");
    expect(fields.get("x-evil")).toBeNull();
  });

  test("HTTP/1.1, HTTP/2 and HTTP/3 alike", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const h3 = await H3Client.connect(tlsPort);
    try {
      for (const [target, path] of [
        ["/app/a%20b?x=1", "/new/a%20b?x=1"],
        ["/old/x%3fy", "/new/x%3Fy"],
        ["/value?a=%0d%0a", "/base/v/%0D%0A/?a=%0d%0a"],
      ] as const) {
        expect(await seenBy(target)).toBe(path);
        const seen = origin.requests.length;
        expect((await h2.request(head("GET", target))).status).toBe(200);
        expect((await h3.ask("GET", target)).status).toBe(200);
        expect(origin.requests.slice(seen).map((call) => call.target)).toEqual([path, path]);
      }
      expect((await h2.request(head("GET", "/value?a=.."))).status).toBe(400);
      expect((await h3.ask("GET", "/value?a=..")).status).toBe(400);
    } finally {
      h2.close();
      h3.close();
    }
  });

  test("the cache knows the client's own path, and so does the access log", async () => {
    const get = (target: string) => gateway.once(request(`GET ${target}`, []));
    for (const target of ["/cached/a", "/cached/b"]) {
      expect((await get(target)).fields.get("x-cache")).toBe("MISS");
      expect((await get(target)).fields.get("x-cache")).toBe("HIT");
    }
    expect((await get("/new/c")).fields.get("x-cache")).not.toBe("HIT");
    await gateway.log("the client's path", (line) => line.path === "/cached/a" && line.status === 200);
  });
});

describe("what is looked up", () => {
  const get = (target: string) => gateway.once(request(`GET ${target}`, []));

  test.each([
    ["/docs/a.txt", 200, "v2 a"],
    ["/docs/", 200, "v2 index"],
    ["/docs", 200, "v2 index"],
    ["/docs/sub/", 200, "v2 sub"],
    ["/docs/own.txt", 404, ""],
    ["/docs/../own.txt", 403, ""],
    ["/files/own.txt", 200, "own"],
    ["/files/old/a.txt", 200, "v2 a"],
    ["/files/old/sub/", 200, "v2 sub"],
    ["/files/old/.git/config", 404, ""],
    ["/q?f=a.txt", 200, "v2 a"],
    ["/q?f=../own.txt", 400, ""],
    ["/q?f=..%2f..%2fa.key", 400, ""],
    ["/q?f=%252e%252e/own.txt", 400, ""],
    ["/q?f=.git/config", 404, ""],
    ["/q?f=a.txt%00", 400, ""],
  ])("%s: %d %s", async (target, status, text) => {
    const reply = await get(target);
    expect(reply.status).toBe(status);
    if (text !== "") expect(reply.text).toBe(text);
    expect(reply.text).not.toContain("secret");
  });

  test("a folder's redirect names the client's path, and leads to the folder", async () => {
    for (const [target, location] of [
      ["/docs/sub?x=1", "/docs/sub/?x=1"],
      ["/files/old/sub", "/files/old/sub/"],
    ] as const) {
      const reply = await get(target);
      expect([reply.status, reply.fields.get("location")]).toEqual([301, location]);
      expect((await get(location)).text).toBe("v2 sub");
      // And again, after the disk was asked.
      expect((await get(target)).status).toBe(301);
    }
  });
});

describe("the configuration", () => {
  const check = async (rewrite: Settings, args: readonly string[] = []) => {
    const run = await runEdge(["check", ...args, "--config", "config.yaml"], {
      routes: [upstream("/a", { url: "http://127.0.0.1:1" }, { rewrite })],
    });
    return run.stdout + run.stderr;
  };

  test.each([
    [{ path: "new{rest}" }, 'begins with "/"'],
    [{ path: "{query.a}" }, 'begins with "/"'],
    [{ path: "https://evil.test/" }, 'begins with "/"'],
    [{ path: "//evil.test/{rest}" }, '"//" at its beginning'],
    [{ path: "/new?x=1" }, "the query is kept"],
    [{ path: "/new{uri}" }, "write {path} for {uri}"],
    [{ path: "/a/../b" }, "/../"],
    [{ path: "/a/%2e%2e/b" }, "/../"],
    [{ path: "/a%zz" }, "whole escapes"],
    [{ path: "/a b" }, "without spaces"],
    [{ path: "/new{reste}" }, 'did you mean "rest"'],
    [{ path: "/new/{match.1}" }, "write regex and to"],
    [{ regex: "^/a/(.*)$" }, "needs path"],
    [{ path: "/x", regex: "a", to: "/b" }, "remove one"],
    [{ regex: "^/a/(.*)$", to: "/{match.2}" }, "{match.1} to {match.1}"],
    [{ regex: "(a+", to: "/b" }, "missing closing )"],
    [{ regex: "(a)\\1", to: "/b" }, "refers back to a group"],
    [{ regex: "(?!a)b", to: "/b" }, "looks around itself"],
  ])("%p: %s", async (rewrite, part) => {
    const text = await check(rewrite);
    expect(text).toMatch(/routes\.yaml:\d+:\d+/);
    expect(text).toContain(part);
  });

  test("is printed as it was written, and listed", async () => {
    const printed = await check(OLD, ["--print"]);
    for (const part of ["regex: ^/old/(.*)$", "to: /new/{match.1}"]) expect(printed).toContain(part);
    const listed = JSON.parse((await gateway.once(request("GET /internal/api/routes", []))).text) as {
      routes: Settings[];
    };
    const of = (prefix: string) => listed.routes.find((route) => route.prefix === prefix)!;
    expect(of("/old").rewrite).toEqual(OLD);
    expect(of("/docs").rewrite).toEqual({ path: "/v2{rest}" });
    expect(of("/")).not.toHaveProperty("rewrite");
  });
});
