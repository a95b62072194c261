// docs/answers.md#lists
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const LINES = [
  "/old,/new",
  "/moved,https://www.example.com/a?b=c&d,301",
  '"/with,comma","/a""b",302',
  "# a comment",
  "",
  "old.example.com/,https://www.example.com/,307",
  "https://old.example.com/shop,https://shop.example.com/,303",
  "/caf\u00e9,/k\u00fcche",
  "/dots/../deep//path,/found",
  "/exact,/never",
  "/shop/listed,/out-of-the-shop",
  "/broken",
  "/old,/again",
  "/status,/x,299",
  "/away,//evil.example",
  "/script,javascript:alert(1)",
  '/open,"/x',
  "/same,/same",
  "a b,/x",
  "/?q,/x",
  "/many,/x,301,4",
  "/last,/end",
];
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const gateway = await startGateway({
  config: { server: { workers: 2, tls: { port, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } } },
  routes: [
    { type: "redirect", list: "./redirects.csv" },
    { type: "redirect", list: "./tenant.csv", host: ["tenant.example.com"], status: 302 },
    { type: "redirect", prefix: "/below", list: "./below.csv", methods: ["GET"] },
    { type: "respond", path: "/exact", body: "exact" },
    { type: "respond", prefix: "/shop", body: "shop" },
    { type: "respond", prefix: "/", body: "site" },
  ],
  files: {
    "redirects.csv": LINES.join("\r\n"),
    "tenant.csv": "/old,/of-the-tenant\n",
    "below.csv": "/below/a,/b\n/elsewhere,/b\n",
    "a.pem": certificate.cert,
    "a.key": certificate.key,
  },
});
afterAll(() => stopAll(gateway));

async function ask(start: string, ...lines: readonly string[]) {
  const reply = await gateway.once(request(start, lines));
  return [reply.status, reply.fields.get("location") ?? reply.text];
}
const asHost = (path: string, host: string) =>
  gateway.once(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

describe("a list of redirects", () => {
  test.each([
    ["GET /old", 308, "/new"],
    ["GET /old?q=1", 308, "/new"],
    ["POST /old", 308, "/new"],
    ["GET /%6fld", 308, "/new"],
    ["GET /x/../old", 308, "/new"],
    ["GET //old", 308, "/new"],
    ["GET /moved", 301, "https://www.example.com/a?b=c&d"],
    ["GET /with,comma", 302, '/a"b'],
    ["GET /caf%C3%A9", 308, "/k%C3%BCche"],
    ["GET /deep/path", 308, "/found"],
    ["GET /shop/listed", 308, "/out-of-the-shop"],
    ["GET /last", 308, "/end"],
    ["GET /below/a", 308, "/b"],
  ])("%s leads on", async (start, status, location) => {
    expect(await ask(start)).toEqual([status, location]);
  });

  test.each([
    ["GET /exact", "exact"],
    ["GET /shop/other", "shop"],
    ["GET /old/", "site"],
    ["GET /old/x", "site"],
    ["GET /OLD", "site"],
    ["GET /", "site"],
    ["GET /broken", "site"],
    ["GET /status", "site"],
    ["GET /away", "site"],
    ["GET /same", "site"],
    ["GET /elsewhere", "site"],
    ["POST /below/a", "site"],
  ])("%s goes on to the next route", async (start, body) => {
    expect(await ask(start)).toEqual([200, body]);
  });

  test("goes by host in its lines, and as a route", async () => {
    const seen = async (path: string, host: string) => {
      const { status, fields, text } = await asHost(path, host);
      return [status, fields.get("location") ?? text];
    };
    expect(await seen("/", "old.example.com")).toEqual([307, "https://www.example.com/"]);
    expect(await seen("/", "OLD.example.com:80")).toEqual([307, "https://www.example.com/"]);
    expect(await seen("/shop", "old.example.com")).toEqual([303, "https://shop.example.com/"]);
    expect(await seen("/shop", "other.example.com")).toEqual([200, "shop"]);
    expect(await seen("/old", "tenant.example.com")).toEqual([302, "/of-the-tenant"]);
    expect(await seen("/moved", "tenant.example.com")).toEqual([301, "https://www.example.com/a?b=c&d"]);
  });

  test("holds over HTTP/2 and HTTP/3", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.reply(h2.headers(head("GET", "/old")));
    expect([reply.status, reply.fields.get("location")]).toEqual([308, "/new"]);
    h2.close();
    const h3 = await H3Client.connect(port);
    const { status, fields } = await h3.ask("GET", "/moved");
    expect([status, fields.location]).toEqual([301, "https://www.example.com/a?b=c&d"]);
    h3.close();
  });

  test("is taken up when its file is replaced, without a reload and for all workers", async () => {
    const put = (text: string) => {
      writeFileSync(join(gateway.folder, "next.csv"), text);
      renameSync(join(gateway.folder, "next.csv"), join(gateway.folder, "redirects.csv"));
    };
    put("/old,/newest\n/fresh,/x,301\nbroken\n");
    await eventually(async () => {
      for (let i = 0; i < 8; i++) expect(await ask("GET /old")).toEqual([308, "/newest"]);
    });
    expect(await ask("GET /fresh")).toEqual([301, "/x"]);
    expect(await ask("GET /moved")).toEqual([200, "site"]);
    const line = await gateway.log("list_reload", ({ event, ok }) => event === "list_reload" && ok === true);
    expect(line).toMatchObject({
      list: "redirects",
      entries: 2,
      broken_lines: 1,
      broken: [expect.stringMatching(/^3: /)],
    });
    // One that cannot be read leaves the one before.
    rmSync(join(gateway.folder, "redirects.csv"));
    await gateway.log("list_reload false", ({ event, ok }) => event === "list_reload" && ok === false);
    expect(await ask("GET /fresh")).toEqual([301, "/x"]);
    put("/fresh,/y\n");
    await eventually(async () => {
      for (let i = 0; i < 8; i++) expect(await ask("GET /fresh")).toEqual([308, "/y"]);
    });
    expect(gateway.logs.json.some(({ event }) => event === "config_reload")).toBe(false);
  });
});

