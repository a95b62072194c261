// docs/routing.md#maps
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const [first, second, third] = [EchoOrigin.start(), EchoOrigin.start(), EchoOrigin.start()];
const routes = (backends: string) => ({
  maps: {
    tenant: { of: "{host}", file: "./tenants.csv", values: { "own.test": "fr\u00e4nk" }, default: "nobody" },
    backend: { of: "{map.tenant}", file: backends, default: first.url },
    site: {
      of: "{query.key}",
      any_case: true,
      values: { EXACT: "own" },
      networks: { "10.0.0.0/8": "wide", "10.1.0.0/16": "narrow", "2001:db8::/32": "six" },
      expressions: [
        { regex: "^www\\.", value: "www" },
        { regex: "(?i)^WWW", value: "second" },
        { regex: "^own=", value: "{query.own} {{x}} of {map.tenant}" },
      ],
      default: "none",
    },
    www: { of: "{host}", values: { "old.test": "www.new.test" } },
  },
  routes: [
    {
      type: "upstream",
      prefix: "/",
      target: "{map.backend}",
      headers: { request: { set: { "X-Tenant": "{map.tenant}" } } },
    },
    { type: "redirect", path: "/moved", to: "https://{map.www}{uri}" },
    {
      type: "upstream",
      prefix: "/seen",
      target: first.url,
      headers: {
        response: {
          set: {
            "X-Seen": "{upstream}|{response.header.X-Own}|{response.cookie.b}|{protocol}",
            "X-Port": "{client_port}",
          },
        },
      },
    },
    { type: "respond", path: "/site", body: "<{map.site}>" },
    { type: "respond", path: "/who", body: "<{map.tenant}|{{map.none}}>" },
  ],
});
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  files: {
    "routes.yaml": stringify(routes("./backends.csv")),
    "tenants.csv": 'a.test,alpha\nb.test,"b,eta"\nbroken\n*,star\n',
    "backends.csv": `alpha,${first.url}\n"b,eta",${second.url}\n`,
  },
});
afterAll(() => stopAll(gateway, first, second, third));

