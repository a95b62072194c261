// docs/upstreams.md#health-checks: host, method, headers, port and body of a health check, over every protocol of origins.
import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { namedOrigins } from "./named-origins.ts";

const GOOD = '{"status": "ok", "name": "é"}\n';
const BAD = '{"status": "bad"}\n';
const [web, spare, silent, closing, second, twin] = namedOrigins(
  "web",
  "spare",
  "silent",
  "closing",
  "second",
  "twin",
) as [ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin];
const probed = ScriptedOrigin.start();
let body = GOOD;
let framing: "length" | "chunked" | "close" | "endless" = "length";
probed.on("/health", async (call) => {
  if (call.request.fields.get("authorization") !== "Bearer secret-of-probes") return call.reply("401 Unauthorized");
  if (framing === "length") return call.reply("200 OK", [], body);
  if (framing === "close") return call.sendAndFinish(Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${body}`));
  call.takeOver();
  const chunks = [...body].map((one) => `${Buffer.byteLength(one).toString(16)}\r\n${one}\r\n`).join("");
  call.send(Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`));
  if (framing === "chunked") call.send("0\r\n\r\n");
  // The bound ends the wait for a body that does not.
  else for (let i = 0; i < 70; i++) call.send(`400\r\n${"x".repeat(1024)}\r\n`);
});
silent.on("/health", (call) => {
  call.takeOver();
});
closing.on("/health", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Len"));

let h2Body = GOOD;
const h2Asked: Record<string, unknown>[] = [];
const h2 = createServer();
h2.on("session", (session) => session.on("error", () => {}));
h2.on("stream", (raw, fields) => {
  const stream = raw as ServerHttp2Stream;
  stream.on("error", () => {});
  const isProbe = String(fields[":path"]).startsWith("/health");
  if (isProbe) h2Asked.push(fields);
  stream.respond({ ":status": 200, "x-node": "h2" });
  stream.end(isProbe ? h2Body : "");
});
await new Promise<void>((resolve) => h2.listen(0, "127.0.0.1", resolve));
const h2Url = `h2c://127.0.0.1:${(h2.address() as AddressInfo).port}`;

const oldServer = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: { data: (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") },
});
const wrongUrl = `h2c://127.0.0.1:${oldServer.port}`;

const times = { interval: "60ms", timeout: "5s", healthy_threshold: 1, unhealthy_threshold: 1 };
const question = {
  path: "/health?deep=1",
  host: "App.example.com",
  method: "post",
  headers: { Authorization: "Bearer secret-of-probes", "User-Agent": "probe", "X-Deep": "1" },
  body: '/"status": *"OK".*é"\\}$/i',
  ...times,
};
const route = (prefix: string, target: string, health_check: object) => ({
  type: "upstream",
  prefix,
  targets: [{ url: target }, { url: spare.url, backup: true }],
  health_check,
  circuit_breaker: { enabled: false },
});
const gateway = await startGateway({
  config: { server: { workers: 1 } },
  routes: [
    route("/h1", web.url, { ...question, port: probed.port }),
    route("/h2", h2Url, { ...question, method: "GET", body: '"status": "ok"' }),
    route("/head", web.url, { path: "/head", method: "HEAD", ...times }),
    route("/silent", silent.url, { path: "/health", ...times, timeout: "300ms", interval: "400ms" }),
    route("/closing", closing.url, { path: "/health", ...times }),
    route("/refused", "http://127.0.0.1:1", { path: "/health", ...times }),
    {
      type: "upstream",
      prefix: "/named",
      targets: [
        { url: second.url, name: "blue" },
        { url: spare.url, backup: true },
      ],
    },
    {
      type: "upstream",
      prefix: "/twin",
      targets: [
        { url: twin.url, name: "blue" },
        { url: spare.url, backup: true },
      ],
    },
    route("/wrong", wrongUrl, { path: "/health", ...times }),
  ],
});
afterAll(() => {
  stopAll(gateway, web, spare, silent, closing, second, twin, probed);
  h2.close();
  oldServer.stop(true);
});

const edge = (...args: string[]) => runEdge(args, {}, gateway.folder);
const served = async (path: string): Promise<string> => {
  const { text, fields } = await gateway.once(request(`GET ${path}`));
  return fields.get("x-node") ?? text;
};
const lineOf = (event: string, upstream: string, from: number) =>
  gateway.logs.json.slice(from).find((line) => line.event === event && line.upstream === upstream);
/** The line of an event, once it is there. */
const told = (event: string, upstream: string, from = 0) =>
  eventually(() => lineOf(event, upstream, from) ?? Promise.reject(new Error(`no ${event} of ${upstream}`)));

describe("a target's name", () => {
  test("is in listings, and drains the target of each route that has it", async () => {
    const at = (path: string) =>
      gateway.once(request(`GET /internal/api/${path}`)).then(({ text }) => JSON.parse(text));
    const health = (await at("upstreams/health")).upstreams as Record<string, unknown>[];
    expect(health.find(({ route: of }) => of === "/named")).toMatchObject({ name: "blue", target: second.url });
    const listed = (await at("routes")).routes as Record<string, unknown>[];
    expect(listed.find(({ prefix }) => prefix === "/named")?.targets).toMatchObject([{ name: "blue" }, {}]);
    const drained = await edge("drain", "blue", "--json");
    expect([drained.code, JSON.parse(drained.stdout)]).toEqual([
      0,
      { target: second.url, targets: [second.url, twin.url], drained: [second.url, twin.url] },
    ]);
    expect([await served("/named/x"), await served("/twin/x")]).toEqual(["spare", "spare"]);
    expect((await edge("drain", "BLUE")).code).toBe(1);
    const shown = await edge("undrain", "blue");
    expect(shown.stdout).toBe(`${second.url} is in use again.\n${twin.url} is in use again.\n`);
    expect([await served("/named/x"), await served("/twin/x")]).toEqual(["second", "twin"]);
  });

  test("is one within the route, and no address", async () => {
    const targets = (...names: string[]) => names.map((name, i) => ({ url: `http://127.0.0.1:${i + 1}`, name }));
    const { code, stdout, stderr } = await runEdge(["check"], {
      routes: [
        { type: "upstream", prefix: "/a", targets: targets("a", "b", "a") },
        { type: "upstream", prefix: "/b", targets: targets("http://a") },
      ],
    });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain("targets[2].name: a is the name of target 1 too");
    expect(stdout + stderr).toContain("targets[0].name: expected a name of letters");
  });
});

describe("a health check", () => {
  test("asks with its host, method, fields and port, and the spare one is not asked at the port of requests", async () => {
    await eventually(() => expect(probed.requestsFor("/health").length).toBeGreaterThan(1));
    const { method, target, fields } = probed.requestsFor("/health")[0]!;
    const of = (name: string) => fields.get(name);
    expect([
      method,
      target,
      of("host"),
      of("user-agent"),
      of("x-deep"),
      of("content-length"),
      of("connection"),
    ]).toEqual(["POST", "/health?deep=1", "app.example.com", "probe", "1", "0", "close"]);
    expect(web.requestsFor("/health").filter((one) => one.method === "POST")).toEqual([]);
    expect(await served("/h1/x")).toBe("web");
    await eventually(() => expect(web.requestsFor("/head").length).toBeGreaterThan(1));
    expect([web.requestsFor("/head")[0]!.method, await served("/head/x")]).toEqual(["HEAD", "web"]);
    expect(h2Asked[0]).toMatchObject({ ":authority": "app.example.com", "x-deep": "1", "user-agent": "probe" });
    expect(await served("/h2/x")).toBe("h2");
  });

  test.each(["length", "chunked", "close", "endless"] as const)("looks at a body that ends by %s", async (how) => {
    const from = gateway.logs.json.length;
    framing = how;
    body = BAD;
    const line = await told("upstream_unhealthy", web.url, from);
    expect([line.status, line.error]).toEqual([200, "the body does not fit health_check.body"]);
    framing = how === "endless" ? "length" : how;
    body = GOOD;
    await told("upstream_healthy", web.url, from);
  });

  test("looks at a body of HTTP/2, of which the first 64 KiB count", async () => {
    const from = gateway.logs.json.length;
    h2Body = `${"x".repeat(70_000)}${GOOD}`;
    await told("upstream_unhealthy", h2Url, from);
    h2Body = `${"x".repeat(60_000)}${GOOD}`;
    await told("upstream_healthy", h2Url, from);
    expect(await served("/h2/x")).toBe("h2");
  });

  test("names the cause of a failure as the access log does", async () => {
    const causes: [string, string][] = [
      [silent.url, "first_byte_timeout"],
      [closing.url, "closed_in_head"],
      ["http://127.0.0.1:1", "connect_refused"],
      [wrongUrl, "http1_on_h2"],
    ];
    for (const [url, cause] of causes)
      expect([url, (await told("upstream_unhealthy", url)).fault_detail]).toEqual([url, cause]);
    const { text } = await gateway.once(request("GET /internal/api/upstreams/health"));
    const listed = (JSON.parse(text) as { upstreams: Record<string, unknown>[] }).upstreams;
    expect(listed.find(({ route: of }) => of === "/refused")).toMatchObject({
      healthy: false,
      fault_detail: "connect_refused",
    });
  });

  test("with contradictions is a fault, and its secrets are not shown", async () => {
    const checks = {
      "method with grpc": [{ grpc: true, method: "HEAD" }, "health_check.method: a call of gRPC is a POST"],
      "body with grpc": [{ grpc: true, body: "x" }, "health_check.body: a server of gRPC responds with a status alone"],
      "body of HEAD": [{ path: "/x", method: "HEAD", body: "x" }, "health_check.body: a response to HEAD has no body"],
      host: [{ path: "/x", headers: { Host: "a" } }, "write it as health_check.host"],
      framing: [{ path: "/x", headers: { "Content-Length": "1" } }, "edge writes this field itself"],
      backtracking: [{ path: "/x", body: "/(a)\\1/" }, "expected an expression that takes linear time"],
      empty: [{ path: "/x", body: "//" }, "expected an expression between the slashes"],
      method: [{ path: "/x", method: "PUT" }, "expected GET, HEAD, OPTIONS or POST"],
      "host with a path": [{ path: "/x", host: "a/b" }, "health_check.host: expected a valid host name"],
      port: [{ path: "/x", port: 0 }, "health_check.port: "],
    } as const;
    const routes = Object.values(checks).map(([health_check], i) => ({
      type: "upstream",
      prefix: `/${i}`,
      target: "h2c://127.0.0.1:1",
      health_check,
    }));
    const socket = {
      type: "upstream",
      prefix: "/s",
      target: "unix:/run/a.sock",
      health_check: { path: "/x", port: 1 },
    };
    const { code, stdout, stderr } = await runEdge(["check"], { routes: [...routes, socket] });
    expect(code).toBe(1);
    for (const [, fault] of Object.values(checks)) expect(stdout + stderr).toContain(fault);
    expect(stdout + stderr).toContain("health_check.port: a UNIX socket has no ports");
    const shown = await runEdge(["check", "--print"], {
      routes: [route("/", "http://127.0.0.1:1", question)],
    });
    expect([shown.code, shown.stdout.includes("secret-of-probes")]).toEqual([0, false]);
    expect(shown.stdout).toContain("X-Deep");
  });
});
