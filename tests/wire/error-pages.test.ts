// docs/pages.md#pages-of-your-own, docs/pages.md#errors-of-the-origin
import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const BROWSER = "Accept: text/html,*/*;q=0.8";
const CSS = "body{color:red}p{margin:0}{x}{path}{{status}}";
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      cache: { enabled: true, cookies: "share", default_ttl: "1h" },
      errors: { 404: "./404.html", "5xx": "./sorry.html", "4XX": "./class.html" },
    },
  },
  routes: [
    upstream("/plain", origin),
    upstream("/kept", origin, { cache: false, errors: { intercept: true } }),
    upstream("/cached", origin, { errors: { intercept: true, 404: "./shop.html" } }),
    upstream("/shop", { url: "http://127.0.0.1:1" }, { errors: { "5xx": "./shop.html" } }),
    upstream("/other", { url: "http://127.0.0.1:1" }),
    { type: "static", prefix: "/files", dir: "site", errors: { "4xx": "./shop.html" } },
  ],
  files: {
    "404.html": `<style>${CSS}</style><p>not here: {status} {reason} {request_id}</p>`,
    "sorry.html": "<p>sorry {status}</p>",
    "class.html": "<p>class {status}</p>",
    "shop.html": "<p>shop {status} {reason}</p>",
    "site/a.txt": "a",
  },
});
afterAll(() => stopAll(gateway, origin));

const ask = (path: string, lines: readonly string[] = [BROWSER]): Promise<Reply> =>
  gateway.once(request(`GET ${path}`, lines));

describe("errors of the gateway", () => {
  test.each([
    ["/nowhere", 404, "not here: 404 Not Found id-7"],
    ["/files/x", 404, "shop 404 Not Found"],
    ["/shop/x", 502, "shop 502 Bad Gateway"],
    ["/other/x", 502, "sorry 502"],
    ["/plain/%zz", 400, "class 400"],
  ])("%s is %d with the page of the closest place", async (path, status, text) => {
    const reply = await ask(path, [BROWSER, "X-Request-Id: id-7"]);
    expect([reply.status, reply.fields.get("content-type")]).toEqual([status, "text/html; charset=utf-8"]);
    expect(reply.text).toContain(text);
    expect(reply.fields.get("x-request-id")).toBe("id-7");
    expect(reply.fields.get("vary")).toBe("Accept");
    expect(reply.fields.has("content-security-policy")).toBe(false);
    expect((await ask(path, [])).fields.get("content-type")).toBe("application/json");
  });

  test("keep their pages with compression, whatever a response is made of and however small", async () => {
    const packing = await startGateway({
      config: {
        server: {
          compression: { min_bytes: 0 },
          cache: { enabled: true, cookies: "share" },
          errors: { "4xx": "./class.html", "5xx": "./class.html" },
        },
      },
      routes: [
        {
          type: "static",
          prefix: "/files",
          dir: "site",
          headers: { response: { set: { "X-A": "{host}", "X-B": "b" } } },
        },
        { type: "static", prefix: "/bare", dir: "site" },
        upstream("/away", { url: "http://127.0.0.1:1" }),
        upstream("/closed", origin, { auth: { basic: { users_file: "users" } } }),
        upstream("/rated", origin, { rate_limit: { requests: 1, window: "1h" } }),
      ],
      files: {
        "class.html": "<p>class {status}</p>",
        "site/a.txt": "a",
        users: `a:${Bun.password.hashSync("x", { algorithm: "bcrypt", cost: 4 })}\n`,
      },
    });
    const lines = [BROWSER, "Accept-Encoding: gzip, br, zstd"];
    await packing.once(request("GET /rated/x", lines));
    for (const [path, status] of [
      ["/nowhere", 404],
      ["/files/x", 404],
      ["/bare/x", 404],
      ["/away/x", 502],
      ["/closed/x", 401],
      ["/rated/x", 429],
    ] as const) {
      const reply = await packing.once(request(`GET ${path}`, lines));
      expect([path, reply.status, reply.text, reply.fields.get("content-encoding")]).toEqual([
        path,
        status,
        `<p>class ${status}</p>`,
        null,
      ]);
    }
    await packing.stop();
  });

  test("braces of a page stay, and only three placeholders are filled in", async () => {
    expect((await ask("/nowhere")).text).toContain("<style>body{color:red}p{margin:0}{x}{path}{404}</style>");
  });

  test("a page that vanishes stays the one that was read", async () => {
    rmSync(join(gateway.folder, "sorry.html"));
    expect((await ask("/other/x")).text).toBe("<p>sorry 502</p>");
    writeFileSync(join(gateway.folder, "sorry.html"), "<p>new</p>");
    expect((await ask("/other/x")).text).toBe("<p>sorry 502</p>");
  });

  test("a reload takes the new page", async () => {
    writeFileSync(join(gateway.folder, "sorry.html"), "<p>new {status}</p>");
    expect((await gateway.reload()).ok).toBe(true);
    expect((await ask("/other/x")).text).toBe("<p>new 502</p>");
  });
});

