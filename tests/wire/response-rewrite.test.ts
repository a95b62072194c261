// docs/upstreams.md#redirects-and-cookies-of-a-server on the binary: what clients get of the redirects and cookies of an origin.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const own = origin.url;
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
/** What the origin says next. */
let lines: readonly string[] = [];
for (const path of ["/x", "/base/x", "/keep/x"])
  origin.on(path, (call) => call.reply("302 Found", ["Cache-Control: max-age=60", ...lines], "moved"));

const cookies = {
  path: { "/": "/shop/", "/never": "/x" },
  domain: { "app.internal": "example.com", ".old.test": "off" },
  secure: true,
  http_only: true,
  same_site: "lax",
};
const gateway = await startGateway({
  config: {
    server: {
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true, cookies: "share" },
    },
  },
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  routes: [
    upstream("/app", origin, { cache: false, rewrite_location: true, rewrite_cookies: cookies }),
    upstream("/based", { url: `${own}/base` }, { cache: false, rewrite_location: true }),
    upstream("/keep", origin, { cache: false, rewrite_location: true, strip_prefix: false }),
    upstream("/rules", origin, {
      cache: false,
      rewrite_location: [
        { from: "http://app.internal/old/", to: "/new/" },
        { from: "http://app.internal", to: "https://shop.example.com" },
        { from: "http://bare.internal/", to: "https://bare.example.com" },
        { from: "/", to: "/app/" },
      ],
      rewrite_cookies: { domain: "off", secure: false, http_only: false, same_site: "off" },
    }),
    upstream("/cached", origin, {
      rewrite_location: true,
      rewrite_cookies: { path: { "/": "/cached" } },
      headers: { response: { add: { "X-Late": "1" } } },
    }),
    upstream("/replaced", origin, {
      cache: false,
      headers: {
        request: {
          replace: [
            { name: "X-Token", regex: "([0-9]+)-", to: "<{match.1}>" },
            { name: "X-Gone", regex: ".*", to: "" },
          ],
        },
        response: {
          replace: [
            { name: "Link", regex: "http://([a-z]+)[.]internal", to: "/{match.1}" },
            { name: "ETag", regex: "a", to: "b" },
          ],
        },
      },
    }),
    {
      type: "respond",
      path: "/own",
      body: "own",
      content_type: "text/html",
      headers: { response: { replace: [{ name: "Content-Type", regex: "html", to: "plain" }] } },
    },
    upstream("/", origin, { cache: false, rewrite_location: true }),
  ],
});
afterAll(() => stopAll(gateway, origin));

async function sent(path: string, name: string, ...said: readonly string[]): Promise<string[]> {
  lines = said;
  return (await gateway.once(request(`GET ${path}`))).fields.all(name);
}
const host = own.slice("http://".length);

describe("rewrite_location: true", () => {
  test.each([
    ["/app/x", `${own}/login?a=1#b`, "/app/login?a=1#b"],
    ["/app/x", `HTTP://${host}`, "/app/"],
    ["/app/x", `${own}?q`, "/app/?q"],
    ["/app/x", "/login", "/app/login"],
    ["/app/x", "/app/login", "/app/login"],
    ["/app/x", "login", "login"],
    ["/app/x", "https://elsewhere.test/login", "https://elsewhere.test/login"],
    ["/app/x", `https://${host}/login`, `https://${host}/login`],
    ["/app/x", `${own}@evil.test/`, `${own}@evil.test/`],
    ["/app/x", `${own}0/`, `${own}0/`],
    ["/app/x", "//evil.test/", "//evil.test/"],
    ["/based/x", `${own}/base/a`, "/based/a"],
    ["/based/x", `${own}/basement`, `${own}/basement`],
    ["/based/x", "/base", "/based/"],
    ["/keep/x", `${own}/keep/a`, "/keep/a"],
    // What was a path at the origin is no host at the gateway.
    ["/x", `${own}//evil.test/a`, "/evil.test/a"],
    ["/x", `${own}/\\evil.test/a`, "/evil.test/a"],
    ["/x", `${own}/\t/evil.test/a`, "/evil.test/a"],
  ])("%s: %s becomes %s", async (path, url, expected) => {
    expect(await sent(path, "location", `Location: ${url}`)).toEqual([expected]);
  });

  test.each([
    [`5; url=${own}/login`, "5; url=/app/login"],
    [`0;URL="${own}/a b"; x`, '0;URL="/app/a b"; x'],
    ["5", "5"],
    [`5; ${own}/`, `5; ${own}/`],
  ])("Refresh: %s becomes %s", async (value, expected) => {
    expect(await sent("/app/x", "refresh", `Refresh: ${value}`)).toEqual([expected]);
  });
});

test.each([
  ["http://app.internal/old/a", "/new/a"],
  ["http://app.internal/old//evil.test", "/new//evil.test"],
  ["http://app.internal/b?c", "https://shop.example.com/b?c"],
  ["http://app.internal", "https://shop.example.com"],
  ["http://app.internal.evil.test/", "http://app.internal.evil.test/"],
  ["http://app.internal:81/", "http://app.internal:81/"],
  ["http://bare.internal/.evil.test", "https://bare.example.com/.evil.test"],
  ["/c", "/app/c"],
])("rewrite_location with rules: %s becomes %s", async (url, expected) => {
  expect(await sent("/rules/x", "location", `Location: ${url}`)).toEqual([expected]);
});

