// A configuration that comes from a web server: taken, refused, kept, and served from while the server is away.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configurationOf } from "../../src/features/fleet/remote/remote-pair.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { ConfigOrigin, type Misdeed } from "../harness/config-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const configFor = (port: number, more = "") => `server: { host: 127.0.0.1, port: ${port}, workers: 1${more} }\n...\n`;
const routesFor = (body: string) => `- { type: respond, path: /v, body: ${body} }\n...\n`;

interface RemoteStart {
  readonly url: string;
  readonly port: number;
  readonly folder?: string;
  readonly args?: readonly string[];
}

function start({ url, port, folder, args = [] }: RemoteStart): Promise<Gateway> {
  return startGateway({
    port,
    args: ["--config", `${url}/config.yaml`, "--routes=", "--poll", "1s", ...args],
    env: folder === undefined ? {} : { STATE_DIRECTORY: folder },
  });
}

const served = async (gateway: Gateway) => (await gateway.once(request("GET /v"))).text;
const source = async (gateway: Gateway) =>
  json(await gateway.once(request("GET /internal/api/status"))).config_source as Record<string, unknown>;
const reload = (gateway: Gateway) =>
  gateway.once(request("POST /internal/api/reload", ["Content-Type: application/json"], "{}"));

function versionOf(config: string, routes: string): string {
  const text = (bytes: string) => ({ bytes: Buffer.from(bytes), tag: "" });
  const texts = { config: text(config), routes: text(routes), configSignature: null, routesSignature: null };
  return configurationOf(texts).version;
}

describe("a configuration from a web server", async () => {
  const origin = ConfigOrigin.start();
  const elsewhere = ConfigOrigin.start();
  const port = freePort();
  origin.put(configFor(port), routesFor("one"));
  elsewhere.put(configFor(port), routesFor("stolen"));
  const gateway = await start({ url: origin.url, port });
  afterAll(async () => {
    await gateway.stop();
    origin.stop();
    elsewhere.stop();
  });

  test("serves, and is taken up when it changes, by its ETag", async () => {
    expect(await served(gateway)).toBe("one");
    origin.put(configFor(port), routesFor("two"));
    await eventually(async () => expect(await served(gateway)).toBe("two"));
    const version = versionOf(configFor(port), routesFor("two"));
    expect(await gateway.log("the reload", ({ event }) => event === "config_reload")).toMatchObject({
      ok: true,
      generation: 2,
      version,
      source: `${origin.url}/config.yaml`,
    });
    expect(await source(gateway)).toMatchObject({ version, reachable: true, waiting: "", on_trial: false });
    expect(origin.seen).toContain("GET /config.yaml 304");
    const kept = readdirSync(join(gateway.folder, ".edge-state"));
    expect(kept.length).toBeGreaterThan(2);
    for (const name of kept) expect(statSync(join(gateway.folder, ".edge-state", name)).mode & 0o777).toBe(0o600);
  });

  const status =
    (code: number): Misdeed =>
    () =>
      new Response("", { status: code });
  test.each<[string, Misdeed, RegExp]>([
    ["an error", status(500), /status 500/],
    ["no document", status(404), /no such document/],
    [
      "a way to another server",
      () => Response.redirect(`${elsewhere.url}/config.yaml`, 302),
      /leads to another server/,
    ],
    ["a circle", () => Response.redirect("/config.yaml", 302), /more than 3 redirects/],
    ["too much", () => new Response(endless()), /more than 16777216 bytes/],
    [
      "what is compressed",
      () => new Response(Bun.gzipSync("{}"), { headers: { "Content-Encoding": "gzip" } }),
      /compressed/,
    ],
    ["what is no YAML", () => new Response("server: [\n"), /config\.yaml:\d+:\d+/],
    [
      "an unknown key",
      () => new Response(configFor(port, ", prot: 1")),
      /config\.yaml:1:\d+: server\.prot: unknown key/,
    ],
    ["a text cut off at a line", (text) => new Response(text.replace("...\n", "")), /truncated/],
    ["the routes", () => new Response(routesFor("x")), /config\.yaml/],
    ["bytes", () => new Response(new Uint8Array([0xff, 0xfe, 0])), /UTF-8/],
    ["nothing", () => new Response(""), /truncated/],
  ])("%s is not taken, and said why", async (_name, misdeed, why) => {
    origin.misdeed = misdeed;
    const reply = await reload(gateway);
    origin.misdeed = null;
    expect(reply.status).toBe(422);
    expect(String(json(reply).faults)).toMatch(why);
    expect(String(json(reply).faults)).toStartWith(origin.url);
    expect(await served(gateway)).toBe("two");
  });

  test("routes that were there and are gone are not taken as none", async () => {
    origin.put(configFor(port), null);
    const reply = await reload(gateway);
    expect([reply.status, String(json(reply).faults)]).toEqual([
      422,
      expect.stringMatching(/routes\.yaml: there is no such document/),
    ]);
    expect(await served(gateway)).toBe("two");
  });

  test("a reload takes what is there now", async () => {
    origin.put(configFor(port), routesFor("three"));
    expect((await reload(gateway)).status).toBe(200);
    expect(await served(gateway)).toBe("three");
  });

  test("a pair that changes between its two texts is read again until it stays", async () => {
    const [half, whole] = [configFor(port, ", max_body_bytes: 4096"), configFor(port, ", max_body_bytes: 5000")];
    origin.put(half, routesFor("three"));
    origin.before = (path) => {
      if (path !== "/routes.yaml") return;
      origin.before = () => {};
      origin.put(whole, routesFor("four"));
    };
    const last = versionOf(whole, routesFor("four"));
    await gateway.log("the pair", ({ event, version }) => event === "config_reload" && version === last);
    expect(await served(gateway)).toBe("four");
    const taken = gateway.logs.json.filter(({ event, ok }) => event === "config_reload" && ok === true);
    const torn = [versionOf(half, routesFor("three")), versionOf(half, routesFor("four"))];
    expect(taken.map(({ version }) => version)).not.toContain(torn[1]);
  });

  test("a source that is away is told of once, and so is its return", async () => {
    const count = () => gateway.logs.json.filter(({ event }) => event === "config_source_away").length;
    const before = count();
    const failed = await gateway.metric("gateway_config_polls_total", { result: "failed" });
    origin.stop();
    await eventually(async () =>
      expect(await gateway.metric("gateway_config_polls_total", { result: "failed" })).toBeGreaterThan(failed),
    );
    expect(await gateway.metric("gateway_config_source_up")).toBe(0);
    expect(await served(gateway)).toBe("four");
    origin.startAgain();
    await eventually(async () => expect(await gateway.metric("gateway_config_source_up")).toBe(1));
    expect(gateway.logs.json.some(({ event }) => event === "config_source_back")).toBe(true);
    expect(count()).toBe(before + 1);
  });
});

