import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#paths-and-hosts: whatever the spelling, the most specific route takes the path, with its rules.

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const mark = (value: string) => ({ headers: { request: { set: { "X-Route": value } } } });
const exact = (path: string, more: Record<string, unknown>) => {
  const { prefix: _, ...route } = upstream("/", origin, more);
  return { ...route, path };
};
const gateway = await startGateway({
  config: {
    server: { tls: { port, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } },
    transcoder: {
      enabled: true,
      routes: [{ http_method: "GET", http_path: "/v1/users/:id", grpc_method: "/a.B/Get", upstream_url: origin.url }],
    },
  },
  routes: [
    upstream("/", origin, mark("root")),
    exact("/admin", { ip_rules: { allow: ["198.51.100.0/24"] } }),
    exact("/marked", mark("marked")),
    upstream("/api", origin, mark("api")),
    upstream("/api/x/admin", origin, { ip_rules: { allow: ["198.51.100.0/24"] } }),
    upstream("/kept", origin, { ...mark("kept"), strip_prefix: false }),
    { type: "respond", prefix: "/by-path", regex: "\\.php(/|$)|^/by-path/adm", status: 403, body: "no" },
    { type: "redirect", prefix: "/by-path", regex: "^/by-path/old/", to: "/new{path}" },
    upstream("/by-path", origin, { strip_prefix: false }),
  ],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, origin));

/** Ways to write `/NAME` that some origin resolves to it. */
const SPELLINGS = [
  "/%2e/NAME",
  "/.%2fNAME",
  "/%2e%2fNAME",
  "/%2e%2e/NAME",
  "/%2E%2e%2fNAME",
  "/.%2E/NAME",
  "/./NAME",
  "/../NAME",
  "//NAME",
  "///NAME",
  "/%2fNAME",
  "/%2F%2fNAME",
  "/x/../NAME",
  "/x/%2e%2e/NAME",
  "/x%2f../NAME",
  "/x%2f..%2fNAME",
  "/x/y/..%2f%2e%2e/NAME",
  "/x/..;/NAME",
  "/x/..;a=b/NAME",
  "/x/%2e%2e;/NAME",
  "/x/..%3b/NAME",
  "/.;/NAME",
  "/\\NAME",
  "/%5cNAME",
  "/x\\..\\NAME",
  "/x%5c..%5CNAME",
  "/x/..\\NAME",
  "/x/..%5cNAME",
  "/x%5c../NAME",
  "/api/../NAME",
  "/api/x/../../NAME",
  "/api/x/%2e%2e/%2e%2e/NAME",
  "/api/x%2f..%2f..%2fNAME",
  "/kept/..%2f/NAME",
  "/NAME/.",
  "/NAME/x/..",
  "/%25/../NAME",
  "/NAME?x=/../y",
  "/NAME#/../y",
];
const withName = (spelling: string, name: string) => spelling.replace("NAME", name);
const leavesSlash = (spelling: string) => spelling.includes("NAME/");
/** The letters of a name in every spelling that decodes to them. */
const encoded = (name: string) => [...name].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("");

/** What the origin was asked since, with the route that it came by. */
function asked(since: number): string[][] {
  return origin.requests.slice(since).map(({ target, fields }) => [target, fields.get("x-route") ?? ""]);
}

type Asker = (path: string, method?: string) => Promise<{ status: number; text: string }>;

const ways: Record<string, Asker> = {
  "HTTP/1.1": async (path, method = "GET") => gateway.once(request(`${method} ${path}`)),
  "absolute-form": async (path, method = "GET") =>
    gateway.once(`${method} http://gw.test${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`),
  "HTTP/2": async (path, method = "GET") => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head(method, path));
    client.close();
    return reply;
  },
  "HTTP/3": async (path, method = "GET") => {
    const client = await H3Client.connect(port);
    const reply = await client.ask(method, path);
    client.close();
    return { status: reply.status, text: reply.body.toString() };
  },
};

