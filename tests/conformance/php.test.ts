// A site in php-fpm behind the gateway, and beside it nginx before the same php-fpm. docs/php.md
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { exchangeOnce, type Reply, request } from "../harness/raw-client.ts";
import { findPhpFpm, PhpSite } from "./php-fpm.ts";

const fpm = findPhpFpm();
const site = fpm === null ? null : await PhpSite.start(fpm);
const gateway: Gateway | null =
  site === null
    ? null
    : await startGateway({
        config: { server: { workers: 1, waf: { enabled: false }, max_body_bytes: "64MiB" } },
        routes: [
          {
            type: "upstream",
            prefix: "/",
            target: `fastcgi://unix:${site.socket}`,
            health_check: { path: "/ping", interval: "2s" },
            fastcgi: { root: site.root, env: { APP_ENV: "test" } },
          },
          {
            type: "upstream",
            prefix: "/kept",
            target: `fastcgi://unix:${site.socket}`,
            fastcgi: { root: site.root, keep_connections: 1 },
          },
          {
            type: "upstream",
            prefix: "/guarded",
            target: `fastcgi://unix:${site.socket}`,
            fastcgi: { root: site.root, no_scripts: ["/wp-content/uploads"] },
          },
        ],
      });
afterAll(async () => {
  await gateway?.stop();
  await site?.stop();
});

const ask = (start: string, lines: readonly string[] = [], body?: string | Uint8Array): Promise<Reply> =>
  gateway!.once(request(start, lines, body), start.split(" ", 1)[0]);