describe("edge check", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-lists-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const edge = async (routes: string, ...args: string[]) => {
    writeFileSync(join(folder, "config.yaml"), "server:\n  port: 0\n");
    writeFileSync(join(folder, "routes.yaml"), routes);
    const { code, stdout, stderr } = await runProcess([EDGE_BINARY, ...args], { cwd: folder, timeout: 60_000 });
    return { code, text: stdout + stderr };
  };

  test("warns of each broken and repeated line at its place", async () => {
    writeFileSync(join(folder, "redirects.csv"), LINES.join("\n"));
    const { code, text } = await edge("- {type: redirect, list: ./redirects.csv}\n", "check");
    expect(code).toBe(0);
    const places = [...text.matchAll(/^redirects\.csv:(\d+):1: (.*?); this line is left out \(warning\)$/gm)];
    expect(places.map(([, line]) => Number(line))).toEqual([12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    expect(places[1]![2]).toBe("repeats line 1, which serves");
  });

  test("explains a path of a list, and shows it as it is written", async () => {
    const explained = await edge("- {type: redirect, list: ./redirects.csv}\n", "explain", "/moved");
    expect(explained.text).toContain("301");
    expect(explained.text).toContain("https://www.example.com/a?b=c&d");
    expect((await edge("- {type: redirect, list: ./redirects.csv}\n", "check", "--print")).text).toContain(
      "redirects.csv",
    );
  });

  test.each([
    ["- {type: redirect, list: ./none.csv}", "routes[0].list: expected a readable file"],
    ["- {type: redirect, list: ./redirects.csv, to: /x}", "routes[0].to: a redirect has either to or list"],
    ["- {type: redirect, list: ./redirects.csv, path: /x}", "routes[0].path: has no place beside list"],
    ["- {type: redirect, list: ./redirects.csv, regex: ^/a}", "routes[0].regex: has no place beside list"],
    ["- {type: redirect, prefix: /a}", "routes[0].to: missing: expected where to"],
  ])("finds the fault in %s", async (routes, message) => {
    const { code, text } = await edge(`${routes}\n`, "check");
    expect(code).toBe(1);
    expect(text).toContain(message);
  });
});

test("200,000 lines are ready at once, and each is found", async () => {
  const many = Array.from({ length: 200_000 }, (_, i) => `/articles/${i}/an-old-title-${i % 977},/posts/${i},301`);
  const large = await startGateway({
    config: { server: { workers: 2 } },
    routes: [
      { type: "redirect", list: "many.csv" },
      { type: "respond", prefix: "/", body: "site" },
    ],
    files: { "many.csv": many.join("\n") },
  });
  for (const i of [0, 1, 99_999, 199_999]) {
    const reply = await large.once(request(`GET /articles/${i}/an-old-title-${i % 977}`));
    expect([reply.status, reply.fields.get("location")]).toEqual([301, `/posts/${i}`]);
  }
  expect((await large.once(request("GET /articles/200000/an-old-title-0"))).text).toBe("site");
  await large.stop();
}, 30_000);
