// docs/ssi.md on the binary: directives in files and in pages of origins, and what hostile ones do not get.
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { issuerKey, keySetText, token } from "../harness/token-issuer.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-ssi-"));
mkdirSync(join(folder, "site"));
const page = (name: string, text: string) => writeFileSync(join(folder, "site", name), text);
page("menu.html", "MENU");
page("small.html", '<p><!--#include virtual="menu.html" --></p>');
page("large.html", `${"x".repeat(300_000)}<!--#include virtual="/s/menu.html" -->${"y".repeat(300_000)}`);
page("loop.html", 'L<!--#include virtual="/s/loop.html" -->');
page("many.html", '<!--#include virtual="/s/menu.html" -->'.repeat(100));
page("two.html", '<!--#include virtual="menu.html" --><!--#include virtual="/other/menu.html" -->');
const VARIABLES = [
  "DOCUMENT_URI",
  "DOCUMENT_NAME",
  "REQUEST_URI",
  "HTTP_X_FORWARDED_USER",
  "HTTP_X_REAL_IP",
  "HTTP_X_B",
  "HTTP_X_A",
];
page(
  "names.html",
  `${VARIABLES.map((name) => `<!--#echo var="${name}" -->`).join(" ")} <!--#include virtual="menu.html" -->`,
);
page(
  "guarded.html",
  '<!--#include virtual="/keyed/x?a=b" --> <!--#include virtual="/part/seen" --> <!--#include virtual="inner.html" -->',
);
page("signed.html", '<!--#include virtual="/signed/x" --> <!--#include virtual="/part/seen" -->');
page("inner.html", '<!--#include virtual="/keyed/x" -->');
page("key.html", '<!--#include virtual="/part/key" -->');
page("plain.txt", '<!--#include virtual="/s/menu.html" -->');

const origin = EchoOrigin.start();
const HTML = "Content-Type: text/html";
const users = { bob: Bun.password.hashSync("pass", { algorithm: "bcrypt", cost: 4 }) };
const BASIC = `Authorization: Basic ${Buffer.from("bob:pass").toString("base64")}`;
const site = { type: "static", dir: join(folder, "site") };
const key = issuerKey("EdDSA", "k1");
const api_key = { keys: { me: `sha256:${createHash("sha256").update("mine").digest("hex")}` }, query: "k" };
const jwt = {
  jwks_file: "keys.json",
  issuer: "https://id.test",
  audience: "api",
  from: ["query:token", "header:X-Token"],
};
const room = { active: 1, per_address: 1 };
const gateway = await startGateway({
  config: { server: { workers: 1, cache: { enabled: true }, waf: { enabled: false }, compression: { min_bytes: 1 } } },
  files: { "keys.json": keySetText(key) },
  routes: [
    { type: "static", prefix: "/s", dir: join(folder, "site"), ssi: true },
    { type: "static", prefix: "/off", dir: join(folder, "site") },
    {
      ...site,
      prefix: "/strict",
      ssi: true,
      auth: { basic: { users } },
      concurrency: { limit: 1 },
      waiting_room: room,
    },
    { ...site, prefix: "/other", waiting_room: room },
    upstream("/o", origin, { ssi: true }),
    upstream("/part", origin, { strip_prefix: false }),
    upstream("/secret", origin, {
      strip_prefix: false,
      auth: { basic: { users } },
    }),
    { ...site, prefix: "/guarded", ssi: true, auth: { api_key } },
    { ...site, prefix: "/tokens", ssi: true, auth: { jwt } },
    upstream("/signed", origin, { strip_prefix: false, auth: { jwt } }),
    upstream("/keyed", origin, { strip_prefix: false, auth: { api_key } }),
    upstream("/closed", origin, { strip_prefix: false, ip_rules: { deny: ["127.0.0.0/8"] } }),
  ],
});
afterAll(async () => {
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true, force: true });
});

const ERROR = "[an error occurred while processing the directive]";
const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));
let number = 0;