describe("rewrite_cookies", () => {
  test.each([
    ["/app/x", "a=1", "a=1; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "a=1; Path=/", "a=1; Path=/shop/; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "a=1;path=/b;SECURE;httponly", "a=1; path=/shop/b; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "a=1; Domain=.App.Internal; SameSite=None", "a=1; Domain=example.com; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "a=1; Domain=old.test", "a=1; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "a=1; Domain=other.test; X", "a=1; Domain=other.test; X; Secure; HttpOnly; SameSite=Lax"],
    // An attribute in quotes is one all the same, and none in the value hides others.
    ["/app/x", 'a="1; SameSite=None; Path=/c"', 'a="1; Path=/shop/c"; Secure; HttpOnly; SameSite=Lax'],
    ["/app/x", "a=1; SameSite=None; samesite = none", "a=1; Secure; HttpOnly; SameSite=Lax"],
    ["/app/x", "__Host-a=1; Path=/; Secure", "__Host-a=1; Path=/; Secure; HttpOnly; SameSite=Lax"],
    ["/rules/x", "a=1; Domain=b.test; Secure; HttpOnly; SameSite=None; Max-Age=5", "a=1; Max-Age=5"],
    ["/rules/x", "__Secure-a=1; Secure", "__Secure-a=1; Secure"],
    ["/rules/x", "a=1;Max-Age=5", "a=1;Max-Age=5"],
  ])("%s: %s becomes %s", async (path, field, expected) => {
    expect(await sent(path, "set-cookie", `Set-Cookie: ${field}`)).toEqual([expected]);
  });

  test("each cookie by itself", async () => {
    expect(await sent("/app/x", "set-cookie", "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2", "X-A: 1")).toEqual([
      "a=1; Path=/shop/; Secure; HttpOnly; SameSite=Lax",
      "b=2; Secure; HttpOnly; SameSite=Lax",
    ]);
  });
});

test("headers.*.replace changes every match, in requests and responses", async () => {
  expect(await sent("/replaced/x", "link", "Link: <http://a.internal/>, <http://b.internal/>", "Link: x")).toEqual([
    "</a/>, </b/>",
    "x",
  ]);
  expect(await sent("/replaced/x", "etag", 'ETag: "aa"')).toEqual(['"bb"']);
  expect((await gateway.once(request("GET /own"))).fields.get("content-type")).toBe("text/plain");
  const seen = origin.requests.length;
  const hostile = `x${"1-".repeat(4000)}`;
  for (const token of ["1-2-3", "\xff1-", hostile])
    await gateway.once(request("GET /replaced/x", [`X-Token: ${token}`, "x-token: 7-", "X-Gone: a", "X-Kept: 1-"]));
  const tokens = origin.requests.slice(seen).map(({ fields }) => fields.all("x-token"));
  expect(tokens[0]).toEqual(["<1><2>3", "<7>"]);
  expect(tokens[1]!.at(-1)).toBe("<7>");
  expect(tokens[2]!.at(-1)).toBe("<7>");
  for (const { fields } of origin.requests.slice(seen))
    expect([fields.get("x-gone"), fields.get("x-kept")]).toEqual([null, "1-"]);
});

const EXPECTED = ["/cached/a", "a=1; Path=/cached", "1"];
test("before the cache, over HTTP/1.1, HTTP/2 and HTTP/3", async () => {
  lines = [`Location: ${own}/a`, "Set-Cookie: a=1; Path=/"];
  const fresh = await gateway.once(request("GET /cached/x"));
  const stored = await gateway.once(request("GET /cached/x"));
  const h2 = await H2Client.connect(gateway.port);
  const overH2 = (await h2.request(head("GET", "/cached/x"))).fields;
  h2.close();
  const h3 = await H3Client.connect(tlsPort);
  const { fields: overH3 } = await h3.ask("GET", "/app/x");
  h3.close();
  for (const { fields } of [fresh, stored])
    expect(["location", "set-cookie", "x-late"].map((name) => fields.get(name))).toEqual(EXPECTED);
  expect(["location", "set-cookie", "x-late"].map((name) => overH2.get(name))).toEqual(EXPECTED);
  expect(overH3).toMatchObject({ location: "/app/a" });
});

test.each<[Record<string, unknown>, string]>([
  [{ rewrite_location: [{ from: "http://a", to: "b" }] }, "expected a path such as /app/"],
  [{ rewrite_location: [{ from: "http://a", to: "//b" }] }, "expected a path such as /app/"],
  [{ rewrite_location: [{ to: "/b" }] }, "missing: expected the beginning of a URL"],
  [{ rewrite_cookies: { path: { "/": "/a; Domain=b" } } }, "expected a path without semicolon"],
  [{ rewrite_cookies: { path: { a: "/" } } }, 'with "/" first'],
  [{ rewrite_cookies: { domain: "a; Secure" } }, "expected a domain"],
  [{ headers: { response: { replace: [{ name: "Content-Length", regex: "1", to: "2" }] } } }, "follows from the body"],
  [{ headers: { request: { replace: [{ name: "Connection", regex: "1", to: "2" }] } } }, "belongs to one connection"],
  [{ headers: { request: { replace: [{ name: "Host", regex: "1", to: "2" }] } } }, "follows preserve_host"],
  [{ headers: { response: { replace: [{ name: "X-A", regex: "(?=a)", to: "2" }] } } }, "linear time"],
  [{ headers: { response: { replace: [{ name: "X-A", regex: "a", to: "{match.1}" }] } } }, "of the groups of regex"],
  [{ headers: { response: { replace: [{ name: "Location", regex: "a", to: "{host}" }] } } }, "of the groups of regex"],
  [{ rewrite_cookies: { same_site: "Lox" } }, "expected strict, lax, none or off"],
])("edge check refuses %j", async (settings, fault) => {
  const { code, stdout, stderr } = await runEdge(["check"], { routes: [upstream("/", origin, settings)] });
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(fault)]);
});
