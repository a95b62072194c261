// docs/pages.md: browsers get a page where programs get JSON.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const own = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      max_body_bytes: 100,
      waf: { enabled: true },
      security_headers: { enabled: true },
      cache: { enabled: true, cookies: "share" },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/away", { url: "http://127.0.0.1:1" }),
    upstream("/closed", origin, { ip_rules: { deny: ["127.0.0.1"] } }),
    upstream("/slow", origin, { rate_limit: { requests: 1, window: "1h", burst: 1 } }),
    { type: "upstream", path: "/get", target: origin.url, methods: ["POST"] },
    { type: "static", prefix: "/files", dir: "site" },
    { type: "static", prefix: "/edited", dir: "site", headers: { response: { set: { "X-Team": "shop" } } } },
  ],
  files: { "a.pem": own.cert, "a.key": own.key, "site/a.txt": "text" },
});
afterAll(() => stopAll(gateway, origin));

/** The start line, further lines, and the status. */
const REFUSALS: readonly (readonly [string, readonly string[], number])[] = [
  ["GET /nowhere", [], 404],
  ["GET /files/missing", [], 404],
  ["GET /edited/missing", [], 404],
  ["GET /get", [], 405],
  ["GET /node/x?q=<script>alert(1)</script>", [], 403],
  ["GET /files/%2e%2e/%2e%2e/secret", [], 403],
  ["GET /closed/x", [], 403],
  ["GET /files/100%", [], 400],
  ["GET /files/a.txt", ['If-Match: "x"'], 412],
  ["POST /node/x", ["Content-Length: 1000"], 413],
  ["GET /slow/x", [], 429],
  ["GET /away/x", [], 502],
  ["GET /node/x", ["Cache-Control: only-if-cached"], 504],
];

const ask = (start: string, lines: readonly string[], accept: string, id = "page-1"): Promise<Reply> =>
  gateway.once(request(start, [...(accept === "" ? [] : [`Accept: ${accept}`]), `X-Request-Id: ${id}`, ...lines]));

await ask("GET /slow/x", [], "");