/** What becomes of a page of the origin, sent in pieces of so many bytes. */
async function made(text: string, lines: readonly string[] = [], size = 1_000_000, query = ""): Promise<string> {
  const path = `/page${number++}`;
  origin.on(path, async (call) => {
    call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nETag: "a"\r\nContent-Length: ${text.length}\r\n\r\n`);
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      text.slice(i * size, (i + 1) * size),
    );
    await call.connection.sendPieces(pieces);
  });
  const reply = await get(`/o${path}${query}`, lines);
  expect([reply.status, reply.fields.has("etag"), reply.fields.has("content-length")]).toEqual([200, false, false]);
  return reply.text;
}

origin.on("/part/a", (call) => call.reply("200 OK", [HTML], `A${call.request.fields.get("cookie") ?? ""}`));
origin.on("/part/bad", (call) => call.reply("500 No", [HTML], "trace"));
origin.on("/secret/x", (call) => call.reply("200 OK", [HTML], "SECRET"));
origin.on("/closed/x", (call) => call.reply("200 OK", [HTML], "SECRET"));

describe("directives", () => {
  const cases: readonly (readonly [text: string, made: string])[] = [
    ['<i><!--#include virtual="/part/a" --></i>', "<i>Ak=1</i>"],
    ['<!--#include virtual="/part/a"--><!--#include virtual="/part/a"-->', "Ak=1Ak=1"],
    ['<!--#set var="p" value="a" --><!--#include virtual="/part/${p}" -->', "Ak=1"],
    ['<!--#echo var="HTTP_X_A" -->|<!--#echo var="NO" -->|<!--#echo var="NO" default="d" -->', "&#60;b&#62;|(none)|d"],
    ['<!--#echo var="HTTP_X_A" encoding="none" --><!--#echo var="REQUEST_METHOD"-->', "&#60;b&#62;GET"],
    ['<!--#echo var="HTTP_X_A" encoding="url" -->', "%3Cb%3E"],
    ['<!--#set var="a" value="1" --><!--#if expr="$a = 1" -->yes<!--#else -->no<!--#endif -->.', "yes."],
    ['<!--#if expr="$no" -->1<!--#elif expr="$no != x" -->2<!--#else -->3<!--#endif -->', "2"],
    ['<!--#if expr="$no" --><!--#if expr="1" -->1<!--#endif --><!--#include virtual="/part/a" --><!--#endif -->z', "z"],
    [
      '<!--#config errmsg="E" timefmt="%Y" --><!--#exec cmd="id" --><!--#echo var="DATE_GMT" -->',
      `E${new Date().getUTCFullYear()}`,
    ],
    ["<!--#include virtual=/part/a -->", ERROR],
    ["<!-- plain --><!--#", "<!-- plain --><!--#"],
    [`<!--#include virtual="${"x".repeat(5000)}" -->`, `<!--#include virtual="${"x".repeat(5000)}" -->`],
    ["a<!--#nothing -->b", `a${ERROR}b`],
  ];
  test.each(cases)("%s", async (text, wanted) => {
    for (const size of [1_000_000, 7, 1])
      if (size > 1 || text.length < 200) expect(await made(text, ["Cookie: k=1", "X-A: <b>"], size)).toBe(wanted);
  });
});

describe("an include that is refused", () => {
  test.each([
    "http://127.0.0.1/part/a",
    "//other.test/part/a",
    "/part/a b",
    "/part/bad",
    "/nowhere",
    "/closed/x",
    "/secret/x",
    "/part/a\\x",
    "http:part",
  ])("%s", async (path) => {
    expect(await made(`<!--#include virtual="${path}" -->`)).toBe(ERROR);
  });

  test("is there for a client that may have it", async () => {
    expect(await made('<!--#include virtual="/secret/x" -->', [BASIC])).toBe("SECRET");
  });

  test("has the credentials in the query of its page, which no origin gets", async () => {
    const seen: string[] = [];
    for (const path of ["/keyed/x", "/signed/x", "/part/seen"])
      origin.on(path, (call) => {
        seen.push(call.request.target, call.request.fields.get("x-token") ?? "");
        call.reply("200 OK", [HTML, "Cache-Control: no-store"], "PART");
      });
    const whole = (page: string) => `PART PART ${page}`;
    expect((await get("/guarded/guarded.html?k=mine")).text).toBe(whole("PART"));
    expect((await get("/guarded/guarded.html?b=c&%6b=mine")).text).toBe(whole("PART"));
    expect((await get("/guarded/guarded.html", ["X-API-Key: mine"])).text).toBe(whole("PART"));
    expect(seen.filter((one) => one !== "")).toEqual(Array(3).fill(["/keyed/x?a=b", "/part/seen", "/keyed/x"]).flat());
    seen.length = 0;
    const good = token(key);
    expect((await get(`/tokens/signed.html?token=${good}`)).text).toBe("PART PART");
    expect((await get("/tokens/signed.html", [`X-Token: ${good}`])).text).toBe("PART PART");
    expect(seen).toEqual(Array(2).fill(["/signed/x", "", "/part/seen", ""]).flat());
    // A page that has no key of its own lends none.
    expect((await get("/guarded/guarded.html?k=other")).status).toBe(401);
    expect((await get("/s/guarded.html?k=mine")).text).toBe(`${ERROR} PART ${ERROR}`);
  });

  test("has what its page has: credentials, the only slot, the only place; it takes no place in another room", async () => {
    const first = await get("/strict/two.html", [BASIC]);
    expect(first.text).toBe(`MENU${ERROR}`);
    const cookie = `Cookie: ${first.fields.get("set-cookie")?.split(";")[0]}`;
    expect((await get("/strict/two.html", [BASIC, cookie])).text).toBe(`MENU${ERROR}`);
    // Another route's origin does not get the credentials that the page was for.
    origin.on("/part/key", (call) => call.reply("200 OK", [HTML], "KEY"));
    expect((await get("/strict/key.html", [BASIC, cookie])).text).toBe("KEY");
    expect(origin.requestsFor("/part/key").map(({ fields }) => fields.has("authorization"))).toEqual([false]);
    const other = `${cookie}; ${(await get("/other/menu.html")).fields.get("set-cookie")?.split(";")[0]}`;
    expect((await get("/strict/two.html", [BASIC, other])).text).toBe("MENUMENU");
  });

  test("in a loop ends, and so do too many of them", async () => {
    const loop = await get("/s/loop.html");
    expect(loop.text).toBe(`LLLLLL${ERROR}`);
    const many = (await get("/s/many.html")).text;
    expect([many.split("MENU").length - 1, many.endsWith(ERROR)]).toEqual([64, true]);
    const big = Buffer.alloc(3_000_000, "b");
    origin.on("/part/big", (call) => call.reply("200 OK", [HTML], big));
    const text = await made('<!--#include virtual="/part/big" --><!--#include virtual="/part/big" -->');
    expect(text.length === 0 || text.endsWith(ERROR)).toBe(true);
  });
});

