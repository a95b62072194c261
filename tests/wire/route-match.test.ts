// docs/routing.md#match on the binary: which route takes a request by its fields, cookies, query and client, over every protocol.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

type Settings = Record<string, unknown>;

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
let answers = 0;
origin.on("/c", (call) =>
  call.reply("200 OK", ["Cache-Control: max-age=60"], `${call.request.fields.get("x-route")} ${answers++}`),
);

const BLUE = { header: { "X-Team": "blue" } };
const gateway = await startGateway({
  config: {
    server: {
      access_log: { enabled: false },
      trusted_proxies: ["127.0.0.1"],
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true, cookies: "share" },
    },
  },
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "beta/index.html": "beta files",
    "plain/index.html": "plain files",
  },
  routes: [
    named("blue", { prefix: "/t", match: BLUE }),
    named("red", { prefix: "/t", match: { header: { "X-Team": "/^r[aeiou]d$/i" } } }),
    named("cookie", { prefix: "/t", match: { cookie: { beta: true } } }),
    named("query", { prefix: "/t", match: { query: { v: 2 } } }),
    named("inside", { prefix: "/t", match: { client_ip: ["10.0.0.0/8", "2001:db8::/32"] } }),
    named("both", { prefix: "/t/deep", match: { header: { "X-A": "1" }, query: { b: true } } }),
    named("rest", { prefix: "/t" }),
    named("exact", { path: "/t/exact", match: BLUE, methods: ["GET"] }),
    named("post-blue", { prefix: "/m", methods: ["POST"], match: BLUE }),
    named("get", { prefix: "/m", methods: ["GET"] }),
    named("only", { prefix: "/only", match: BLUE, methods: ["GET"] }),
    named("host-blue", { prefix: "/h", host: "a.test", match: BLUE }),
    named("host-star", { prefix: "/h", host: "*.test" }),
    named("half", { prefix: "/s", match: { share: "50%", sticky_by: "cookie:sid" } }),
    named("quarter", { prefix: "/s", match: { share: "25%", sticky_by: "cookie:sid" } }),
    named("others", { prefix: "/s" }),
    named("closed", { prefix: "/g", match: { header: { "X-Debug": true } }, ip_rules: { deny: ["0.0.0.0/0"] } }),
    named("open", { prefix: "/g" }),
    named("limited", { prefix: "/l", match: BLUE, rate_limit: { requests: 1, window: "1h", key: "route" } }),
    named("roomy", { prefix: "/l", rate_limit: { requests: 1, window: "1h", key: "route" } }),
    named("cached-blue", { path: "/c", match: BLUE }),
    named("cached-red", { path: "/c", match: { header: { "X-Team": "red" } } }),
    named("cached", { path: "/c" }),
    { type: "static", prefix: "/files", dir: "./beta", match: { cookie: { beta: "1" } } },
    { type: "static", prefix: "/files", dir: "./plain" },
    named("root", { prefix: "/" }),
  ],
});
afterAll(() => stopAll(gateway, origin));

/** A route whose origin is told its name. */
function named(name: string, settings: Settings): Settings {
  const { prefix, ...others } = upstream("/", origin, {
    cache: "path" in settings && settings.path === "/c",
    headers: { request: { set: { "X-Route": name } } },
  });
  return { ...others, ...("path" in settings ? {} : { prefix }), ...settings };
}

/** The route that a request reached; its status where it reached none. */
async function routeOf(start: string, ...lines: readonly string[]): Promise<string> {
  const seen = origin.requests.length;
  const reply = await gateway.once(request(start, lines));
  const [call, ...more] = origin.requests.slice(seen);
  expect(more).toEqual([]);
  return call?.fields.get("x-route") ?? String(reply.status);
}