describe.each(REFUSALS)("%s %j", (start, lines, status) => {
  test("is a page for a browser", async () => {
    const id = `id-${status}-${Math.random()}`;
    const reply = await ask(start, lines, BROWSER, id);
    expect([reply.status, reply.fields.all("content-type")]).toEqual([status, ["text/html; charset=utf-8"]]);
    expect(reply.fields.all("vary")).toContain("Accept");
    expect(reply.fields.all("cache-control")).toEqual(["no-store"]);
    expect(reply.fields.all("x-request-id")).toEqual([id]);
    expect(reply.fields.all("content-security-policy")[0]).toStartWith("default-src 'none'");
    expect(reply.text).toStartWith("<!DOCTYPE html>");
    expect(reply.text).toContain(`<code>${id}</code>`);
    expect(reply.text).not.toMatch(/127\.0\.0\.1|script|secret|nowhere|XSS|site\//i);
    const line = await gateway.log(id, (one) => one.event === "access" && one.request_id === id);
    expect(line.status).toBe(status);
  });

  test.each(["", "*/*", "application/json", "image/png,*/*;q=0.8"])("is JSON for Accept: %s", async (accept) => {
    const reply = await ask(start, lines, accept);
    expect([reply.status, reply.fields.get("content-type")]).toEqual([status, "application/json"]);
    expect(reply.fields.has("vary")).toBe(false);
    expect(reply.fields.has("x-request-id")).toBe(false);
    expect(JSON.parse(reply.text).error).toStartWith(`${status} `);
  });

  test("keeps the fields that say more than the body", async () => {
    const [page, plain] = [await ask(start, lines, BROWSER), await ask(start, lines, "")];
    for (const name of ["allow", "retry-after", "connection", "x-team", "x-content-type-options", "x-frame-options"])
      expect([name, ...page.fields.all(name)]).toEqual([name, ...plain.fields.all(name)]);
  });
});

test("an id of the gateway's own is the same in field, page and log", async () => {
  const reply = await gateway.once(request("GET /nowhere", [`Accept: ${BROWSER}`, "User-Agent: unnamed"]));
  const id = reply.fields.get("x-request-id")!;
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(reply.text).toContain(`<code>${id}</code>`);
  await gateway.log("the line", (one) => one.event === "access" && one.request_id === id);
});

test("an id with markup is not the client's to choose", async () => {
  const reply = await ask("GET /nowhere", [], BROWSER, "<b>bold</b>");
  expect(reply.text).not.toContain("bold");
});

test("HEAD has the fields of the page and no body", async () => {
  const [page, bare] = [
    await ask("GET /nowhere", [], BROWSER),
    await gateway.once(request("HEAD /nowhere", [`Accept: ${BROWSER}`, "X-Request-Id: page-1"]), "HEAD"),
  ];
  expect(bare.fields.get("content-length")).toBe(page.fields.get("content-length"));
  expect(bare.fields.get("content-type")).toBe("text/html; charset=utf-8");
});

test("the connection goes on after a page as after JSON", async () => {
  const client = await gateway.connect();
  for (let i = 0; i < 3; i++) {
    client.send(request("GET /files/missing", [`Accept: ${BROWSER}`]));
    expect((await client.reply()).status).toBe(404);
  }
  client.close();
});

test("the built-in endpoints are for programs", async () => {
  for (const start of ["POST /health", "POST /metrics", "GET /internal/api/security/incidents?limit=x"]) {
    const reply = await ask(start, [], BROWSER);
    expect([start, reply.fields.get("content-type")]).toEqual([start, "application/json"]);
  }
});

test.each([
  ["a malformed field", `GET / HTTP/1.1\r\nHost: a\r\nAccept: ${BROWSER}\r\nX Y: z\r\n\r\n`, 400],
  ["no Host", `GET / HTTP/1.1\r\nAccept: ${BROWSER}\r\n\r\n`, 400],
])("a head that cannot be trusted is answered with JSON: %s", async (_name, bytes, status) => {
  const reply = await gateway.once(bytes);
  expect([reply.status, reply.fields.get("content-type")]).toEqual([status, "application/json"]);
});

const COOKIES = Array.from({ length: 110 }, (_, i) => [`x-${i}`, "a"] as const);
const TOO_MUCH: readonly (readonly [
  what: string,
  path: string,
  fields: readonly (readonly [string, string])[],
  status: number,
])[] = [
  ["a line", `/${"a".repeat(9000)}`, [], 414],
  ["a query", `/node?${"a=b&".repeat(2500)}`, [], 414],
  ["a field", "/node", [["cookie", "a".repeat(9000)]], 431],
  ["a head", "/node", Array.from({ length: 9 }, (_, i) => [`x-${i}`, "a".repeat(8000)] as const), 431],
  ["a number of fields", "/node", COOKIES, 431],
];

describe("a head that is too much, where Accept can be read", () => {
  const kindOf = (accept: string) => (accept === BROWSER ? "text/html; charset=utf-8" : "application/json");

  test.each(TOO_MUCH)("over HTTP/1.1: %s", async (_what, path, fields, status) => {
    for (const accept of [BROWSER, "*/*"]) {
      const lines = [`Accept:  ${accept} `, "X-Request-Id: big", ...fields.map(([name, value]) => `${name}: ${value}`)];
      const reply = await gateway.once(request(`GET ${path}`, lines));
      expect([reply.status, reply.fields.get("content-type")]).toEqual([status, kindOf(accept)]);
      expect(reply.fields.get("connection")).toBe("close");
      if (accept === "*/*") expect(Object.keys(JSON.parse(reply.text))).toEqual(["error", "message"]);
      else expect(reply.text).toContain("<!DOCTYPE html>");
    }
  });

  // A header list that is far too large costs the whole connection of HTTP/2.
  const streamed = TOO_MUCH.filter(([what]) => what !== "a head");
  test.each(streamed)("over HTTP/2 and HTTP/3: %s", async (_what, path, fields, status) => {
    for (const accept of [BROWSER, "*/*"]) {
      const sent: [string, string][] = [
        ["accept", accept],
        ...fields.map(([name, value]): [string, string] => [name, value]),
      ];
      const h2 = await H2Client.connectTls(tlsPort);
      const reply = await h2.request(head("GET", path, sent));
      expect([reply.status, reply.fields.get("content-type")]).toEqual([status, kindOf(accept)]);
      h2.close();
      const h3 = await H3Client.connect(tlsPort);
      const third = await h3.ask("GET", path, Object.fromEntries(sent));
      expect([third.status, third.fields["content-type"]]).toEqual([status, kindOf(accept)]);
      h3.close();
    }
  });

  test("without the end of the line the refusal does not wait, and is JSON", async () => {
    const reply = await gateway.once(`GET /${"a".repeat(9000)}`);
    expect([reply.status, reply.fields.get("content-type")]).toEqual([414, "application/json"]);
  });

  test("Accept of another request, in a body or half of it does not count", async () => {
    const line = `GET /${"a".repeat(9000)} HTTP/1.1\r\nHost: a\r\n`;
    const others = [`\r\nAccept: ${BROWSER}\r\n\r\n`, `X-Accept: ${BROWSER}\r\n\r\n`, `Accept: ${BROWSER}`];
    for (const rest of others) {
      const reply = await gateway.once(line + rest);
      expect([reply.status, reply.fields.get("content-type")]).toEqual([414, "application/json"]);
    }
    const client = await gateway.connect();
    client.send(`${request("GET /files/a.txt", [`Accept: ${BROWSER}`]).toString()}${line}\r\n`);
    expect((await client.reply()).status).toBe(200);
    expect((await client.reply()).fields.get("content-type")).toBe("application/json");
    client.close();
  });
});

test("what the cache keeps of a missing file is not the page", async () => {
  await ask("GET /files/later", [], BROWSER);
  expect((await ask("GET /files/later", [], "*/*")).fields.get("content-type")).toBe("application/json");
  expect((await ask("GET /files/later", [], BROWSER)).fields.get("content-type")).toBe("text/html; charset=utf-8");
});

describe("over HTTP/2 and HTTP/3", () => {
  const refused = ["/nowhere", "/closed/x", "/away/x", "/node/x?q=%3Cscript%3Ealert(1)%3C/script%3E"];

  test.each(refused)("%s is a page, and JSON for programs (HTTP/2)", async (path) => {
    for (const accept of [BROWSER, "*/*"]) {
      const client = await H2Client.connectTls(tlsPort);
      const reply = await client.request(
        head("GET", path, [
          ["accept", accept],
          ["x-request-id", "two"],
        ]),
      );
      const isPage = accept === BROWSER;
      expect(reply.fields.get("content-type")).toBe(isPage ? "text/html; charset=utf-8" : "application/json");
      expect(reply.text.includes("<code>two</code>")).toBe(isPage);
      expect(reply.fields.get("x-request-id")).toBe(isPage ? "two" : undefined);
      client.close();
    }
  });

  test.each(refused)("%s is a page, and JSON for programs (HTTP/3)", async (path) => {
    for (const accept of [BROWSER, "*/*"]) {
      const client = await H3Client.connect(tlsPort);
      const reply = await client.ask("GET", path, { accept, "x-request-id": "three" });
      const isPage = accept === BROWSER;
      expect(reply.fields["content-type"]).toBe(isPage ? "text/html; charset=utf-8" : "application/json");
      expect(reply.body.toString().includes("<code>three</code>")).toBe(isPage);
      expect(reply.fields["x-request-id"]).toBe(isPage ? "three" : undefined);
      client.close();
    }
  });
});
