// What decides by a path, or is told of it, is shown the path by which the route was chosen. docs/security.md#one-path
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const FUNCTION = `export default { fetch: (request, ctx) => Response.json({ url: request.url, raw: ctx.rawTarget }) };`;
const HOOK = `export default {
  onRequest(request, ctx) {
    const { pathname, host } = new URL(request.url);
    if (host !== "gw.test" && !host.startsWith("localhost")) return new Response("host", { status: 500 });
    if (pathname.startsWith("/h/admin") || pathname.startsWith("/admin")) return new Response(ctx.rawTarget, { status: 403 });
  },
};`;
const ASKING = `export default { fetch: (request, ctx) => ctx.upstream(request) };`;

const root = mkdtempSync(join(tmpdir(), "edge-one-path-"));
writeFileSync(join(root, "index.php"), "<?php");
writeFileSync(join(root, "tool.php"), "<?php");
const origin = EchoOrigin.start();
const scripts = FastCgiOrigin.start();
for (const path of ["/p/admin/z", "/p/tool.php/admin/z"])
  scripts.on(path, (call) =>
    call.respond(`Content-Type: application/json\r\n\r\n${JSON.stringify(Object.fromEntries(call.params))}`),
  );
const service = ScriptedOrigin.start();
service.otherwise((call) => {
  const isAdmin = call.request.fields.get("x-forwarded-uri")!.startsWith("/a/admin");
  call.reply(isAdmin ? "403 Forbidden" : "200 OK", [], "");
});
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const pair = Array.from({ length: 4 }, () => EchoOrigin.start());
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      waf: { enabled: false },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true },
    },
  },
  routes: [
    { type: "function", prefix: "/f", module: "./f.ts", target: origin.url, cache: false },
    { type: "function", prefix: "/ask", module: "./ask.ts", target: origin.url, cache: false },
    upstream("/h", origin, { hooks: "./h.ts", cache: false }),
    upstream("/", origin, { hooks: "./h.ts", cache: false }),
    { type: "upstream", prefix: "/p", target: scripts.url, fastcgi: { root }, cache: false },
    upstream("/a", origin, { auth: { forward: { url: `http://127.0.0.1:${service.port}/check` } }, cache: false }),
    {
      type: "upstream",
      prefix: "/u",
      targets: pair.map((one) => ({ url: one.url })),
      load_balancing: { policy: "uri_hash" },
      cache: false,
    },
    {
      type: "redirect",
      prefix: "/r",
      to: "https://new.test{path}",
      headers: { response: { set: { "X-Raw": "{raw_uri}" } } },
    },
  ],
  files: { "f.ts": FUNCTION, "ask.ts": ASKING, "h.ts": HOOK, "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(async () => {
  await stopAll(gateway, origin, scripts, service, ...pair);
  rmSync(root, { recursive: true, force: true });
});

/** Spellings of `/X/admin/z`. */
const spellings = (x: string): readonly string[] => [
  `/${x}/admin/z`,
  `//${x}/admin/z`,
  `///${x}//admin///z`,
  `/\\${x}/admin/z`,
  `/%5c${x}/admin/z`,
  `/${x}\\admin\\z`,
  `/${x}%5Cadmin%5cz`,
  `/${x}/y/../admin/z`,
  `/${x}/y/..%2fadmin/z`,
  `/${x}/y%2F..%2fadmin%2Fz`,
  `/${x}/y/%2e%2E/admin/z`,
  `/${x}/.;/admin/z`,
  `/${x}/y/..;a=b/admin/z`,
  `/${x}/.%3b/admin/z`,
  `/${x}/%61dmin/z`,
  `/${x}/%61%64%6D%69%6e/%7a`,
  `/y/../${x}/admin/z`,
  `/y/..%5c${x}/admin/z`,
];

type Asked = { readonly status: number; readonly text: string };
const ways: readonly (readonly [string, (path: string) => Promise<Asked>])[] = [
  ["HTTP/1.1", async (path) => gateway.once(request(`GET ${path}`))],
  ["HTTP/1.1, absolute form", async (path) => gateway.once(request(`GET http://gw.test${path}`))],
  // A connection whose client has much refused is ended: each request has its own.
  [
    "HTTP/2",
    async (path) => {
      const client = await H2Client.connect(gateway.port);
      const target = [":path", path] as const;
      const reply = await client.request([[":method", "GET"], [":scheme", "http"], target, [":authority", "gw.test"]]);
      client.close();
      return { status: reply.status, text: reply.body.toString() };
    },
  ],
  [
    "HTTP/3",
    async (path) => {
      const client = await H3Client.connect(port);
      const reply = await client.ask("GET", path);
      client.close();
      return { status: reply.status, text: reply.body.toString() };
    },
  ],
];