const BOUNDARY = "b0undary";
const upload = (bytes: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="title"\r\n\r\na title\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="x.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    bytes,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
const MULTIPART = `Content-Type: multipart/form-data; boundary=${BOUNDARY}`;
const FORM = "Content-Type: application/x-www-form-urlencoded";

/** What both must answer alike: method and path, lines, body. */
const BENIGN: readonly (readonly [start: string, lines?: readonly string[], body?: string | Buffer])[] = [
  ["GET /"],
  ["HEAD /"],
  ["GET /?p=12&x[]=1&x[]=2"],
  ["GET /2026/11/a-post/?preview=true", ["Cookie: a=1; b=2", "Accept-Language: de"]],
  ["GET /a%20b/%C3%A9", ["X-Custom: one"]],
  ["GET /index.php"],
  ["GET /index.php/2026/post?x=1"],
  ["GET /wp-admin"],
  ["GET /wp-admin/"],
  ["GET /wp-admin/admin-ajax.php?action=x"],
  ["POST /wp-admin/admin-ajax.php", [FORM], "action=heartbeat&data%5Ba%5D=1"],
  ["GET /wp-content/plugins/tool/run.php/a/b?c=d"],
  ["GET /wp-content/plugins/tool/run.php/"],
  ["GET /style.css"],
  ["GET /wp-content/uploads/picture.gif"],
  ["GET /missing-page"],
  ["GET /old-page"],
  ["GET /moved"],
  ["GET /private"],
  ["GET /private", [`Authorization: Basic ${Buffer.from("alice:x").toString("base64")}`]],
  ["GET /cookies", ["Cookie: k=v"]],
  ["GET /none.php"],
  ["GET /wp-content/none.php/x"],
  ["POST /form.php", [FORM], "name=Zo%C3%AB&list[]=1&list[]=2"],
  ["POST /form.php", [MULTIPART], upload(Buffer.alloc(300_000, "binary\0\xff"))],
  ["PUT /form.php", ["Content-Type: application/json"], '{"a":1}'],
  ["DELETE /form.php"],
  ["GET /long.php?bytes=300000"],
  ["GET /long.php?bytes=70000&length=1"],
  ["GET /pretty.d/"],
];

/** Without what each gateway says of itself, and what is only told of by one. */
function comparable({ status, fields, text, body }: Reply): object {
  const kept = ["location", "content-type", "set-cookie", "www-authenticate"].map((name) => [name, fields.all(name)]);
  // Pages that each has for itself, and the names that each gives to types of files.
  if (!fields.has("x-powered-by")) return { status, isOwn: true, length: status === 200 ? body.length : -1 };
  let shown: unknown = createHash("sha1").update(body).digest("hex");
  if (text.startsWith('{"script"')) {
    const seen = JSON.parse(text);
    // nginx has no PATH_TRANSLATED in its defaults, and says the length twice.
    delete seen.server.PATH_TRANSLATED;
    delete seen.server.HTTP_CONTENT_LENGTH;
    shown = seen;
  }
  return { status, fields: Object.fromEntries(kept), shown };
}

describe.skipIf(site === null)("php-fpm", () => {
  for (const [start, lines = [], body] of BENIGN) {
    test.skipIf(site?.nginxPort === 0)(`${start} is answered as behind nginx`, async () => {
      const bytes = request(start, lines, body);
      const method = start.split(" ", 1)[0];
      const [ours, theirs] = await Promise.all([
        exchangeOnce(gateway!.port, bytes, method),
        exchangeOnce(site!.nginxPort, bytes, method),
      ]);
      expect(comparable(ours)).toEqual(comparable(theirs));
    });
  }

  test("uploads arrive whole, in chunks too, and large ones", async () => {
    const bytes = Buffer.alloc(12_000_000, "0123456789");
    const sha1 = createHash("sha1").update(bytes).digest("hex");
    const reply = await ask("PUT /form.php", ["Content-Type: application/x-test"], bytes);
    expect(JSON.parse(reply.text)).toMatchObject({ bytes: bytes.length, sha1, length: String(bytes.length) });
    const piece = Buffer.concat([
      Buffer.from("2dc6c0\r\n"),
      bytes.subarray(0, 3_000_000),
      Buffer.from("\r\n0\r\n\r\n"),
    ]);
    const head = "PUT /form.php HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    const chunked = JSON.parse((await gateway!.once(Buffer.concat([Buffer.from(head), piece]))).text);
    expect(chunked).toMatchObject({ bytes: 3_000_000, length: "3000000" });
  });

  test("flushed lines come at once", async () => {
    const go = join(site!.folder, "go");
    const client = await gateway!.connect();
    client.send(request(`GET /flush.php?go=${go}`));
    await client.until("the first line", () => (client.peek().includes("first\n") ? true : undefined));
    writeFileSync(go, "");
    expect((await client.reply()).text).toBe("first\nsecond\n");
    client.close();
  });

  test("a fatal error is a 500 and a line of the log, without its control characters", async () => {
    const reply = await ask("GET /fatal.php");
    expect(reply.status).toBe(500);
    const line = await gateway!.log("the error", ({ event }) => event === "script_errors");
    expect(line).toMatchObject({ script: "/fatal.php", request_id: reply.fields.get("x-request-id") });
    expect(line.text).toMatch(
      /a note of the script with \[31mcolour and a second line.*undefined function no_such_function/,
    );
  });

  test("a script whose client leaves is aborted", async () => {
    const note = join(site!.folder, "note");
    const client = await gateway!.connect();
    client.send(request(`GET /slow.php?note=${note}`));
    await client.until("output", () => (client.unread > 20_000 ? true : undefined));
    client.reset();
    await eventually(() => expect(existsSync(note) && readFileSync(note, "utf8")).toBe("aborted"));
  });

  test("kept connections serve one request after the other, scripts that fail too", async () => {
    const client = await gateway!.connect();
    const statuses: number[] = [];
    for (let i = 0; i < 30; i++) {
      const path = ["/kept/index.php", "/kept/fatal.php", "/kept/long.php?bytes=100000"][i % 3]!;
      statuses.push((await client.exchange(request(`GET ${path}`))).status);
    }
    expect(statuses).toEqual(Array.from({ length: 30 }, (_, i) => [200, 500, 200][i % 3]!));
    client.close();
  });

  test("its own ping says that it is healthy", () =>
    eventually(async () => expect(await gateway!.metric("gateway_upstream_healthy")).toBeGreaterThan(0)));
});

// Whether nginx with the configuration above runs or shows them is said beside: what matters is that this gateway does not.
const ATTACKS: readonly string[] = [
  "/wp-content/uploads/picture.gif/x.php",
  "/wp-content/uploads/picture.gif/.php",
  "/wp-content/uploads/picture.gif%2fx.php",
  "/wp-content/uploads/picture.gif%00.php",
  "/wp-content/uploads/picture.gif%20.php",
  "/wp-content/uploads/picture.gif/index.php/x.php",
  "/picture.php",
  "/picture.php/x",
  "/old.PHP",
  "/old.PHP/x",
  "/OLD.php",
  "/INDEX.PHP",
  "/index.php.",
  "/index.php%20",
  "/index.php%00.gif",
  "/index.php;.gif",
  "/index.php::$DATA",
  "/index.php%2egif",
  "/wp-config.php.bak",
  "/wp-config.php~",
  "/wp-config.php%7e",
  "/page.phtml",
  "/source.txt",
  "/.env.php",
  "/%2eenv.php",
  "/wp-admin/..%2f..%2fetc/passwd",
  "/wp-admin/%2e%2e/%2e%2e/fpm.conf",
  "/..%2ffpm.conf",
  "//index.php//",
  "/index.php/../old.PHP",
  "/style.css/../page.phtml",
];

describe.skipIf(site === null)("attacks", () => {
  for (const path of ATTACKS) {
    test(`${path} shows no source and runs no picture`, async () => {
      for (const one of [path, `${path}?x=1`]) {
        const { status, text } = await ask(`GET ${one}`);
        expect([one, /<\?php|\$secret|listen = |root:/.test(text), text.includes("RUN:picture")]).toEqual([
          one,
          false,
          false,
        ]);
        expect([200, 301, 400, 403, 404]).toContain(status);
        // What runs is a script of the site that is meant to.
        if (text.startsWith('{"script"')) expect(JSON.parse(text).script).toBe("index.php");
      }
    });
  }

  test("no script runs where clients upload, and its source is no file", async () => {
    expect((await ask("GET /wp-content/uploads/shell.php")).text).toBe("RUN:upload");
    for (const path of ["/shell.php", "/shell.php/x", "/./shell.php", "//shell.php", "/shell.PHP"]) {
      const { status, text } = await ask(`GET /guarded/wp-content/uploads${path}`);
      expect([path, status, /RUN|<\?php/.test(text)]).toEqual([path, 404, false]);
    }
  });

  test("fields of clients set no variable but their own", async () => {
    const lines = [
      "Proxy: http://evil.test",
      "X_Under_Score: 1",
      "X-Under.Score: 1",
      "PHP_VALUE: auto_prepend_file=/etc/passwd",
    ];
    const { server } = JSON.parse((await ask("GET /", lines)).text);
    expect(["HTTP_PROXY", "HTTP_X_UNDER_SCORE", "PHP_VALUE"].filter((name) => name in server)).toEqual([]);
  });
});
