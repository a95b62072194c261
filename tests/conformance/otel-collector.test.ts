import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { freePort } from "../harness/ports.ts";
import { request } from "../harness/raw-client.ts";

// The OpenTelemetry collector takes what the gateway sends, and shows it as it understood it. Building it takes over a minute.
const BUILD_MS = 600_000;
const folder = mkdtempSync(join(tmpdir(), "edge-otel-"));
const binary = IS_LONG ? await buildCollector() : null;

describe.skipIf(binary === null)("the OpenTelemetry collector", () => {
  const origin = EchoOrigin.start();
  let gateway: Gateway;
  let collector: Bun.Subprocess<"ignore", "ignore", "pipe">;
  let shown = "";

  beforeAll(async () => {
    const port = await freePort();
    const config = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { debug: { verbosity: "detailed" } },
      service: {
        telemetry: { metrics: { level: "none" } },
        pipelines: Object.fromEntries(
          ["traces", "metrics", "logs"].map((signal) => [signal, { receivers: ["otlp"], exporters: ["debug"] }]),
        ),
      },
    };
    writeFileSync(join(folder, "collector.yaml"), stringify(config));
    collector = Bun.spawn([binary!, "--config", join(folder, "collector.yaml")], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    void (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of collector.stderr) shown += decoder.decode(bytes, { stream: true });
    })();
    await eventually(() => expect(shown).toContain("Everything is ready"));
    const otlp = { endpoint: `http://127.0.0.1:${port}`, traces: { sample: 1 }, logs: true, metrics_interval: "1s" };
    gateway = await startGateway({
      config: { server: { trusted_proxies: ["127.0.0.1/32"] }, telemetry: { otlp, service_name: "shop-edge" } },
      routes: [upstream("/node", origin)],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    collector.kill();
    origin.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("understands spans, metrics and lines", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await gateway.once(request("GET /node/echo", [`traceparent: 00-${traceId}-b7ad6b7169203331-01`]));
    await eventually(() => {
      expect(shown).toMatch(new RegExp(`Trace ID +: ${traceId}\\s+Parent ID +: b7ad6b7169203331`));
      expect(shown).toMatch(/Name +: GET \/node\s+Kind +: Server/);
      expect(shown).toMatch(/Name +: GET\s+Kind +: Client/);
      expect(shown).toContain("-> service.name: Str(shop-edge)");
      expect(shown).toContain("-> http.response.status_code: Int(200)");
      expect(shown).toMatch(/Name: gateway_requests_total[\s\S]*?DataType: Sum\s+-> IsMonotonic: true/);
      expect(shown).toMatch(/Name: gateway_request_duration_seconds[\s\S]*?Unit: s\s+-> DataType: Histogram/);
      expect(shown).toMatch(/LogRecord #\d+[\s\S]*?EventName: access/);
    });
    expect(shown).not.toMatch(/\berror\b.*(proto|unmarshal)/i);
  });
});

/** Null where Go or the modules cannot be had, which is said in one line. */
async function buildCollector(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: the OpenTelemetry collector needs go (Debian: apt install golang)");
    return null;
  }
  const built = join(folder, "collector");
  const build = Bun.spawn([go, "build", "-o", built, "."], {
    cwd: join(import.meta.dir, "otel-collector"),
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  if ((await build.exited) === 0) return built;
  console.log("skipped: the modules of the OpenTelemetry collector cannot be had");
  return null;
}
