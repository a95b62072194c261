// docs/tools.md#status and #top
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { daysFromNow, TestAuthority } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { internal_api: { socket: "./edge.sock", token: "a-long-token" } },
  routes: [upstream("/node", origin), { type: "respond", path: "/hello", body: "hi" }],
});
afterAll(() => stopAll(gateway, origin));
for (let i = 0; i < 5; i++) await gateway.once(request("GET /node/x"));

const url = `http://127.0.0.1:${gateway.port}`;
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runProcess([EDGE_BINARY, ...args], {
    cwd: gateway.folder,
    env: { PATH: process.env.PATH ?? "", ...env },
    timeout: 20_000,
  });

describe("edge status", () => {
  test("finds the gateway by its configuration, by its socket, and by a URL with a token", async () => {
    for (const [args, env] of [
      [[], {}],
      [["--socket", "edge.sock"], {}],
      [["--url", url], { EDGE_TOKEN: "a-long-token" }],
    ] as const) {
      const { code, stdout, stderr } = await run(["status", ...args], env);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^edge \S+ {3}● well {3}(unix:|http:)/);
      expect(stdout).toMatch(/\n\/node +5 +0 % +0 %\n/);
      expect(stdout).not.toContain("\u001b");
    }
  });

  test("finds the gateway that was started with files that are wrong by now", async () => {
    const token = { token: "a-long-token" };
    for (const [internal_api, faulty] of [
      [{ ...token, socket: "./edge.sock" }, "nonsense: ["],
      [{}, "nonsense: ["],
      [token, `nonsense: 1\ninternal_api: ${JSON.stringify(token)}\n...\n`],
    ] as const) {
      const own = await startGateway({ config: { internal_api }, routes: [upstream("/node", origin)] });
      const files = ["config.yaml", "routes.yaml"].map((name) => join(own.folder, name));
      try {
        for (const file of files) writeFileSync(file, faulty);
        const { code, stdout, stderr } = await runProcess([EDGE_BINARY, "status"], {
          cwd: own.folder,
          timeout: 20_000,
        });
        expect([code, stderr]).toEqual([0, expect.stringContaining(`asks process ${own.pid}, which`)]);
        expect(stdout).toContain(`pid ${own.pid}`);
        const nodes = await runProcess([EDGE_BINARY, "nodes"], { cwd: own.folder, timeout: 20_000 });
        expect(nodes.stderr).toContain("404 there is no section cluster");
      } finally {
        await own.stop();
      }
    }
  });

  test("says as JSON what it says as text", async () => {
    const { code, stdout } = await run(["status", "--json"]);
    const said = JSON.parse(stdout);
    expect([code, said.well, said.findings, said.gateway.pid]).toEqual([0, true, [], gateway.pid]);
  });

  test("says until when certificates are good", async () => {
    const authority = await TestAuthority.make("Status");
    const names = [{ type: "dns", value: "localhost" }] as const;
    const shown = await authority.issue({ subject: "localhost", names, notAfter: daysFromNow(90) });
    const secure = await startGateway({
      config: { server: { tls: { port: freePort(), cert_file: "cert.pem", key_file: "key.pem" } } },
      files: { "cert.pem": shown.cert, "key.pem": shown.key },
    });
    try {
      const { code, stdout } = await runProcess([EDGE_BINARY, "status"], { cwd: secure.folder, timeout: 20_000 });
      expect([code, stdout]).toEqual([0, expect.stringMatching(/\ncertificates localhost (89|90)d/)]);
    } finally {
      await secure.stop();
    }
  });

  test("a gateway that is not well is exit code 1", async () => {
    await gateway.once(request("POST /internal/api/upstreams/drain", SHOWN, JSON.stringify({ target: origin.url })));
    const { code, stdout } = await run(["status"]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("✗ /node has no target left\n")]);
    await gateway.once(request("POST /internal/api/upstreams/undrain", SHOWN, JSON.stringify({ target: origin.url })));
  });

  test("says what keeps it from asking", async () => {
    const cases: [string[], string][] = [
      [["--url", url], "401 a bearer token is needed (set EDGE_TOKEN, or use --socket)"],
      [["--socket", "/none.sock"], "no gateway answers at unix:/none.sock"],
      [["--url", `http://127.0.0.1:${freePort()}`], "connection refused; is it running?"],
      [["--url", "http://"], "--url: expected a URL"],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await run(["status", ...args]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    expect((await runEdge(["status"], { config: { server: { port: "off" }, nonsense: 1 } })).stderr).toContain(
      "has no address of the internal endpoints",
    );
  });
});