describe.each(Object.keys(ways))("an exact route over %s", (way) => {
  const ask = ways[way]!;

  test.each(SPELLINGS)("%s: its address rules hold", async (spelling) => {
    for (const name of ["admin", "%61dmin", encoded("admin"), "ad%6Din"]) {
      const seen = origin.requests.length;
      const { status } = await ask(withName(spelling, name));
      // A slash at the end makes it another path, and goes on as that.
      const expected = leavesSlash(spelling) ? [200, [[`/${name}/`, "root"]]] : [403, []];
      expect([status, asked(seen)]).toEqual(expected);
    }
  });

  test.each(SPELLINGS.filter((spelling) => !leavesSlash(spelling)))("%s: its edits are made", async (spelling) => {
    const seen = origin.requests.length;
    expect((await ask(withName(spelling, "marked"))).status).toBe(200);
    const [call, ...more] = asked(seen);
    expect(more).toEqual([]);
    expect(call![1]).toBe("marked");
    expect(call![0]!.split("?")[0]).not.toMatch(/^\/[/\\]|\.\.|%2e/i);
  });

  test("dot segments of any depth are resolved: no origin sees them, and the route is that of the path without them", async () => {
    for (const [path, resolved] of [
      ["/kept/a/%252e%252e/b", "/kept/b"],
      ["/kept/a/%25252e/b%2520c", "/kept/a/b%2520c"],
      ["/api/x/%252e%252e%252fy", "/api%252fy"],
      ["/%252e%252e/admin", "/admin"],
      ["/x%252f..%252fadmin", "/admin"],
      ["/api/x/%252e%252e/x/admin/y", "/api/x/admin/y"],
      ["/kept/%252e%252e/api/x", "/api/x"],
      ["/kept/%252e%252e/%252e%252e/public", "/public"],
      ["/api/x/%25252e%25252e/%25252e%25252e/%25252e%25252e/public", "/public"],
      ["/kept/%25252e%2525252e/public", "/public"],
      ["/kept/a/%252e%252e", "/kept/"],
    ] as const) {
      const seen = origin.requests.length;
      const got = [(await ask(path)).status, asked(seen)];
      const before = origin.requests.length;
      expect([path, ...got]).toEqual([path, (await ask(resolved)).status, asked(before)]);
    }
  });

  test("double encoding is refused where decoding again would lead to another route", async () => {
    for (const path of ["/%2561dmin", "/%255cadmin", "/api/x%252fadmin/y", "/kept/%252e%252e/%2561dmin"]) {
      const seen = origin.requests.length;
      expect([path, (await ask(path)).status, asked(seen)]).toEqual([path, 400, []]);
    }
    for (const path of [
      "/x.%2570hp",
      "/x%252ephp/y",
      "/%25252561dmin",
      "/y/..%2f%2561dm",
      "/a%253fx.%2570hp",
      "/%256fld/x",
    ]) {
      const seen = origin.requests.length;
      expect([path, (await ask(`/by-path${path}`)).status, asked(seen)]).toEqual([path, 400, []]);
    }
    expect((await ask("/by-path/x.ph%70")).status).toBe(403);
    for (const path of ["/100%2525", "/kept/a%252Fb", "/kept/%252e%252ea", "/api/%25252525", "/by-path/a%252Fb"]) {
      expect([path, (await ask(path)).status]).toEqual([path, 200]);
    }
  });

  test("the built-in endpoints are not left to a prefix", async () => {
    for (const path of ["/%2e/health", "//health", "/x/..%2fhealth", "/%5chealth", "/x/..;/health", "/%68ealth"]) {
      const seen = origin.requests.length;
      expect([path, (await ask(path)).status, asked(seen)]).toEqual([path, 200, []]);
      expect([path, (await ask(path, "POST")).status, asked(seen)]).toEqual([path, 405, []]);
    }
  });
});

