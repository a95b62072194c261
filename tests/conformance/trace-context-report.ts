// The entry of scripts/conformance-trace-context: the W3C's harness calls a small service behind edge, which calls it back.
import { join } from "node:path";
import { freePort, startGateway } from "../harness/gateway.ts";
import { checkoutOf, versionOf, writeSuitePage } from "./suite-page.ts";

/** What the harness asks the service to call. */
interface Call {
  readonly url: string;
  readonly arguments: unknown;
}

const usage = "scripts/conformance-trace-context CHECKOUT, a checkout of github.com/w3c/trace-context";
const folder = checkoutOf(join("test", "tracecontext", "traceparent.py"), usage);
if (Bun.spawnSync(["python3", "-c", "import aiohttp"], { stderr: "ignore" }).exitCode !== 0) {
  process.stderr.write("trace-context: skipped, python3 has no module aiohttp (pip install aiohttp)\n");
  process.exit(2);
}

/** Why edge does otherwise. */
const REASONS: Readonly<Record<string, string>> = {};

/** Where the harness listens. */
const HARNESS = "http://127.0.0.1:7777";

/** Calls what it is asked to by way of edge, with the two fields as edge has handed them on. */
const port = await freePort();
const service = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const headers = new Headers({ "content-type": "application/json" });
    for (const name of ["traceparent", "tracestate"]) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    for (const one of (await request.json()) as Call[])
      await fetch(`http://127.0.0.1:${port}${new URL(one.url).pathname}`, {
        method: "POST",
        headers,
        body: JSON.stringify(one.arguments),
      });
    return Response.json(null);
  },
});
const gateway = await startGateway({
  port,
  config: { server: { trusted_proxies: ["127.0.0.1"] }, telemetry: {} },
  routes: [
    { type: "upstream", prefix: "/test", target: `http://127.0.0.1:${service.port}` },
    { type: "upstream", prefix: "/", target: HARNESS },
  ],
});
const run = Bun.spawn(["timeout", "300", "python3", "test.py", `http://127.0.0.1:${gateway.port}/test`], {
  cwd: join(folder, "test"),
  env: { ...process.env, STRICT_LEVEL: "2", SPEC_LEVEL: "2" },
  stdout: "ignore",
  stderr: "pipe",
});
const output = await new Response(run.stderr).text();
await run.exited;
gateway.signal("SIGTERM");
await gateway.exited();
await service.stop(true);

const results = [...output.matchAll(/^(test_\w+) \((?:\w+\.)*(\w+)[^)]*\).*?(ok|FAIL|ERROR|skipped.*)$/gms)];
const failed = results.filter(([, , , result]) => result === "FAIL" || result === "ERROR");
const skipped = results.filter(([, , , result]) => result?.startsWith("skipped") === true);
writeSuitePage({
  name: "trace-context",
  title: "W3C trace-context",
  intro:
    "The harness of github.com/w3c/trace-context, level 2, strict: `scripts/conformance-trace-context CHECKOUT`. The service that it calls is behind edge, and calls back by way of edge with the two fields as they came; the harness is one of `trusted_proxies`.",
  version: versionOf(folder),
  counts: [
    ["passed", results.length - failed.length - skipped.length],
    ["failed", failed.length],
    ["skipped by the suite", skipped.length],
  ],
  columns: ["test", "reason"],
  rows: failed.map(([, name = "", group = ""]) => [`${group}.${name}`, REASONS[name] ?? "not explained yet"]),
});
process.exit(results.length > 0 && failed.every(([, name]) => REASONS[name!] !== undefined) ? 0 : 1);
