import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEMO_PORTS } from "../../src/demo/origin.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";

const SERVE = ["serve", "--config", "config.yaml", "--routes", "routes.yaml"];

describe("a second gateway on the same port", () => {
  test("ends with 1 and says EADDRINUSE, and the first one serves on", async () => {
    const first = await startGateway({ config: { server: { workers: 2 } } });
    const second = await runEdge(SERVE, { config: { server: { port: first.port } } });
    expect(second.code).toBe(1);
    expect(second.stdout + second.stderr).toContain("EADDRINUSE");
    expect(second.stderr).toEndWith("\nMore: edge help port-in-use\n");
    expect(second.stdout + second.stderr).toContain(String(first.port));
    expect(second.stdout + second.stderr).not.toMatch(/\n\s+at /);
    for (let i = 0; i < 10; i++) expect((await first.once(request("GET /health"))).status).toBe(200);
    await first.stop();
  });
});

test("a demo port that is taken is told of and left to whoever has it, and the gateway serves", async () => {
  // Another demo on this machine may have some of them already.
  const held = DEMO_PORTS.flatMap((port) => {
    try {
      return [Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response("not the demo") })];
    } catch {
      return [];
    }
  });
  const gateway = await startGateway({
    args: ["--demo"],
    routes: held.map(({ url, port }) => upstream(`/${port}`, { url: url.origin })),
  });
  try {
    for (const { port } of held) {
      const said = `edge serve: 127.0.0.1:${port} is in use by another program, so the server there is not the demo`;
      await eventually(() => expect(gateway.errors.lines).toContain(said));
      expect((await gateway.once(request(`GET /${port}/x`))).text).toBe("not the demo");
    }
    await gateway.stop();
  } finally {
    gateway.kill();
    for (const server of held) await server.stop(true);
  }
});

describe("a machine without a temporary folder", () => {
  test("is told of when the gateway starts, and gets 503 for large chunked bodies", async () => {
    const origin = EchoOrigin.start();
    const gateway = await startGateway({ routes: [upstream("/node", origin)], env: { TMPDIR: "/nowhere" } });
    const line = await gateway.log("the note", (one) => one.event === "start");
    expect(String(line.note)).toContain("chunked request bodies over 1 MiB get 503");
    const chunk = `${(2_000_000).toString(16)}\r\n${"a".repeat(2_000_000)}\r\n0\r\n\r\n`;
    const head = "POST /node/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const refused = await gateway.once(Buffer.from(head + chunk));
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text).message).toBe("the request body cannot be stored at the moment");
    const failed = await gateway.log("the reason", ({ event }) => event === "spool_failed");
    expect([failed.folder, failed.reason]).toEqual(["/nowhere", "ENOENT"]);
    await gateway.log("the access line", ({ fault }) => fault === "spool_failed");
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    await gateway.stop();
    origin.stop();
  });
});