describe("a start", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-state-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const note = (gateway: Gateway) => gateway.log("the note", (line) => String(line.note).includes("last good"));

  test("goes by the last good configuration where the source is away, or has what cannot be taken", async () => {
    const origin = ConfigOrigin.start();
    const port = freePort();
    origin.put(configFor(port), routesFor("kept"));
    const first = await start({ url: origin.url, port, folder });
    await eventually(() => expect(readdirSync(folder).some((name) => name.startsWith("kept-"))).toBe(true));
    await first.stop();
    origin.stop();
    const second = await start({ url: origin.url, port, folder });
    expect(await served(second)).toBe("kept");
    expect(String((await note(second)).note)).toMatch(
      /last good configuration serves \([0-9a-f]{12}, taken 0 min ago\)/,
    );
    origin.put(configFor(port), routesFor("newer"));
    origin.startAgain();
    await eventually(async () => expect(await served(second)).toBe("newer"));
    await second.stop();
    origin.put("server: [", routesFor("worse"));
    const third = await start({ url: origin.url, port, folder });
    expect(await served(third)).toBe("newer");
    expect(String((await note(third)).note)).toContain(`${origin.url}/config.yaml:1:`);
    await third.stop();
    origin.stop();
  });

  test("without any says why there is none", async () => {
    const run = await runEdge(["serve", "--config", "http://127.0.0.1:1/config.yaml"]);
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/config\.yaml: ECONN/)]);
  });

  test("takes no half of a text", async () => {
    const half = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nserver: { port: 0 }\n";
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          socket.write(half);
          socket.end();
        },
      },
    });
    const run = await runEdge(["serve", "--config", `http://127.0.0.1:${server.port}/config.yaml`]);
    server.stop(true);
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/config\.yaml: ECONNRESET/)]);
  });

  test.each([
    [["--config", "http://192.0.2.1/config.yaml"], /http:\/\/ is for loopback alone/],
    [["--config", "ftp://127.0.0.1/config.yaml"], /expected https:/],
    [["--config", "https://u:secret@h/c", "--routes", "routes.yaml"], /--routes: expected a URL/],
    [["--routes", "https://127.0.0.1/routes.yaml"], /--routes: a URL needs/],
    [["--config", "https://h/c", "--poll", "1ms"], /--poll: expected at least 1s/],
    [["--config", "https://h/c", "--ca", "./none.pem"], /--ca: .*none\.pem/],
    [["--config", "https://h/c", "--signature-key", "config.yaml"], /--signature-key: .*not a public key/],
    [["--signature-key", "config.yaml"], /--signature-key: requires a URL in --config/],
  ])("refuses %j", async (args, message) => {
    const run = await runEdge(["serve", ...args]);
    expect([run.code, run.stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(run.stderr).not.toContain("secret");
  });

  test("trusts over TLS whom it is told to", async () => {
    const certificate = await makeCertificate();
    const origin = ConfigOrigin.start(certificate);
    const port = freePort();
    origin.put(configFor(port), routesFor("secure"));
    const trusted = mkdtempSync(join(tmpdir(), "edge-ca-"));
    writeFileSync(join(trusted, "ca.pem"), certificate.cert);
    const refused = await runEdge(["serve", "--config", `${origin.url}/config.yaml`]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/DEPTH_ZERO_SELF_SIGNED_CERT|self.signed/),
    ]);
    const gateway = await start({ url: origin.url, port, args: ["--ca", join(trusted, "ca.pem")] });
    expect(await served(gateway)).toBe("secure");
    await gateway.stop();
    origin.stop();
    rmSync(trusted, { recursive: true, force: true });
  });

  test("other commands say that they read files", async () => {
    const run = await runEdge(["check", "--config", "https://127.0.0.1/config.yaml"]);
    expect([run.code, run.stdout + run.stderr]).toEqual([
      1,
      expect.stringMatching(/a URL, which edge serve alone reads/),
    ]);
  });
});

function endless(): ReadableStream {
  const block = new Uint8Array(1_048_576).fill(35);
  let count = 0;
  return new ReadableStream({
    pull(controller) {
      if (count++ < 40) controller.enqueue(block);
      else controller.close();
    },
  });
}
