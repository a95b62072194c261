// docs/routing.md#which-route-wins on the binary: the host first, then exact paths, expressions, prefixes, on every type of route and over every protocol.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

type Settings = Record<string, unknown>;

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();

/** A route whose origin gets its name, and what its expression has found. */
function named(name: string, settings: Settings): Settings {
  const { prefix: _, ...others } = upstream("/", origin, { headers: { request: { set: { "X-Route": name } } } });
  return { ...others, ...settings };
}

const routes: Settings[] = [
  named("api", { prefix: "/api" }),
  named("exact", { path: "/exact" }),
  named("tenant", { prefix: "/", host: "tenant.test" }),
  named("localhost", { prefix: "/", host: "localhost" }),
  named("own-health", { path: "/health", host: "health.test" }),
  named("star", { prefix: "/star", hosts: ["two.test", "*.wild.test"], host: "one.test" }),
  named("deep-star", { prefix: "/", host: "*.deep.wild.test" }),
  // Expressions, on every type.
  named("v", {
    host: "re.test",
    regex: "^/api/v(\\d+)/(.*)$",
    headers: { request: { set: { "X-Route": "v{match.1} {host.1}" } }, response: { set: { "X-Found": "{match.2}" } } },
  }),
  named("v-late", { host: "re.test", regex: "^/api/v1/" }),
  named("v-path", { host: "re.test", path: "/api/v1/exact" }),
  named("v-rewritten", { host: "re.test", regex: "^/u/(\\w+)/avatar$", rewrite: { path: "/avatars/{match.1}" } }),
  named("v-below", { host: "re.test", prefix: "/strip", regex: "\\.php$" }),
  named("v-prefix", { host: "re.test", prefix: "/api/v1" }),
  { type: "static", host: "re.test", regex: "(?i)\\.(css|js)$", dir: "./site", cache_control: "max-age=3600" },
  { type: "redirect", host: "re.test", regex: "^/old/(.+)$", to: "/new/{match.1}", status: 301 },
  { type: "respond", host: "re.test", regex: "^/say/(\\w+)$", body: "said {match.1}" },
  { type: "function", host: "re.test", regex: "^/run/(\\d+)$", module: "./run.ts" },
  { type: "respond", host: "*.move.test", prefix: "/star", body: "({host.1})", content_type: "text/plain" },
  { type: "redirect", host: "*.move.test", prefix: "/", to: "https://{host.1}.example.com{uri}" },
  // Methods.
  named("posted", { host: "m.test", prefix: "/form", match: { method: ["POST"] } }),
  named("others", { host: "m.test", prefix: "/form" }),
  named("got", { host: "m.test", path: "/only", match: { method: "GET" } }),
  named("limited", { host: "m.test", prefix: "/limited", methods: ["GET"] }),
  named("m-root", { host: "m.test", prefix: "/" }),
];
const files = {
  "a.pem": certificate.cert,
  "a.key": certificate.key,
  "site/a.css": "body{}",
  "site/api/v1/b.JS": "b()",
  "run.ts": "export default { fetch: (request) => new Response(new URL(request.url).pathname) };\n",
};
const gateway = await startGateway({
  config: {
    server: {
      access_log: { enabled: false },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  files,
  routes,
});
afterAll(() => stopAll(gateway, origin));

/** The name of the route that a request reached, or the status where no origin was asked. */
async function routeOf(start: string, host: string): Promise<string> {
  const seen = origin.requests.length;
  const reply = await gateway.once(`${start} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return reached(seen, reply);
}

function reached(seen: number, reply: Pick<Reply, "status">): string {
  const sent = origin.requests[seen];
  return sent === undefined ? String(reply.status) : (sent.fields.get("x-route") ?? "none");
}

describe("the host first", () => {
  const CASES = [
    ["GET /api/x", "elsewhere.test", "api"],
    ["GET /api/x", "tenant.test", "tenant"],
    ["GET /exact", "elsewhere.test", "exact"],
    ["GET /exact", "tenant.test", "tenant"],
    ["GET /x", "elsewhere.test", "404"],
    ["GET /star/x", "one.test", "star"],
    ["GET /star/x", "two.test", "star"],
    ["GET /star/x", "a.b.wild.test", "star"],
    ["GET /star/x", "a.deep.wild.test", "deep-star"],
    // What a host has nothing for is for the less specific ones.
    ["GET /api/x", "one.test", "api"],
    // Endpoints of the gateway's own are there on every host, unless a host's route has just that path.
    ["GET /health", "tenant.test", "200"],
    ["GET /health", "health.test", "own-health"],
    // No spelling of the host goes past it.
    ["GET /api/x", "TENANT.test", "tenant"],
    ["GET /api/x", "tenant.test.", "tenant"],
    ["GET /api/x", "Tenant.Test.:8080", "tenant"],
    ["GET http://tenant.test/api/x", "tenant.test", "tenant"],
  ] as const;
  for (const [start, host, expected] of CASES)
    test(`${start} of ${host}: ${expected}`, async () => expect(await routeOf(start, host)).toBe(expected));

  test("over HTTP/2 and HTTP/3 as well", async () => {
    const [h2, h3] = [await H2Client.connect(gateway.port), await H3Client.connect(tlsPort)];
    const other = head("GET", "/api/x").filter(([name]) => name !== ":authority");
    for (const [host, expected] of [
      ["tenant.test", "tenant"],
      ["TENANT.test.:1", "tenant"],
      ["elsewhere.test", "api"],
    ] as const) {
      const { body } = await h2.request([...other, [":authority", host]]);
      expect([host, JSON.parse(Buffer.from(body).toString()).headers["x-route"]]).toEqual([host, expected]);
    }
    const { body } = await h3.ask("GET", "/api/x", {});
    expect(JSON.parse(Buffer.from(body).toString()).headers["x-route"]).toBe("localhost");
    h2.close();
    h3.close();
  });

  test("and the path first, where the server says so", async () => {
    const other = await startGateway({ config: { server: { route_order: "path_first" } }, files, routes });
    const asked = async (start: string, host: string) => {
      const seen = origin.requests.length;
      return reached(seen, await other.once(`${start} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    };
    expect(await asked("GET /api/x", "tenant.test")).toBe("api");
    expect(await asked("GET /exact", "tenant.test")).toBe("exact");
    expect(await asked("GET /other", "tenant.test")).toBe("tenant");
    expect(await asked("GET /api/v1/x", "re.test")).toBe("v1");
    await stopAll(other);
  });
});