describe("which route takes a request", () => {
  test.each([
    ["GET /t/x", [], "rest"],
    ["GET /t/x", ["X-Team: blue"], "blue"],
    ["GET /t", ["X-Team: blue"], "blue"],
    ["GET /%74/x", ["X-Team: blue"], "blue"],
    ["GET /t/x", ["X_Team: blue"], "rest"],
    ["GET /t/x", ["X-Team: blue", "x.team: green"], "blue"],
    ["GET /t/x", ["Connection: X-Team", "X-Team: blue"], "rest"],
    ["GET /t/x", ["X-Team: RED"], "red"],
    ["GET /t/x", ["X-Team: bluer"], "rest"],
    ["GET /t/x", ["Cookie: a=b; beta=0"], "cookie"],
    ["GET /t/x", ["Cookie: a=b; beta=0", "X-Team: blue"], "blue"],
    ["GET /t/x?a=1&v=2", [], "query"],
    ["GET /t/x?a=1&%76=%32", [], "query"],
    ["GET /t/x?v=22", [], "rest"],
    ["GET /t/x", ["X-Forwarded-For: 10.9.8.7"], "inside"],
    ["GET /t/x", ["X-Forwarded-For: 2001:db8::1"], "inside"],
    ["GET /t/x", ["X-Forwarded-For: 192.0.2.1"], "rest"],
    ["GET /t/deep/x?b", ["X-A: 1"], "both"],
    ["GET /t/deep/x", ["X-A: 1"], "rest"],
    ["GET /t/deep/x", ["X-Team: blue"], "blue"],
    ["GET /t/exact", ["X-Team: blue"], "exact"],
    ["GET /t/exact", [], "rest"],
    ["GET /only", [], "root"],
    ["GET /only/x", ["X-Team: blue"], "only"],
  ])("%s with %p: %s", async (start, lines, route) => {
    expect(await routeOf(start, ...lines)).toBe(route);
  });

  test("hosts: a route that does not fit gives way to the next host pattern", async () => {
    expect(await routeOf("GET /h", "Host: a.test", "X-Team: blue")).toBe("host-blue");
    expect(await routeOf("GET /h", "Host: a.test")).toBe("host-star");
    expect(await routeOf("GET /h", "Host: a.other")).toBe("root");
  });

  test("files, and their guard", async () => {
    expect((await gateway.once(request("GET /files/", ["Cookie: beta=1"]))).text).toBe("beta files");
    expect((await gateway.once(request("GET /files/", ["Cookie: beta=2"]))).text).toBe("plain files");
    expect((await gateway.once(request("GET /files/..%2f..%2fa.key", ["Cookie: beta=1"]))).status).toBe(403);
  });
});

