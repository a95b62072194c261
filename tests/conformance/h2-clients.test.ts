import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";

// Other people's HTTP/2 clients before the gateway, without TLS. Those that are not installed are left out.

const MIB = 1024 * 1024;
const STREAMS = 100;
/** The two hundred bodies are 200 MiB together: what is kept of them must not grow with that. */
const MAX_PEAK_MB = 320;
const BIG = Buffer.alloc(MIB, "0123456789abcdef");

let origin: EchoOrigin;
let gateway: Gateway;
let folder: string;

beforeAll(async () => {
  origin = EchoOrigin.start();
  origin.on("/big", (call) => call.reply("200 OK", ["Content-Type: application/octet-stream"], BIG));
  gateway = await startGateway({
    config: { server: { access_log: { enabled: false } } },
    routes: [upstream("/node", origin), upstream("/pass", origin, { inbound_chunked_mode: "passthrough" })],
  });
  folder = mkdtempSync(join(tmpdir(), "edge-h2-clients-"));
  writeFileSync(join(folder, "big"), BIG);
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
  rmSync(folder, { recursive: true, force: true });
});

function have(tool: string): boolean {
  const isThere = Bun.which(tool) !== null;
  if (!isThere) console.log(`skipped: ${tool} is not installed`);
  return isThere;
}

async function run(...command: string[]): Promise<{ code: number; stdout: Buffer; stderr: string }> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 60_000, killSignal: "SIGKILL" });
  const [stdout, stderr] = await Promise.all([child.stdout.bytes(), child.stderr.text()]);
  return { code: await child.exited, stdout: Buffer.from(stdout), stderr };
}

const url = (path: string): string => `http://127.0.0.1:${gateway.port}${path}`;

function expectBoundedMemory(): void {
  const peak = gateway.memory()?.peak;
  if (peak !== undefined) expect(peak / MIB).toBeLessThan(MAX_PEAK_MB);
}

describe.skipIf(!have("curl"))("curl", () => {
  const curl = (...args: string[]) => run("curl", "-sS", "--max-time", "20", "--http2-prior-knowledge", ...args);

  test("downloads and uploads", async () => {
    const down = await curl(url("/node/big"));
    expect([down.stderr, sha256(down.stdout)]).toEqual(["", sha256(BIG)]);
    const up = await curl("-T", join(folder, "big"), url("/node/up"));
    expect(JSON.parse(up.stdout.toString())).toMatchObject({ method: "PUT", length: MIB, sha256: sha256(BIG) });
    const unknown = await curl("-T", join(folder, "big"), "-H", "Content-Length:", url("/pass/up"));
    expect(JSON.parse(unknown.stdout.toString())).toMatchObject({ length: MIB, sha256: sha256(BIG) });
  });

  test("a refused upload is answered", async () => {
    const args = ["-o", "/dev/null", "-w", "%{http_code}", "-T", join(folder, "big"), url("/nowhere")];
    expect((await curl(...args)).stdout.toString()).toBe("404");
  });
});

describe.skipIf(!have("nghttp"))("nghttp", () => {
  test("one connection, many requests, padding", async () => {
    const paths = Array.from({ length: 20 }, (_, i) => url(`/node/canary?${i}`));
    const { code, stderr, stdout } = await run("nghttp", "--no-dep", "--padding=64", ...paths);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.toString().match(/canary_ok/g)?.length).toBe(20);
  });
});

describe.skipIf(!have("h2load"))("h2load", () => {
  const load = async (...args: string[]): Promise<string> => (await run("h2load", ...args)).stdout.toString();

  test(`${STREAMS} streams of 1 MiB down at once, memory bounded`, async () => {
    const report = await load("-n", `${STREAMS}`, "-c", "1", "-m", `${STREAMS}`, url("/node/big"));
    expect(report).toContain(`${STREAMS} succeeded, 0 failed, 0 errored`);
    expectBoundedMemory();
  }, 60_000);

  test(`${STREAMS} streams of 1 MiB up at once, memory bounded`, async () => {
    const args = ["-n", `${STREAMS}`, "-c", "1", "-m", `${STREAMS}`, "-d", join(folder, "big")];
    const report = await load(...args, url("/node/up"));
    expect(report).toContain(`${STREAMS} succeeded, 0 failed, 0 errored`);
    expectBoundedMemory();
  }, 60_000);

  test("many connections and small requests, proxied", async () => {
    const report = await load("-n", "5000", "-c", "10", "-m", "20", url("/node/canary"));
    expect(report).toContain("5000 succeeded, 0 failed, 0 errored");
  }, 60_000);
});

describe.skipIf(!have("node"))("node", () => {
  test("streams both ways on one connection, with its own HPACK and padding", async () => {
    const script = `
      const http2 = require("node:http2");
      const session = http2.connect("${url("")}", { paddingStrategy: http2.constants.PADDING_STRATEGY_MAX });
      const one = (i) => new Promise((resolve, reject) => {
        const stream = session.request({ ":method": "POST", ":path": "/node/echo/" + i, "x-value": "v".repeat(i), cookie: "a=" + i });
        let text = "";
        stream.setEncoding("utf8").on("data", (t) => { text += t; }).on("end", () => resolve(JSON.parse(text))).on("error", reject);
        stream.end("b".repeat(i * 1000));
      });
      Promise.all(Array.from({ length: 100 }, (_, i) => one(i))).then((replies) => {
        const good = replies.filter((r, i) => r.length === i * 1000 && (r.headers["x-value"] ?? "").length === i && r.headers.cookie === "a=" + i);
        console.log(good.length);
        session.close();
      }, (error) => { console.log(String(error)); process.exit(1); });`;
    const { stdout } = await run("node", "-e", script);
    expect(stdout.toString().trim()).toBe("100");
  });
});
