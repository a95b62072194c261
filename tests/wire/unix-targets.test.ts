// Targets that listen on a UNIX socket: docs/upstreams.md#unix-sockets
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-sock-"));
const at = (name: string): string => join(folder, name);
const origin = EchoOrigin.start({ socket: at("echo.sock") });
origin.on("/healthz", (call) => call.reply("200 OK"));

/** A server of the runtime, as an application would be. */
function serveApp(path: string, name: string): Bun.Server<undefined> {
  return Bun.serve({
    unix: path,
    fetch(asked, server) {
      if (server.upgrade(asked)) return undefined;
      const { pathname } = new URL(asked.url);
      if (pathname === "/stream") return new Response(pieces());
      return new Response(`${name} ${pathname} ${asked.headers.get("host")}`);
    },
    websocket: { message: (socket, message) => void socket.send(message) },
  });
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (const word of ["one ", "two ", "three"]) {
    yield Buffer.from(word);
    await Bun.sleep(30);
  }
}

const bun = serveApp(at("bun.sock"), "first");
const python = Bun.spawn(["python3", join(import.meta.dir, "..", "harness", "unix-app.py"), at("python.sock")], {
  stdout: "ignore",
  stderr: "ignore",
});
await eventually(() => expect(existsSync(at("python.sock"))).toBe(true));
const gateway = await startGateway({
  routes: [
    upstream("/echo", origin, { health_check: { path: "/healthz", interval: "50ms" } }),
    upstream("/base", { url: `unix:${at("echo.sock")}:/deep/er/` }),
    upstream("/own", origin, { preserve_host: false }),
    upstream("/bun", { url: `unix:${at("bun.sock")}` }),
    upstream("/python", { url: `unix:${at("python.sock")}` }),
    upstream("/away", { url: `unix:${at("away.sock")}` }),
    upstream("/moved", { url: `unix:${at("moved.sock")}` }),
    upstream("/file", { url: "unix:./routes.yaml" }),
    { type: "upstream", prefix: "/two", targets: [{ url: `unix:${at("away.sock")}` }, { url: origin.url }] },
  ],
});
afterAll(async () => {
  python.kill();
  await bun.stop(true);
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true, force: true });
});

describe("a request goes to a socket", () => {
  test("with the client's Host, and the gateway's fields", async () => {
    const echo = json<Echo>(await gateway.once(request("GET /echo/a?b=c")));
    expect([echo.target, echo.headers.host]).toEqual(["/a?b=c", "gw.test"]);
    expect(echo.headers["x-forwarded-for"]).toBe("127.0.0.1");
  });

  test("below the path that the target names", async () => {
    expect(json<Echo>(await gateway.once(request("GET /base/a"))).target).toBe("/deep/er/a");
  });

  test("with Host localhost where the client's is not kept", async () => {
    expect(json<Echo>(await gateway.once(request("GET /own/a"))).headers.host).toBe("localhost");
  });

  test("with a long body, both ways", async () => {
    const body = new SeededRandom(9).bytes(700_000);
    const echo = json<Echo>(await gateway.once(request("POST /echo/up", [], body)));
    expect([echo.length, echo.sha256]).toEqual([body.length, sha256(body)]);
    origin.on("/long", (call) => call.reply("200 OK", [], body));
    expect(sha256((await gateway.once(request("GET /echo/long"))).body)).toBe(sha256(body));
  });

  test("over one kept connection", async () => {
    for (let i = 0; i < 20; i++) expect((await gateway.once(request("GET /echo/pool"))).status).toBe(200);
    expect(new Set(origin.requestsFor("/pool").map(({ connection }) => connection)).size).toBe(1);
  });

  test("and becomes a tunnel by an upgrade", async () => {
    const client = await gateway.connect();
    const lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    const reply = await client.exchange(
      request("GET /echo/socket", [...lines, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]),
    );
    expect(reply.status).toBe(101);
    client.send("to and fro");
    expect((await client.take(10)).toString()).toBe("to and fro");
    client.close();
  });
});