describe("a prefix", () => {
  const ask = ways["HTTP/1.1"]!;

  test.each([
    ["/api%2fx/admin/y", 403],
    ["/api/x%2Fadmin", 403],
    ["/api%5cx%5cadmin%5cy", 403],
    ["/api\\x\\admin", 403],
    ["/api/x/%61dmin/", 403],
    ["/api//x///admin/y", 403],
    ["/kept/..%2fapi/x/admin", 403],
    ["/api/x/admin%5c..%5cy", 200],
  ])("%s is %d", async (path, status) => {
    const seen = origin.requests.length;
    expect([(await ask(path)).status, asked(seen).length]).toEqual([status, status === 200 ? 1 : 0]);
  });

  test.each([
    ["/api//evil.example/x", "/evil.example/x"],
    ["/api/////evil.example", "/evil.example"],
    ["/api/\\evil.example", "/evil.example"],
    ["/api\\/evil.example", "/evil.example"],
    ["/api/%2fevil.example/x", "/evil.example/x"],
    ["/api%2f%2Fevil.example/x", "/evil.example/x"],
    ["/api/%5cevil.example", "/evil.example"],
    ["/api/.//evil.example", "/evil.example"],
    ["/api/x/..//evil.example", "/evil.example"],
    ["/api/..//evil.example", "/evil.example"],
    ["//evil.example/x", "/evil.example/x"],
    ["/\\evil.example/x", "/evil.example/x"],
    ["//kept//x", "/kept//x"],
    ["/api//", "/"],
    ["/api/a//b", "/a//b"],
    ["/api/a%2fb%5Cc", "/a%2fb%5Cc"],
    ["/%2fa", "/%2fa"],
    ["/kept/a\\b", "/kept/a\\b"],
  ])("%s goes upstream as %s", async (path, target) => {
    const reply = json<Echo>(await gateway.once(request(`GET ${path}?q=//../%5c`)));
    expect(reply.target).toBe(`${target}?q=//../%5c`);
  });
});

test("a pattern takes what its segments spell in another way", async () => {
  for (const path of ["/v1/users/7", "/v1%2fusers%2f7", "/v1\\users\\7", "/x/..%2fv1/users/7", "/v1/users%5c7"]) {
    const seen = origin.requests.length;
    const { status } = await gateway.once(request(`POST ${path}`, ["Content-Length: 0"]));
    expect([path, status, asked(seen)]).toEqual([path, 405, []]);
  }
  expect((await gateway.once(request("GET /v1/%2575sers/7"))).status).toBe(400);
});

describe("where clear text is sent to TLS", async () => {
  const files = { "a.pem": certificate.cert, "a.key": certificate.key };
  const tls = { port: freePort(), cert_file: "a.pem", key_file: "a.key", redirect_http: true };
  const redirecting = await startGateway({ config: { server: { tls } }, routes: [upstream("/", origin)], files });
  afterAll(() => redirecting.stop());

  test.each([
    "/.well-known/acme-challenge/%2e%2e/%2e%2e/secret",
    "/.well-known/acme-challenge/../../secret",
    "/.well-known/acme-challenge/..%2f..%2fsecret",
    "/.well-known/acme-challenge/..;/..;/secret",
    "/.well-known/acme-challenge/%5c..%5c..%5csecret",
  ])("%s is a challenge that no route gets", async (path) => {
    const seen = origin.requests.length;
    const reply = await redirecting.once(request(`GET ${path}`));
    expect([reply.status, reply.text, origin.requests.length]).toEqual([400, "Invalid ACME Challenge Token", seen]);
  });

  test("a challenge is not sent to TLS, in every spelling", async () => {
    const seen = origin.requests.length;
    for (const [path, status] of [
      ["/.well-known/acme-challenge/token", 404],
      ["/%2ewell-known/acme-challenge/token", 400],
      ["/x/%252e%252e/.well-known/acme-challenge/token", 400],
    ] as const) {
      expect((await redirecting.once(request(`GET ${path}`))).status).toBe(status);
    }
    expect(origin.requests.length).toBe(seen);
  });
});