describe("a wrong configuration", () => {
  test("ends with 1 and names file, line, column and key, every fault at once", async () => {
    const config = "server:\n  prot: 8080\n  max_body_bytes: many\n  read_timeout: soon\n";
    const routes = "- type: upstream\n  prefix: /a\n  targt: http://127.0.0.1:1\n- type: statik\n  prefix: /b\n";
    for (const command of [SERVE, ["check", ...SERVE.slice(1)]]) {
      const run = await runEdge(command, { files: { "config.yaml": config, "routes.yaml": routes } });
      expect(run.code).toBe(1);
      const said = run.stdout + run.stderr;
      expect(said).toMatch(/config\.yaml:2:3: server\.prot: .*port/);
      expect(said).toMatch(/config\.yaml:3:\d+: server\.max_body_bytes: /);
      expect(said).toMatch(/config\.yaml:4:\d+: server\.read_timeout: /);
      expect(said).toMatch(/routes\.yaml:3:3: \S*targt: .*target/);
      expect(said).toMatch(/routes\.yaml:4:\d+: \S*type: /);
      expect(said).toContain("\nMore: edge help server, edge help server.max_body_bytes, ");
    }
  });

  test.each([
    ["YAML that is none", "server: [", /config\.yaml:1:/],
    ["a list in place of settings", "- 1\n", /config\.yaml:1:/],
    ["a key twice", "server:\n  port: 1\n  port: 2\n", /config\.yaml:3:/],
  ])("may be %s", async (_name, text, message) => {
    const run = await runEdge(SERVE, { files: { "config.yaml": text } });
    expect([run.code, run.stdout + run.stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  test("may be a static folder that is not there", async () => {
    const run = await runEdge(SERVE, { routes: [{ type: "static", prefix: "/s", dir: "nowhere" }] });
    expect([run.code, run.stdout + run.stderr]).toEqual([1, expect.stringMatching(/routes\.yaml:\d+:\d+: .*dir/)]);
  });

  test("may be a host name that nobody knows", async () => {
    const run = await runEdge(SERVE, { config: { server: { host: "no-such-host.invalid", port: freePort() } } });
    expect([run.code, run.stdout + run.stderr]).toEqual([
      1,
      expect.stringMatching(/no-such-host\.invalid:\d+: ENOTFOUND/),
    ]);
  });

  test("may be a file that was named and is not there", async () => {
    const run = await runEdge(["serve", "--config", "absent.yaml"]);
    expect([run.code, run.stdout + run.stderr]).toEqual([1, expect.stringContaining("absent.yaml")]);
  });
});

describe("the command line", () => {
  test("a right configuration is checked with 0", async () => {
    for (const command of ["check", "validate"]) {
      const run = await runEdge([command, "--config", "config.yaml", "-routes", "routes.yaml"]);
      expect(run.code).toBe(0);
    }
  });

  test("what it does not know is 2", async () => {
    const named = [["frobnicate"], ["toString"], ["help", "hasOwnProperty"]];
    for (const args of [...named, ["serve", "--prot", "1"], ["check", "--config"]]) {
      const { code, stderr } = await runEdge(args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(/^edge/)]);
    }
  });

  test("waf test judges by the routes of the configuration and no others", async () => {
    const routes = [{ type: "upstream", prefix: "/files", target: "http://127.0.0.1:1" }];
    const upstream = { grpc_method: "/p.S/M", upstream_url: "http://127.0.0.1:1" };
    const call = { http_method: "GET", http_path: "/call", ...upstream };
    for (const transcoder of [{ enabled: false }, { enabled: true, routes: [call] }]) {
      const run = await runEdge(["waf", "test", "GET /other/../files"], {
        config: { server: { waf: { enabled: true } }, transcoder },
        routes,
      });
      expect([run.code, run.stdout]).toEqual([1, expect.stringContaining("blocked")]);
    }
  });

  test("help is 0 and names the commands", async () => {
    for (const args of [["help"], ["--help"], ["help", "serve"], ["serve", "--help"]]) {
      const run = await runEdge(args);
      expect([run.code, run.stdout + run.stderr]).toEqual([0, expect.stringContaining("serve")]);
    }
  });

  test("help shows every key of both files", async () => {
    expect((await runEdge(["help", "config"])).stdout).toContain("allowed_origins:");
    expect((await runEdge(["help", "routes"])).stdout).toContain("health_check:");
  });

  test("init writes both files once and never over them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "edge-init-"));
    try {
      expect((await runEdge(["init"], {}, folder)).code).toBe(0);
      expect(readdirSync(folder)).toEqual(expect.arrayContaining(["config.yaml", "routes.yaml"]));
      expect((await runEdge(["check"], {}, folder)).code).toBe(0);
      writeFileSync(join(folder, "config.yaml"), "server: {}\n");
      const again = await runEdge(["init"], {}, folder);
      expect([again.code, again.stdout + again.stderr]).toEqual([1, expect.stringContaining("config.yaml")]);
      expect(readFileSync(join(folder, "config.yaml"), "utf8")).toBe("server: {}\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test("what init writes serves a page at once, and a page for what is not there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-init-"));
  try {
    expect((await runEdge(["init"], {}, folder)).code).toBe(0);
    const text = (name: string) => readFileSync(join(folder, name), "utf8");
    const port = freePort();
    const config = text("config.yaml").replace("port: 8080", `port: ${port}`);
    const site = Object.fromEntries(["public/index.html", "public/404.html"].map((name) => [name, text(name)]));
    const files = { "config.yaml": config, "routes.yaml": text("routes.yaml"), ...site };
    const gateway = await startGateway({ port, files });
    const page = await gateway.once(request("GET /"));
    expect([page.status, page.text]).toEqual([200, text("public/index.html")]);
    const missing = await gateway.once(request("GET /missing"));
    expect([missing.status, missing.text]).toEqual([404, text("public/404.html")]);
    await gateway.stop();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the root of the shipped routes is the demo page, and what belongs to it is there", async () => {
  const top = join(import.meta.dir, "../..");
  const site = join(top, "src/demo/site");
  const routes = readFileSync(join(top, "routes.yaml"), "utf8").replaceAll("./src/demo/site", site);
  const gateway = await startGateway({ files: { "routes.yaml": routes } });
  for (const [path, name] of [
    ["/", "index.html"],
    ["/app.js", "app.js"],
    ["/static/style.css", "style.css"],
  ]) {
    const reply = await gateway.once(request(`GET ${path}`));
    expect([path, reply.status, reply.text]).toEqual([path, 200, readFileSync(join(site, name!), "utf8")]);
  }
  expect((await gateway.once(request("GET /no-such-page"))).status).toBe(404);
  await gateway.stop();
});

/** A reference to a variable as configuration files write it. */
const variable = (name: string) => "$" + `{${name}}`;

describe("the working folder", () => {
  test("has no say: neither .env nor bunfig.toml is read, nor a preload or a package.json", async () => {
    const gateway = await startGateway({
      config: { server: { max_body_bytes: variable("HOSTILE:-7") } },
      routes: [upstream("/node", { url: `http://127.0.0.1:${freePort()}` })],
      files: {
        ".env": "HOSTILE=9999\nPORT=1\nNODE_ENV=hostile\n",
        ".env.local": "HOSTILE=9999\n",
        ".env.production": "HOSTILE=9999\n",
        "bunfig.toml": 'preload = ["./hostile.ts"]\n[run]\npreload = ["./hostile.ts"]\n',
        "hostile.ts": 'console.log("hostile code ran"); process.exit(66);\n',
        "package.json": '{"name":"hostile","main":"hostile.ts"}',
        "tsconfig.json": "{ not even json",
      },
    });
    expect((await gateway.once(request("POST /node/a", [], "8 bytes!"))).status).toBe(413);
    await gateway.stop();
    expect(gateway.logs.lines.join("\n") + gateway.errors.lines.join("\n")).not.toContain("hostile");
  });

  test("a variable of the environment itself is read", async () => {
    const files = { "config.yaml": `server:\n  read_timeout: "${variable("WAIT")}"\n` };
    const good = await runEdge(["check", "--config", "config.yaml"], { files, env: { WAIT: "5s" } });
    expect(good.code).toBe(0);
    const bad = await runEdge(["check", "--config", "config.yaml"], { files: { ...files, ".env": "WAIT=5s\n" } });
    expect(bad.code).toBe(1);
  });
});
