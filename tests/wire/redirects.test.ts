// docs/answers.md#redirects
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const redirect = (place: object, to: string, more: object = {}) => ({ type: "redirect", ...place, to, ...more });
const gateway = await startGateway({
  config: {
    server: {
      // One worker: what is compared is written by one.
      workers: 1,
      security_headers: { enabled: true },
      cors: { enabled: true, allowed_origins: ["https://app.test"] },
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    redirect({ prefix: "/away" }, "https://www.example.com{uri}"),
    redirect({ prefix: "/old" }, "/new{rest}", { status: 301 }),
    redirect({ prefix: "/rest" }, "{rest}"),
    redirect({ prefix: "/slash" }, "/{rest}"),
    redirect({ prefix: "/word" }, "/{query.next}"),
    redirect({ prefix: "/form", methods: ["POST"] }, "{path}", { status: 303 }),
    redirect({ prefix: "/uri", methods: ["POST"] }, "{uri}", { status: 302 }),
    redirect({ prefix: "/login" }, "/enter?next={uri}&h={header.X-Next}&c={cookie.c}#{query.next}", { status: 302 }),
    redirect({ prefix: "/named", host: ["gw.test", "*.wild.test", "localhost"] }, "https://www.{host}:8443{rest}"),
    redirect({ path: "/constant" }, "https://www.example.com/a?b=c&d"),
    redirect({ prefix: "/re", regex: "^/re(.*)$" }, "/{match.1}"),
    redirect({ prefix: "/re2", regex: "^/re2/?(.*)$" }, "https://www.example.com/{match.1}"),
    redirect({ prefix: "/blog", regex: "^/blog/(\\d{4})/([^/]+)$" }, "/posts/{match.2}?year={match.1}", {
      status: 301,
    }),
    redirect({ prefix: "/blog", regex: "^/blog/feed(\\.xml)?$" }, "/feed{match.1}"),
    { type: "respond", prefix: "/blog", body: "blog" },
    redirect({ path: "/asked" }, "/to?{query}"),
    redirect({ path: "/more" }, "/to?a=b&{query}"),
    redirect({ path: "/edited" }, "/x", { headers: { response: { set: { "Cache-Control": "no-store" } } } }),
  ],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway));

async function locationOf(start: string, lines: readonly string[] = [], body?: string) {
  const reply = await gateway.once(request(start, lines, body));
  return [reply.status, reply.fields.get("location")];
}

describe("a redirect", () => {
  test.each([
    ["GET /away/a?b=c%20d", 308, "https://www.example.com/away/a?b=c%20d"],
    ["GET /old/a/b?c", 301, "/new/a/b"],
    ["GET /old", 301, "/new/"],
    ["GET /asked?x=y", 308, "/to?x=y"],
    ["GET /asked", 308, "/to"],
    ["GET /more?x=y", 308, "/to?a=b&x=y"],
    ["GET /more", 308, "/to?a=b"],
    ["GET /rest/a", 308, "/a"],
    ["GET /login/x?y=z&w", 302, "/enter?next=/login/x%3Fy%3Dz%26w&h=&c=#"],
    ["GET /named/x", 308, "https://www.gw.test:8443/x"],
    ["GET /constant?x", 308, "https://www.example.com/a?b=c&d"],
    ["PUT /rest/a", 308, "/a"],
  ])("of %s", async (start, status, location) => {
    expect(await locationOf(start)).toEqual([status, location]);
  });

  test.each([
    ["GET /blog/2024/a%20b?x", [301, "/posts/a%20b?year=2024"]],
    ["GET /x/../blog//2024/%61;%3F%23", [301, "/posts/a;%3F%23?year=2024"]],
    ["GET /blog/feed", [308, "/feed"]],
    ["GET /blog/feed.xml", [308, "/feed.xml"]],
    ["GET /blog/24/a", [200, null]],
    ["GET /blog/2024/a/b", [200, null]],
    ["GET /blog", [200, null]],
  ])("by an expression, where the next route takes what does not fit: %s", async (start, expected) => {
    expect(await locationOf(start)).toEqual(expected);
  });

  test("has a note for those who do not follow", async () => {
    const reply = await gateway.once(request("GET /constant"));
    expect(reply.text).toBe('<a href="https://www.example.com/a?b=c&amp;d">Permanent Redirect</a>\n');
    expect(reply.fields.get("content-type")).toBe("text/html; charset=utf-8");
    const headOnly = await gateway.once(request("HEAD /constant"), "HEAD");
    expect([headOnly.status, headOnly.text, headOnly.fields.get("content-length")]).toEqual([
      308,
      "",
      String(reply.text.length),
    ]);
  });

  test("keeps the connection after a body", async () => {
    const client = await gateway.connect();
    for (const _ of [1, 2]) {
      client.send(request("POST /form/a?b", [], "x".repeat(5000)));
      const reply = await client.reply();
      expect([reply.status, reply.fields.get("location")]).toEqual([303, "/form/a"]);
    }
    client.close();
  });

  test("is under the policies of every response", async () => {
    const reply = await gateway.once(request("GET /old/x", ["Origin: https://app.test"]));
    expect(reply.fields.get("access-control-allow-origin")).toBe("https://app.test");
    expect(reply.fields.get("x-frame-options")).not.toBeNull();
    expect(reply.fields.get("x-cache")).toBeNull();
    expect((await gateway.once(request("GET /edited"))).fields.get("cache-control")).toBe("no-store");
    expect((await gateway.once(request("GET /form/x"))).status).toBe(405);
  });

  test("of a host takes its canonical form", async () => {
    expect(await locationOf("GET /named/x", ["Host: A.Wild.Test.:99"])).toEqual([
      308,
      "https://www.a.wild.test:8443/x",
    ]);
    expect((await locationOf("GET /named/x", ["Host: other.test"]))[0]).toBe(404);
  });
});

// What leads browsers to another server, if it comes to the beginning of a Location.
const EVIL = "evil.example";
const SLASHES = [
  "/",
  "//",
  "///",
  "\\",
  "/\\",
  "\\/",
  "\\\\",
  "%2f",
  "%2F%2f",
  "%5c",
  "%5C%5c",
  "/%2f",
  "/%5c",
  "%2f/",
  "/.//",
];
const MORE = [
  "/..//",
  "/%2e%2e//",
  "/;//",
  "/%09/",
  "/%0a/",
  "/%0d%0a/",
  "/%00",
  "@",
  "/@",
  ":@",
  ".",
  "/%ef%bc%8f/",
  "/%e3%80%82",
];
const TAILS = [...SLASHES, ...MORE].flatMap((before) => [
  `${before}${EVIL}`,
  `${before}${EVIL}/%2f..`,
  `/x/..${before}${EVIL}`,
]);
const VALUES = [...SLASHES, ...MORE, "https://", "https:", "javascript:", "%09//", "%20//"].map(
  (before) => `${before}${EVIL}`,
);
const PLACES = ["/away", "/old", "/rest", "/slash", "/word", "/form", "/uri", "/login", "/named", "/re", "/re2"];
const TARGETS = PLACES.flatMap((place) => [
  ...TAILS.map((tail) => `${place}${tail}`),
  ...VALUES.map((value) => `${place}?next=${value}&to=${value}`),
]);
const HOSTS = [
  "gw.test",
  "a.wild.test",
  "evil.example%2f.wild.test",
  "evil.example%40.wild.test",
  "evil.example,.wild.test",
];

function methodOf(target: string): string {
  return target.startsWith("/form") || target.startsWith("/uri") ? "POST" : "GET";
}

/** Asserts that a Location leads to the server that was asked, or to one that the routes name. */
function expectOwn(location: string, asked: string): void {
  const base = URL.parse(asked)!;
  const { origin } = new URL(location, base);
  const own = [base.origin, "https://www.example.com", `https://www.${base.hostname}:8443`];
  expect({ location, origin, isOwn: own.includes(origin) }).toEqual({ location, origin, isOwn: true });
  expect(location).toMatch(/^[\x21-\x7e]+$/);
  expect(location).not.toMatch(/^[/\\]{2}|\\|^https?:[^/]/);
}

describe("no request leads to a server that the file does not name", () => {
  for (const host of HOSTS) {
    test(`over HTTP/1.1, for ${host}`, async () => {
      const isUsual = !/[%,]/.test(host);
      const targets = isUsual ? TARGETS : TARGETS.filter((target) => target.startsWith("/named"));
      let redirects = 0;
      let client = await gateway.connect();
      for (const target of targets) {
        const method = methodOf(target);
        const lines = [`Host: ${host}`, `X-Next: //${EVIL}`, `Cookie: c=\\\\${EVIL}`];
        client.send(request(`${method} ${target}`, method === "POST" ? [...lines, "Content-Length: 0"] : lines));
        const reply = await client.reply(method);
        const location = reply.fields.get("location");
        if (location !== null) {
          redirects++;
          expectOwn(location, `http://${host}/`);
        } else expect([400, 404]).toContain(reply.status);
        if (reply.fields.get("connection") !== "close") continue;
        client.close();
        client = await gateway.connect();
      }
      client.close();
      if (isUsual) expect(redirects).toBeGreaterThan(TARGETS.length / 3);
    });
  }

  test("over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    let redirects = 0;
    for (const target of TARGETS) {
      const reply = await client.reply(client.headers(head(methodOf(target), target, [["x-next", `//${EVIL}`]])));
      const location = reply.fields.get("location");
      if (location === undefined) expect([400, 404]).toContain(reply.status);
      else {
        redirects++;
        expectOwn(location, "http://gw.test/");
      }
    }
    expect(redirects).toBeGreaterThan(TARGETS.length / 3);
    client.close();
  });

  test("over HTTP/3", async () => {
    const client = await H3Client.connect(port);
    let redirects = 0;
    for (const target of TARGETS) {
      const { status, fields } = await client.ask(methodOf(target), target, { "x-next": `//${EVIL}` });
      if (fields.location === undefined) expect([400, 404]).toContain(status);
      else {
        redirects++;
        expectOwn(String(fields.location), `https://localhost:${port}/`);
      }
    }
    expect(redirects).toBeGreaterThan(TARGETS.length / 3);
    client.close();
  });
});