describe("methods", () => {
  test("a route that does not fit is not there for Allow either", async () => {
    expect(await routeOf("POST /m", "X-Team: blue")).toBe("post-blue");
    const refused = await gateway.once(request("POST /m", []));
    expect([refused.status, refused.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
    const both = await gateway.once(request("PUT /m", ["X-Team: blue"]));
    expect([both.status, both.fields.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });

  test("a route that fits keeps its path, whatever less specific routes have", async () => {
    const refused = await gateway.once(request("PUT /only", ["X-Team: blue"]));
    expect([refused.status, refused.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await routeOf("PUT /only")).toBe("root");
    const exact = await gateway.once(request("PUT /t/exact", ["X-Team: blue"]));
    expect([exact.status, exact.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await routeOf("PUT /t/exact")).toBe("rest");
  });
});

describe("shares of clients", () => {
  test("one client stays, and all together divide as written", async () => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < 400; i++) {
      const line = `X-Forwarded-For: 192.0.${i >> 8}.${i & 255}`;
      const route = await routeOf("GET /s", line);
      counts[route] = (counts[route] ?? 0) + 1;
      if (i % 20 === 0) expect(await routeOf("GET /s/more?x=1", line, "X-Team: blue")).toBe(route);
    }
    expect(counts.half).toBeWithin(160, 241);
    expect(counts.quarter).toBeWithin(60, 141);
    expect(counts.others).toBeWithin(60, 141);
  });

  test("a cookie tells clients apart where one is named", async () => {
    const cookie = "Cookie: sid=abc";
    const first = await routeOf("GET /s", cookie, "X-Forwarded-For: 192.0.2.1");
    for (let i = 2; i < 20; i++) expect(await routeOf("GET /s", cookie, `X-Forwarded-For: 192.0.2.${i}`)).toBe(first);
  });
});

describe("routes of one path are routes of their own", () => {
  test("address rules, and no other spelling of the field goes on", async () => {
    for (const line of ["X-Debug: 1", "x-debug:", "X-DEBUG: 0"]) expect(await routeOf("GET /g", line)).toBe("403");
    for (const line of ["x_debug: 1", "X.Debug:"]) {
      expect(await routeOf("GET /g", line)).toBe("open");
      expect(origin.requests.at(-1)!.fields.list.filter(([name]) => /^x.debug$/i.test(name))).toEqual([]);
    }
    expect(await routeOf("GET /g")).toBe("open");
  });

  test("rate limits", async () => {
    expect(await routeOf("GET /l", "X-Team: blue")).toBe("limited");
    expect(await routeOf("GET /l", "X-Team: blue")).toBe("429");
    expect(await routeOf("GET /l")).toBe("roomy");
    expect(await routeOf("GET /l")).toBe("429");
  });

  test("the cache: none is given another's response, and a purge takes all", async () => {
    const get = (...lines: string[]) => gateway.once(request("GET /c", lines));
    const kinds = [["X-Team: blue"], ["X-Team: red"], [], ["X-Team: green"]];
    const first: Reply[] = [];
    for (const lines of kinds) first.push(await get(...lines));
    expect(first.map(({ text }) => text.split(" ")[0])).toEqual(["cached-blue", "cached-red", "cached", "cached"]);
    expect(first.map(({ fields }) => fields.get("x-cache"))).toEqual(["MISS", "MISS", "MISS", "HIT"]);
    for (const [i, lines] of kinds.entries()) {
      const again = await get(...lines);
      expect([again.fields.get("x-cache"), again.text]).toEqual(["HIT", first[i]!.text]);
    }
    // What an encoding could spell of a key.
    expect((await get("Accept-Encoding: \x08\x00", "X-Team: blue")).status).toBe(400);
    await gateway.once(request("POST /c", ["Content-Length: 0"]));
    for (const lines of kinds.slice(0, 3)) expect((await get(...lines)).fields.get("x-cache")).toBe("MISS");
  });

  test("Vary names what was asked, also where the response is another route's", async () => {
    const varies = async (start: string, ...lines: string[]) => {
      const reply = await gateway.once(request(start, lines));
      return [reply.status, reply.fields.all("vary")];
    };
    const asked = ["X-Team, Cookie"];
    expect(await varies("GET /t/x", "X-Team: blue")).toEqual([200, asked]);
    expect(await varies("GET /t/x", "X-Team: red")).toEqual([200, asked]);
    expect(await varies("GET /t/x")).toEqual([200, asked]);
    expect(await varies("GET /x/../%74/x")).toEqual([200, asked]);
    // By way of the deeper route, whose match did not fit.
    expect(await varies("GET /t/deep/x")).toEqual([200, ["X-Team, Cookie, X-A"]]);
    expect(await varies("GET /t/deep/x?b", "X-A: 1")).toEqual([200, ["X-A"]]);
    expect(await varies("GET /t/deeper")).toEqual([200, asked]);
    expect(await varies("GET /m", "X-Team: blue")).toEqual([200, []]);
    expect(await varies("GET /only")).toEqual([200, ["X-Team"]]);
    expect(await varies("GET /nowhere")).toEqual([200, []]);
    expect(await varies("GET /h", "Host: a.test", "X-Team: blue")).toEqual([200, ["X-Team"]]);
    for (const _ of [1, 2]) expect((await varies("GET /c", "X-Team: blue"))[1]).toEqual(["X-Team"]);
  });
});

describe("HTTP/2 and HTTP/3", () => {
  test("choose alike", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const h3 = await H3Client.connect(tlsPort);
    try {
      for (const [target, fields, route] of [
        ["/t/x", { "x-team": "blue" }, "blue"],
        ["/t/x", { cookie: "beta=1" }, "cookie"],
        ["/t/x?v=2", {}, "query"],
        ["/t/x", {}, "rest"],
      ] as const) {
        const [over2, over3] = [
          await h2.request(head("GET", target, Object.entries(fields))),
          await h3.ask("GET", target, fields),
        ];
        for (const { body } of [over2, over3]) {
          expect(JSON.parse(Buffer.from(body).toString()).headers["x-route"]).toBe(route);
        }
      }
      // Cookies come in fields of their own.
      const crumbs = head("GET", "/t/x", [
        ["cookie", "a=b"],
        ["cookie", "beta=1"],
      ]);
      expect(JSON.parse(Buffer.from((await h2.request(crumbs)).body).toString()).headers["x-route"]).toBe("cookie");
    } finally {
      h2.close();
      h3.close();
    }
  });
});

describe("the configuration", () => {
  const check = async (...routes: readonly Settings[]) => {
    const run = await runEdge(["check", "--config", "config.yaml"], { routes });
    return run.stdout + run.stderr;
  };
  const route = (match: unknown, more: Settings = {}) => ({
    type: "upstream",
    prefix: "/a",
    target: "http://127.0.0.1:1",
    match,
    ...more,
  });

  test("says file, line and column of what will not do, and the cure", async () => {
    const text = await check(
      route({ header: { "X-A": "/(a)\\1/" } }),
      route({ query: { b: "/a(?=b)/" } }),
      route({ cookie: { c: "/a{999}/" } }),
      route({
        header: { host: "a.test", Cookie: "a=b", "X-Forwarded-For": "10.0.0.1", Connection: "close", "b d": "1" },
      }),
      route({ client_ip: ["10.0.0.0/99"], share: "0%" }),
      route({ headers: { a: "b" }, sticky_by: "sid" }),
    );
    expect(text).toMatch(/routes\.yaml:\d+:\d+.*refers back to a group/);
    for (const part of [
      "looks around itself",
      "too large",
      "the key host",
      "match.cookie",
      "match.client_ip",
      "belongs to one connection",
      "expected a header name",
      "10.0.0.0/99",
      "above 0%",
      'did you mean "header"',
      "cookie:session",
    ])
      expect(text).toContain(part);
  });

  test("two routes may have one path where match tells them apart, and not where it is the same", async () => {
    expect(await check(route(BLUE), route({ header: { "X-Team": "red" } }), route(undefined))).not.toContain(
      "belongs to",
    );
    expect(await check(route(BLUE), route(BLUE))).toContain("different hosts, methods or match");
  });

  test("is printed as it was written, without what may be secret", async () => {
    const match = {
      header: { "X-Api-Key": "geheim", Accept: "/json/" },
      cookie: { sid: true },
      client_ip: ["10.0.0.0/8"],
      share: "12.5%",
      sticky_by: "cookie:sid",
    };
    const printed = await runEdge(["check", "--print", "--config", "config.yaml"], { routes: [route(match)] });
    expect(printed.stdout).not.toContain("geheim");
    for (const part of ["Accept: /json/", "sid: true", "10.0.0.0/8", "12.5%", "cookie:sid"])
      expect(printed.stdout).toContain(part);
    const listed = JSON.parse((await gateway.once(request("GET /internal/api/routes", []))).text) as {
      routes: Settings[];
    };
    expect(listed.routes[0]).toMatchObject({ prefix: "/t", match: { header: { "X-Team": "***" } } });
    expect(listed.routes.find(({ prefix }) => prefix === "/")).not.toHaveProperty("match");
  });
});