/** Answers with a status and a body, and the fields of a representation. */
function answers(path: string, status: string, body: string, more: readonly string[] = []): void {
  origin.on(path, (call) => {
    call.reply(
      status,
      [
        "Content-Type: application/json",
        'ETag: "v1"',
        "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT",
        "Content-Language: de",
        "Set-Cookie: a=1",
        ...more,
      ],
      body,
    );
  });
}

describe("errors of an origin", () => {
  const secret = JSON.stringify({ trace: "secret ".repeat(50) });

  test("stay where intercept is not set", async () => {
    answers("/gone", "404 Not Found", secret);
    expect((await ask("/plain/gone")).text).toBe(secret);
  });

  test("get the page where it is, for browsers alone", async () => {
    answers("/lost", "404 Not Found", secret, ["Cache-Control: max-age=60", "WWW-Authenticate: Basic"]);
    const reply = await ask("/kept/lost", [BROWSER, "X-Request-Id: id-8"]);
    expect([reply.status, reply.fields.all("content-type")]).toEqual([404, ["text/html; charset=utf-8"]]);
    expect(reply.text).toContain("not here: 404 Not Found id-8");
    expect(reply.fields.all("content-length")).toEqual([String(Buffer.byteLength(reply.text))]);
    for (const name of ["etag", "last-modified", "content-language"]) expect(reply.fields.has(name)).toBe(false);
    expect(reply.fields.all("cache-control")).toEqual(["no-store"]);
    expect(reply.fields.all("vary")).toEqual(["Accept"]);
    expect(reply.fields.all("set-cookie")).toEqual(["a=1"]);
    expect(reply.fields.all("www-authenticate")).toEqual(["Basic"]);
    expect((await ask("/kept/lost", [])).text).toBe(secret);
  });

  test("without a page for their status stay, and so does everything below 400", async () => {
    answers("/fine", "200 OK", secret);
    answers("/moved", "302 Found", secret, ["Location: /x"]);
    expect((await ask("/kept/fine")).text).toBe(secret);
    expect((await ask("/kept/moved")).text).toBe(secret);
  });

  test("answer HEAD with the fields of the page and no body", async () => {
    answers("/lost", "404 Not Found", "");
    const whole = await ask("/kept/lost", [BROWSER, "X-Request-Id: id-9"]);
    const bare = await gateway.once(request("HEAD /kept/lost", [BROWSER, "X-Request-Id: id-9"]), "HEAD");
    expect([bare.status, bare.fields.get("content-length")]).toEqual([404, whole.fields.get("content-length")]);
    expect(bare.text).toBe("");
  });

  test("keep both connections: the origin's body is read to its end", async () => {
    answers("/lost", "404 Not Found", "x".repeat(20_000));
    const client = await gateway.connect();
    const before = origin.connections.length;
    for (let i = 0; i < 5; i++) {
      client.send(request("GET /kept/lost", [BROWSER]));
      expect((await client.reply()).text).toContain("not here");
    }
    client.close();
    expect(origin.connections.length - before).toBeLessThanOrEqual(1);
  });

  test("whose body is chunked, long or cut get the page all the same", async () => {
    origin.on("/chunks", (call) => {
      call.send("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Late: 1\r\n\r\n");
    });
    origin.on("/long", (call) => {
      call.send(`HTTP/1.1 404 Not Found\r\nContent-Length: 10000000\r\n\r\n${"y".repeat(200_000)}`);
    });
    origin.on("/cut", (call) => {
      call.send("HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\nhello");
      call.takeOver().close();
    });
    for (const path of ["chunks", "long", "cut"]) {
      const client = await gateway.connect();
      client.send(request(`GET /kept/${path}`, [BROWSER]));
      const reply = await client.reply();
      expect([path, reply.status, reply.text.includes("not here")]).toEqual([path, 404, true]);
      expect(reply.fields.has("transfer-encoding")).toBe(false);
      answers("/next", "200 OK", "next");
      client.send(request("GET /kept/next", [BROWSER]));
      expect([path, (await client.reply()).text]).toEqual([path, "next"]);
      client.close();
    }
    await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(1));
  });

  test("are kept by the cache as the origin gave them", async () => {
    for (const [path, browserFirst] of [
      ["/a", true],
      ["/b", false],
    ] as const) {
      origin.on(path, (call) => {
        call.reply(
          "404 Not Found",
          ["Content-Type: text/plain", "Cache-Control: max-age=60", 'ETag: "v2"'],
          "gone for good",
        );
      });
      const asPage = async (): Promise<void> => {
        const reply = await ask(`/cached${path}`);
        expect([reply.status, reply.text]).toEqual([404, "<p>shop 404 Not Found</p>"]);
        expect(reply.fields.has("etag")).toBe(false);
      };
      if (browserFirst) await asPage();
      const seen = origin.requests.length;
      const plain = await ask(`/cached${path}`, []);
      expect([plain.status, plain.text, plain.fields.get("etag")]).toEqual([404, "gone for good", '"v2"']);
      if (browserFirst) expect([origin.requests.length, plain.fields.get("x-cache")]).toEqual([seen, "HIT"]);
      await asPage();
      expect((await ask(`/cached${path}`, [])).text).toBe("gone for good");
      expect(origin.requests.length).toBe(browserFirst ? seen : seen + 1);
    }
  });

  test("a long one that is being stored is whole in the cache", async () => {
    const body = "z".repeat(300_000);
    origin.on("/large", (call) => {
      call.reply("404 Not Found", ["Content-Type: text/plain", "Cache-Control: max-age=60"], body);
    });
    expect((await ask("/cached/large")).text).toBe("<p>shop 404 Not Found</p>");
    expect((await ask("/cached/large", [])).text).toBe(body);
    expect((await ask("/cached/large")).text).toBe("<p>shop 404 Not Found</p>");
    expect((await ask("/cached/large", [])).text).toBe(body);
  });

  test("over HTTP/2 get the page, and the connection goes on", async () => {
    answers("/lost", "404 Not Found", secret);
    const client = await H2Client.connect(gateway.port);
    for (let i = 0; i < 3; i++) {
      const reply = await client.request(head("GET", "/kept/lost", [["accept", "text/html"]]));
      expect([reply.status, reply.text.includes("not here: 404")]).toEqual([404, true]);
      expect(reply.fields.get("content-length")).toBe(String(reply.body.length));
      expect(reply.reset).toBe(-1);
    }
    const bare = await client.request(head("HEAD", "/kept/lost", [["accept", "text/html"]]));
    expect([bare.status, bare.body.length]).toEqual([404, 0]);
    client.close();
  });
});