const SHOWN = ["Authorization: Bearer a-long-token", "Content-Type: application/json"];

/** `edge top` on a terminal of its own. */
function onTerminal(cols: number, rows: number) {
  let text = "";
  const data = (_: unknown, bytes: Uint8Array) => {
    text += Buffer.from(bytes).toString();
  };
  const env = { PATH: process.env.PATH ?? "", TERM: "xterm" };
  const child = Bun.spawn([EDGE_BINARY, "top"], { cwd: gateway.folder, env, terminal: { cols, rows, data } });
  return {
    child,
    type: (keys: string) => void child.terminal!.write(keys),
    resize: (columns: number, lines: number) => child.terminal!.resize(columns, lines),
    /** What the screen was drawn as last. */
    screen: () => Bun.stripANSI(text.split("\u001b[H").at(-1)!),
    all: () => text,
  };
}

const RESTORED = "\u001b[?7h\u001b[?25h\u001b[?1049l";

describe("edge top", () => {
  test("in a pipe prints all lists once", async () => {
    const { code, stdout } = await run(["top"]);
    expect(code).toBe(0);
    for (const part of ["\nROUTES (", "\n/node ", "\nUPSTREAMS (1)", origin.url, "\nCLIENTS, last 10 s"]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).not.toContain("\u001b");
  });

  test("on a terminal shows a list, another one at a key, follows its size, and gives the terminal back", async () => {
    const top = onTerminal(80, 24);
    try {
      await eventually(() => expect(top.screen()).toMatch(/ROUTES \(\d+\)[\s\S]*\/node /));
      expect(top.all().startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
      expect(top.screen().split("\r\n").length).toBe(24);
      top.type("2");
      await eventually(() => expect(top.screen()).toContain(`${origin.url}`));
      top.type("n");
      await eventually(() => expect(top.screen()).toContain("upstreams by name"));
      top.resize(50, 12);
      await eventually(() => expect(top.screen().split("\r\n").length).toBe(12));
      await eventually(() =>
        expect(
          Math.max(
            ...top
              .screen()
              .split("\r\n")
              .map((line) => Bun.stringWidth(line)),
          ),
        ).toBeLessThanOrEqual(50),
      );
      top.type("p");
      await eventually(() => expect(top.screen()).toContain("paused"));
      top.type("q");
      expect(await top.child.exited).toBe(0);
      await eventually(() => expect(top.all().endsWith(RESTORED)).toBe(true));
    } finally {
      top.child.kill("SIGKILL");
    }
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("gives the terminal back at %s", async (signal) => {
    const top = onTerminal(100, 30);
    try {
      await eventually(() => expect(top.screen()).toContain("ROUTES ("));
      top.child.kill(signal);
      expect(await top.child.exited).toBe(0);
      await eventually(() => expect(top.all().endsWith(RESTORED)).toBe(true));
    } finally {
      top.child.kill("SIGKILL");
    }
  });

  test("goes on with a gateway that has been started again", async () => {
    const config = { internal_api: { socket: `${gateway.folder}/second.sock` } };
    const first = await startGateway({ config });
    let text = "";
    const data = (_: unknown, bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString();
    };
    const child = Bun.spawn([EDGE_BINARY, "top", "--socket", `${gateway.folder}/second.sock`], {
      cwd: gateway.folder,
      env: { PATH: process.env.PATH ?? "", TERM: "xterm" },
      terminal: { cols: 80, rows: 24, data },
    });
    try {
      await eventually(() => expect(text).toContain("ROUTES ("));
      await first.stop();
      await eventually(() => expect(text).toContain("trying again"));
      const second = await startGateway({ config });
      try {
        const before = text.length;
        await eventually(() => expect(Bun.stripANSI(text.slice(before))).toMatch(/ROUTES \(/));
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
      } finally {
        await second.stop();
      }
    } finally {
      child.kill("SIGKILL");
      first.kill();
    }
  });
});