describe("files", () => {
  test("small and large, over each protocol, to HEAD, and in parts", async () => {
    expect((await get("/s/small.html")).text).toBe("<p>MENU</p>");
    expect((await get("/s/large.html")).text).toBe(`${"x".repeat(300_000)}MENU${"y".repeat(300_000)}`);
    expect((await get("/s/plain.txt")).text).toContain("<!--#include");
    expect((await get("/off/small.html")).text).toContain("<!--#include");
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", "/s/small.html"))).text).toBe("<p>MENU</p>");
    h2.close();
    const toHead = await gateway.once(request("HEAD /s/small.html"), "HEAD");
    expect([toHead.status, toHead.fields.has("content-length"), toHead.fields.has("etag")]).toEqual([
      200,
      false,
      false,
    ]);
    expect((await get("/s/large.html", ["Range: bytes=0-9"])).status).toBe(416);
    const packed = await get("/s/large.html", ["Accept-Encoding: gzip"]);
    expect(gunzipSync(packed.body).toString().includes("MENU")).toBe(true);
  });
});

test("a page sees the path by which its route was chosen, and fields as they go on, however a client writes them", async () => {
  const lines = [
    "X-Forwarded-User: root",
    "X-Real-IP: 9.9.9.9",
    "Connection: X-B",
    "X-B: b",
    "X-A: 1",
    "X-A: 2",
    'If-Match: "z"',
  ];
  for (const path of [
    "/s/names.html",
    "//s/x/..%2fnames.html",
    "/s/.;/names.html",
    "/s/%6eames.html",
    "/x/../s//names.html",
  ])
    expect([path, (await get(`${path}?q`, lines.slice(0, 6))).text]).toEqual([
      path,
      "/s/names.html names.html /s/names.html?q (none) (none) (none) 1, 2 MENU",
    ]);
  // A condition is about the page.
  expect(await made('<!--#include virtual="/s/menu.html" -->', lines)).toBe("MENU");
});

describe("a client that leaves", () => {
  test("ends its include", async () => {
    const come = Promise.withResolvers<void>();
    origin.on("/part/slow", async (call) => {
      come.resolve();
      await call.connection.until("the end", () => (call.connection.ending === "open" ? undefined : true));
      call.takeOver();
    });
    origin.on("/slow", (call) => call.reply("200 OK", [HTML], 'before<!--#include virtual="/part/slow" -->'));
    const client = await gateway.connect();
    client.send(request("GET /o/slow"));
    await come.promise;
    await client.until("what comes before", () => (client.peek().includes("before") ? true : undefined));
    client.reset();
    await origin.until("the end of the include", () => (origin.openConnections <= 2 ? true : undefined));
    expect((await get("/s/small.html")).text).toBe("<p>MENU</p>");
  });
});

test("parts that stand still hold so much memory of a worker, and no more: further pages have the text of an error", async () => {
  const body = Buffer.alloc(3_900_000, "x");
  const goOn = Promise.withResolvers<void>();
  origin.on("/part/big", async (call) => {
    call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: ${body.length + 1}\r\n\r\n`);
    call.send(body);
    await goOn.promise;
    call.send("x");
  });
  origin.on("/big", (call) => call.reply("200 OK", [HTML], '<!--#include virtual="/part/big" -->'));
  const refused = Promise.withResolvers<void>();
  let errors = 0;
  const pages = Array.from({ length: 22 }, async () => {
    const { body: page, text } = await get("/o/big");
    if (text === ERROR && ++errors === 5) refused.resolve();
    return page.length;
  });
  await refused.promise;
  goOn.resolve();
  const lengths = await Promise.all(pages);
  expect(lengths.filter((length) => length === body.length + 1).length).toBe(17);
  expect((await get("/o/big")).body.length).toBe(body.length + 1);
});