describe("the keys", () => {
  const faultsOf = async (server: object, files: Record<string, string> = {}): Promise<string> =>
    (await runEdge(["check", "--config", "config.yaml"], { config: { server }, files })).stderr;

  test.each([
    [
      { errors: { 404: "./missing.html" } },
      /config\.yaml:\d+:\d+: server\.errors\.404: expected a readable file, found "\.\/missing\.html": no such file/,
    ],
    [
      { errors: { 200: "./a.html" } },
      /server\.errors\.200: expected a status from 400 to 599, a class \(4xx or 5xx\), or intercept/,
    ],
    [{ errors: { 404: true } }, /server\.errors\.404: expected the name of an HTML file/],
    [{ errors: { intercept: "maybe" } }, /server\.errors\.intercept: expected true or false/],
    [{ errors: "./a.html" }, /server\.errors: expected "404: \.\/404\.html" lines/],
    [
      { errors: { 404: "./big.html" } },
      /server\.errors\.404: expected an HTML page, found "\.\/big\.html": it is larger than 262144 bytes/,
    ],
    [{ errors: { 404: "." } }, /server\.errors\.404: expected a readable file, found "\.": it is a folder/],
    [{ maintenance: "./missing.html" }, /server\.maintenance\.page: expected a readable file/],
    [{ maintenance: { allow: ["10.0.0.1/8"] } }, /server\.maintenance\.allow\[0\]/],
  ])("%j is an error with its place", async (server, fault) => {
    expect(await faultsOf(server, { "a.html": "a", "big.html": "b".repeat(262_145) })).toMatch(fault);
  });

  test("are listed as they can be read again", async () => {
    const { stdout } = await runEdge(["check", "--print", "--config", "config.yaml"], {
      config: { server: { errors: { 404: "./a.html", intercept: true }, maintenance: "./a.html" } },
      routes: [upstream("/a", origin, { errors: { "5xx": "a.html" }, maintenance: false })],
      files: { "a.html": "<p>content</p>" },
    });
    expect(stdout).toMatch(/errors:\n\s+"?404"?: \S+\/a\.html\n\s+intercept: true/);
    expect(stdout).toMatch(/errors:\n\s+5xx: \S+\/a\.html/);
    expect(stdout).toMatch(/page: \S+\/a\.html/);
    expect(stdout).toMatch(/maintenance:\n\s+enabled: false/);
    expect(stdout).not.toContain("content</p>");
  });
});