describe("expressions", () => {
  test("are asked after exact paths and before prefixes, in the order of the file", async () => {
    expect(await routeOf("GET /api/v1/x", "re.test")).toBe("v1");
    expect(await routeOf("GET /api/v1/exact", "re.test")).toBe("v-path");
    expect(await routeOf("GET /api/v1", "re.test")).toBe("v-prefix");
    expect(await routeOf("GET /%61pi//v22/%2e%2e/v2/y", "re.test")).toBe("v2");
    // Hosts without one ask none.
    expect(await routeOf("GET /api/v1/x", "tenant.test")).toBe("tenant");
  });

  test("leave the path as it is, but for a prefix beside them", async () => {
    expect((await gateway.once("GET /api/v3/a/b?q HTTP/1.1\r\nHost: re.test\r\n\r\n")).fields.get("x-found")).toBe(
      "a/b",
    );
    expect(origin.requests.at(-1)!.target).toBe("/api/v3/a/b?q");
    await routeOf("GET /u/anna/avatar", "re.test");
    expect(origin.requests.at(-1)!.target).toBe("/avatars/anna");
    await routeOf("GET /strip/a/x.php", "re.test");
    expect(origin.requests.at(-1)!.target).toBe("/a/x.php");
  });

  test("at files, redirects, responses and functions", async () => {
    const get = (path: string) => gateway.once(`GET ${path} HTTP/1.1\r\nHost: re.test\r\n\r\n`);
    expect((await get("/a.css")).text).toBe("body{}");
    expect((await get("/api/v1/b.JS")).fields.get("x-found")).toBe("b.JS");
    expect((await get("/../../a.css")).status).toBe(403);
    expect((await get("/old/a%2Fb")).fields.get("location")).toBe("/new/a/b");
    expect((await get("/say/hello")).text).toBe("said hello");
    expect((await get("/run/7")).text).toBe("/run/7");
    expect((await get("/run/x")).status).toBe(404);
  });

  test("the star of a host is a placeholder", async () => {
    const reply = await gateway.once("GET /a?b HTTP/1.1\r\nHost: Shop.EU.move.test:80\r\n\r\n");
    expect(reply.fields.get("location")).toBe("https://shop.eu.example.com/a?b");
    // It is never empty, also if a client sends the pattern.
    expect((await gateway.once("GET /star HTTP/1.1\r\nHost: *.move.test\r\n\r\n")).text).toBe("(*)");
  });
});