describe.each(ways)("over %s", (name, ask) => {
  test("a function's URL has the path by which the route was chosen, its context the target as it came", async () => {
    for (const path of spellings("f")) {
      const { status, text } = await ask(`${path}?q=//a/..%2f`);
      const { url, raw } = status === 200 ? JSON.parse(text) : { url: text, raw: "" };
      const { pathname, search } = new URL(url);
      expect([path, status, pathname, search]).toEqual([path, 200, "/f/admin/z", "?q=//a/..%2f"]);
      expect(raw).toBe(`${name.endsWith("form") ? "http://gw.test" : ""}${path}?q=//a/..%2f`);
    }
  });

  test("a hook that denies a path is passed by no spelling of it", async () => {
    const seen = origin.requests.length;
    for (const path of spellings("h")) expect([path, (await ask(path)).status]).toEqual([path, 403]);
    for (const path of [
      "//admin",
      "/x/..%2fadmin",
      "/.;/admin",
      "/\\admin",
      "/%61dmin",
      "/admin%2fz",
      "//gw.test/../admin",
    ])
      expect([path, (await ask(path)).status]).toEqual([path, 403]);
    expect(origin.requests.length).toBe(seen);
    expect((await ask("//h/other")).status).toBe(200);
  });

  test("a script's REQUEST_URI is that path, whatever PHP makes of a host in its place", async () => {
    let asked = 0;
    for (const path of spellings("p")) {
      const { status, text } = await ask(`${path}?a=b`);
      // Some that lead out of the folder, or into it otherwise than by slashes, are refused: what is refused decides nothing.
      if (status === 403) continue;
      asked++;
      const params = JSON.parse(text);
      expect([path, params.REQUEST_URI, params.PATH_INFO]).toEqual([path, "/p/admin/z?a=b", ""]);
      expect(params.REQUEST_URI_RAW.endsWith(`${path}?a=b`)).toBe(true);
    }
    for (const path of spellings("p/tool.php")) {
      const { status, text } = await ask(path);
      if (status === 403) continue;
      asked++;
      const params = JSON.parse(text);
      expect([path, params.REQUEST_URI]).toEqual([path, "/p/tool.php/admin/z"]);
      // A name on the disk may hold a backslash: what is no script is the front controller's.
      if (params.SCRIPT_NAME === "/p/tool.php") expect([path, params.PATH_INFO]).toEqual([path, "/admin/z"]);
      else expect([path, params.SCRIPT_NAME, params.PATH_INFO]).toEqual([path, "/p/index.php", ""]);
    }
    expect(asked).toBeGreaterThan(20);
  });

  test("an authentication service judges that path", async () => {
    for (const path of spellings("a")) expect([path, (await ask(path)).status]).toEqual([path, 403]);
    expect((await ask("//a/other")).status).toBe(200);
  });

  test("uri_hash sends every spelling of a path to one target", async () => {
    const before = pair.map(({ requests }) => requests.length);
    for (const path of [...spellings("u"), "/u/admin/z?", "/u/admin/z#x"]) {
      if (name !== "HTTP/1.1" && path.includes("#")) continue;
      expect([path, (await ask(path)).status]).toEqual([path, 200]);
    }
    expect(pair.filter(({ requests }, i) => requests.length > before[i]!)).toHaveLength(1);
  });
});

test("what a function sends on untouched goes upstream as the client wrote it", async () => {
  const ask = async (path: string) => json<Echo>(await gateway.once(request(`GET ${path}`))).target;
  expect(await ask("/ask/@scope%2fname?x=%2f")).toBe("/@scope%2fname?x=%2f");
  expect(await ask("//ask//a/../b%20c")).toBe("/b%20c");
});

test("redirects lead to the path as it goes upstream; {raw_uri} is what was written", async () => {
  const reply = await gateway.once(request("GET //r/x/../a%2Fb?q"));
  expect([reply.fields.get("location"), reply.fields.get("x-raw")]).toEqual([
    "https://new.test/r/a%2Fb",
    "//r/x/../a%2Fb?q",
  ]);
});

test("rules see a path as it was written and as the route was chosen by it", async () => {
  const rules = [
    "SecRuleEngine On",
    'SecRule REQUEST_URI "@beginsWith /s/uri" "id:1,phase:1,deny,status:406"',
    'SecRule REQUEST_FILENAME "@streq /s/file" "id:2,phase:1,deny,status:406"',
    'SecRule REQUEST_BASENAME "@streq base" "id:3,phase:1,deny,status:406"',
    'SecRule REQUEST_URI "@contains %2f" "id:4,phase:1,deny,status:409"',
    'SecRule REQUEST_URI_RAW "@beginsWith //" "id:5,phase:1,deny,status:410"',
  ];
  const ruled = await startGateway({
    config: { server: { workers: 1, waf: { enabled: true, rules: ["./own.conf"] } } },
    routes: [upstream("/", origin)],
    files: { "own.conf": rules.join("\n") },
  });
  const cases: readonly (readonly [string, number])[] = [
    ["/s/uri?x", 406],
    ["/s/./uri", 406],
    ["/s/%75ri", 406],
    ["/s//uri", 406],
    ["/s/x/..;/uri", 406],
    ["/s\\uri", 406],
    ["/s//file", 406],
    ["/x/../s/file", 406],
    ["/s/base", 406],
    ["/s\\%62ase", 406],
    ["/s/a%2fb", 409],
    ["//s/other", 410],
    ["/s/other", 200],
  ];
  for (const [path, status] of cases) {
    expect([path, (await ruled.once(request(`GET ${path}`))).status]).toEqual([path, status]);
  }
  await ruled.stop();
});