describe("applications", () => {
  test("(Bun) answer, stream and speak WebSocket", async () => {
    expect((await gateway.once(request("GET /bun/x"))).text).toBe("first /x gw.test");
    expect((await gateway.once(request("GET /bun/stream"))).text).toBe("one two three");
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/bun/ws`);
    const told = Promise.withResolvers<unknown>();
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => told.resolve(data);
    socket.onerror = () => told.reject(new Error("no WebSocket"));
    expect(await told.promise).toBe("hello");
    socket.close();
  });

  test("(Python) answer GET and POST", async () => {
    expect((await gateway.once(request("GET /python/y"))).text).toBe("python GET /y 0");
    expect((await gateway.once(request("POST /python/z", [], "12345"))).text).toBe("python POST /z 5");
  });

  test("that are started again at the same place are taken up at once", async () => {
    const first = serveApp(at("moved.sock"), "old");
    expect((await gateway.once(request("GET /moved/x"))).text).toBe("old /x gw.test");
    await first.stop(true);
    rmSync(at("moved.sock"), { force: true });
    expect((await gateway.once(request("GET /moved/x"))).status).toBe(502);
    const second = serveApp(at("next.sock"), "new");
    renameSync(at("next.sock"), at("moved.sock"));
    expect((await gateway.once(request("GET /moved/x"))).text).toBe("new /x gw.test");
    await second.stop(true);
  });
});

describe("a socket that cannot be used", () => {
  test("is 502 like a refused connection, with a line that says why", async () => {
    const reply = await gateway.once(request("GET /away/x"));
    expect([reply.status, json(reply)]).toMatchObject([502, { message: "upstream unavailable" }]);
    const key = `unix:${at("away.sock")}`;
    const line = await gateway.log("no socket", (one) => one.event === "upstream_failed" && one.upstream === key);
    expect(line.reason).toBe("ENOENT");
    expect((await gateway.once(request("GET /file/x"))).status).toBe(502);
  });

  test("gives way to another target", async () => {
    for (let i = 0; i < 4; i++) expect((await gateway.once(request("GET /two/x"))).status).toBe(200);
  });

  const isRoot = process.getuid?.() === 0;
  if (!isRoot) console.log("not root: permission to connect is not tried out");
  test.skipIf(!isRoot)("for want of permission says EACCES", async () => {
    const secret = EchoOrigin.start({ socket: at("secret.sock") });
    chownSync(at("secret.sock"), 65534, 65534);
    chmodSync(at("secret.sock"), 0o600);
    const rights = "-dac_override,-dac_read_search";
    const runner = ["setpriv", `--bounding-set=${rights}`, `--inh-caps=${rights}`];
    const other = await startGateway({ routes: [upstream("/x", secret)], runner });
    try {
      expect((await other.once(request("GET /x/y"))).status).toBe(502);
      const line = await other.log("no permission", ({ event }) => event === "upstream_failed");
      expect(line.reason).toBe("EACCES");
    } finally {
      await stopAll(other, secret);
    }
  });
});

test("listings, metrics and health checks name the socket", async () => {
  const key = `unix:${at("echo.sock")}`;
  await eventually(async () => expect(await gateway.metric("gateway_upstream_healthy", { upstream: key })).toBe(1));
  const { routes } = json<{ routes: { prefix: string; targets: { url: string }[] }[] }>(
    await gateway.once(request("GET /internal/api/routes")),
  );
  const urls = new Map(routes.map(({ prefix, targets }) => [prefix, targets?.map(({ url }) => url)]));
  expect(urls.get("/base")).toEqual([`${key}:/deep/er`]);
  // A relative path counts from the file's folder.
  expect(urls.get("/file")).toEqual([`unix:${gateway.folder}/routes.yaml`]);
  const health = (await gateway.once(request("GET /internal/api/upstreams/health"))).text;
  expect(JSON.parse(health)).toMatchObject(expect.anything());
  expect(health).toContain(`"target":"${key}:/deep/er","status":"CLOSED"`);
  expect(health).toContain("no such socket");
});
