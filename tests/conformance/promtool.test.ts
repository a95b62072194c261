import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Debian's package `prometheus` carries it, with 96 MB around it: too much to install for this, and the same rules stand in
// the tests of the exposition.
const PROMTOOL = process.env.PROMTOOL ?? Bun.which("promtool");
if (PROMTOOL === null) console.error("skipped: there is no promtool here");

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { waf: { enabled: true }, rate_limit: { requests: 1000, window: "1s" } } },
  routes: [upstream("/node", origin), upstream("/down", { url: "http://127.0.0.1:1" })],
});
afterAll(() => stopAll(gateway, origin));

test.skipIf(PROMTOOL === null)("promtool check metrics finds nothing", async () => {
  for (const target of ["/node/canary", "/down/x", "/nowhere", "/../../etc/passwd", "/health"]) {
    await gateway.once(request(`GET ${target}`));
  }
  await gateway.once("GET / HTTP/1.1\r\nHost: a\r\nBad : x\r\n\r\n");
  const exposition = (await gateway.once(request("GET /metrics"))).text;
  const child = Bun.spawn([PROMTOOL!, "check", "metrics"], {
    stdin: Buffer.from(exposition),
    stdout: "pipe",
    stderr: "pipe",
    timeout: 15_000,
  });
  const said = (await child.stdout.text()) + (await child.stderr.text());
  expect([said, await child.exited]).toEqual(["", 0]);
});