test("a method of match that does not fit goes on to the next route; one of methods is 405", async () => {
  expect(await routeOf("POST /form/x", "m.test")).toBe("posted");
  expect(await routeOf("GET /form/x", "m.test")).toBe("others");
  expect(await routeOf("HEAD /only", "m.test")).toBe("got");
  expect(await routeOf("PUT /only", "m.test")).toBe("m-root");
  const refused = await gateway.once("DELETE /limited HTTP/1.1\r\nHost: m.test\r\n\r\n");
  expect([refused.status, refused.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("the listing and edge explain say where a route is, and why by host", async () => {
  const listed = json<{ routes: Settings[] }>(await gateway.once(request("GET /internal/api/routes")));
  const of = (regex: string) => listed.routes.find((one) => one.regex === regex)!;
  expect([of("^/api/v1/").prefix, of("^/api/v1/").host]).toEqual([undefined, ["re.test"]]);
  expect(of("\\.php$").prefix).toBe("/strip");
  const explained = await runEdge(["explain", "GET http://tenant.test/api/x"], {}, gateway.folder);
  expect(explained.stdout).toContain("names no host: a route for tenant.test goes before it");
});

describe("edge check", () => {
  const check = async (text: string) => {
    const files = { "config.yaml": "server: { port: 0 }\n", "routes.yaml": text };
    const one = await runEdge(["check"], { files });
    return one.stdout + one.stderr;
  };

  test("warns of a guarded route that others pass by, for their host or their expression", async () => {
    const text =
      await check(`- { type: upstream, prefix: /admin, target: "http://127.0.0.1:1", ip_rules: { allow: [10.0.0.0/8] } }
- { type: upstream, host: tenant.test, prefix: /, target: "http://127.0.0.1:2" }
- { type: upstream, host: safe.test, prefix: /, target: "http://127.0.0.1:2", ip_rules: { allow: [10.0.0.0/8] } }
- { type: static, regex: '\\.css$', dir: . }
`);
    expect(text).toContain("requests for tenant.test pass it by: the route in line 2 takes them");

    expect(text).toContain('paths that fit "\\\\.css$" pass it by: the route in line 4 goes before prefixes');
    expect(text).not.toContain("safe.test");
  });

  test("refuses what no request fits, and a redirect to a server that a client names", async () => {
    const text = await check(`- { type: respond, prefix: /a, body: a, methods: [GET], match: { method: [POST] } }
- { type: redirect, host: "*.a.test", prefix: /, to: "https://{host.1}/" }
- { type: redirect, host: "*.b.test", prefix: /, to: "https://{host.1}.com/" }
- { type: respond, regex: '^/(a)$', body: "{match.2}" }
- { type: respond, regex: '(a', body: "a" }
- { type: respond, body: "nowhere" }
`);
    for (const fault of [
      "1:",
      "match.method: no request fits",
      "without a server's name behind it",
      "expected {match.1} to {match.1}",
      "needs prefix or path",
    ])
      expect(text).toContain(fault);
    expect(text.match(/without a server's name behind it/g)).toHaveLength(2);
  });
});