const ask = (path: string, host: string) =>
  gateway.once(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
const put = (name: string, text: string) => {
  writeFileSync(join(gateway.folder, "next"), text);
  renameSync(join(gateway.folder, "next"), join(gateway.folder, name));
};

test("a map looks at values, then networks, then expressions", async () => {
  const rows = [
    ["exact", "own"],
    ["10.1.2.3", "narrow"],
    ["10.2.2.3", "wide"],
    ["%3A%3Affff:10.1.2.3", "narrow"],
    ["2001:db8::1", "six"],
    ["11.1.1.1", "none"],
    ["www.a", "www"],
    ["Www", "second"],
    ["", "none"],
    ["w".repeat(4000), "second"],
    ["own=&own=mine", "mine {x} of alpha"],
  ];
  for (const [key, value] of rows) expect((await ask(`/site?key=${key}`, "a.test")).text).toBe(`<${value}>`);
});

test("fields of a response speak of it, of its target and of the connection", async () => {
  first.on("/own", (call) =>
    call.reply("200 OK", ["X-Own: one", "X-Own: two", "Set-Cookie: a=1", "Set-Cookie: b=x=y; Path=/"]),
  );
  const target = first.url.slice("http://".length);
  const { fields } = await ask("/seen/own", "a.test");
  expect(fields.get("x-seen")).toBe(`${target}|one, two|x=y|HTTP/1.1`);
  expect(Number(fields.get("x-port"))).toBeGreaterThan(1023);
  const http2 = await H2Client.connect(gateway.port);
  const id = http2.headers(head("GET", "/seen/own"));
  expect((await http2.reply(id)).fields.get("x-seen")).toBe(`${target}|one, two|x=y|HTTP/2.0`);
  http2.close();
});

describe("a map", () => {
  test("gives a value in every text", async () => {
    expect((await ask("/who", "A.test:80")).text).toBe("<alpha|{map.none}>");
    expect((await ask("/who", "b.test")).text).toBe("<b,eta|{map.none}>");
    expect((await ask("/who", "own.test")).text).toBe("<fr\u00e4nk|{map.none}>");
    expect((await ask("/who", "broken")).text).toBe("<nobody|{map.none}>");
    const { headers } = json<Echo>(await ask("/x", "a.test"));
    expect(headers["x-tenant"]).toBe("alpha");
    expect((await ask("/moved", "old.test")).fields.get("location")).toBe("https://www.new.test/moved");
    expect((await ask("/moved", "other.test")).status).toBe(400);
  });

  test("chooses the target", async () => {
    const before = [first.requests.length, second.requests.length];
    for (const host of ["a.test", "b.test", "b.test", "none.test"]) expect((await ask("/x", host)).status).toBe(200);
    expect([first.requests.length - before[0]!, second.requests.length - before[1]!]).toEqual([2, 2]);
    const targets = await gateway.samples();
    expect(
      targets.some(({ labels }) => Object.values(labels).some((value) => String(value).includes(second.url))),
    ).toBe(true);
  });

  test("is taken up when its file is replaced, with targets that are new", async () => {
    put("tenants.csv", "a.test,omega\nc.test,gamma\n");
    await eventually(async () => {
      for (let i = 0; i < 8; i++) expect((await ask("/who", "a.test")).text).toBe("<omega|{map.none}>");
    });
    expect(gateway.logs.json.some(({ event }) => event === "config_reload")).toBe(false);
    put("backends.csv", `gamma,${third.url}\n`);
    await eventually(async () => {
      const before = third.requests.length;
      for (let i = 0; i < 8; i++) expect((await ask("/x", "c.test")).status).toBe(200);
      expect(third.requests.length).toBe(before + 8);
    });
  });
});

describe("edge check", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-maps-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const check = async (
    maps: object,
    route: object = { type: "respond", prefix: "/", body: "x" },
    ...args: string[]
  ) => {
    writeFileSync(join(folder, "config.yaml"), "server:\n  port: 0\n");
    writeFileSync(join(folder, "routes.yaml"), stringify({ maps, routes: [route] }));
    const { code, stdout, stderr } = await runProcess([EDGE_BINARY, "check", ...args], {
      cwd: folder,
      timeout: 60_000,
    });
    return `${code} ${stdout}${stderr}`;
  };
  const upstream = { type: "upstream", prefix: "/", target: "{map.b}" };

  test("finds maps that lead round, unknown ones and values that are no targets", async () => {
    const values = { x: "y" };
    expect(await check({ a: { of: "{map.a}", values } })).toMatch(/^1 .*maps\.a\.of: leads round: a → a/s);
    expect(
      await check({ a: { of: "{map.b}", values }, b: { of: "x{map.c}", values }, c: { of: "{map.a}", values } }),
    ).toMatch(/^1 .*leads round: a → b → c → a/s);
    expect(await check({}, { type: "respond", prefix: "/", body: "{map.none}" })).toMatch(
      /^1 .*unknown placeholder \{map\.none\}/s,
    );
    expect(await check({ a: { of: "{host}" } })).toMatch(/^1 .*maps\.a: needs values or file/s);
    expect(await check({ a: { of: "{host}", networks: { "10.0.0.1/8": "x" } } })).toMatch(
      /^1 .*maps\.a\.networks\."10\.0\.0\.1\/8": the address has bits/s,
    );
    expect(await check({ a: { of: "{host}", expressions: [{ regex: "(a)\\1", value: "x" }] } })).toMatch(
      /^1 .*expected an expression that takes linear time/s,
    );
    const open = { a: { of: "{host}", values, default: "{host}" } };
    expect(await check(open, { type: "redirect", prefix: "/", to: "https://x.{map.a}/" })).toMatch(
      /^1 .*routes\[0\]\.to: values of \{map\.a\} have placeholders/s,
    );
    expect(await check({ a: { of: "{host}", values: { x: "{map.b}" } }, b: { of: "{map.a}", values } })).toMatch(
      /^1 .*leads round: a → b → a/s,
    );
    const many = Array.from({ length: 101 }, (_, i) => ({ regex: `^${i}$`, value: "x" }));
    expect(await check({ a: { of: "{host}", expressions: many } })).toMatch(/^1 .*has more than 100: use values/s);
    expect(await check({ b: { of: "{host}", values } }, upstream)).toMatch(/^1 .*\{map\.b\} needs a default/s);
    expect(await check({ b: { of: "{host}", values: { x: "ftp://a" }, default: "http://a" } }, upstream)).toMatch(
      /^1 .*a value \(of "x"\) that is no target/s,
    );
    expect(
      await check({ b: { of: "{host}", values: { x: "http://a" }, default: "http://b:1" } }, upstream, "--print"),
    ).toMatch(/^0 .*target: "?\{map\.b\}/s);
  });

  test("warns of broken lines at their place", async () => {
    writeFileSync(join(folder, "m.csv"), 'a,b\na,c\nd\n"e,f\ng,h\n');
    const text = await check({ a: { of: "{host}", file: "./m.csv" } });
    expect(text).toMatch(/^0 /);
    expect([...text.matchAll(/^(?:0 )?m\.csv:(\d+):1: /gm)].map(([, line]) => Number(line))).toEqual([2, 3, 4]);
  });
});
