import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import type { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { askInTurn, balanced, namedOrigins, tally, times } from "./named-origins.ts";

const origins = namedOrigins("a", "b", "c", "d", "e");
const [a, b, c, d, e] = origins as [ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin];
const check = {
  path: "/healthz?deep=1",
  interval: "60ms",
  timeout: "10s",
  healthy_threshold: 2,
  unhealthy_threshold: 2,
};
// Before the first probe.
for (const one of [c, e]) one.on("/healthz", (call) => call.reply("204 No Content"));
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    balanced("/n", [{ url: `${a.url}/base` }, { url: b.url }], { health_check: check, retries: { attempts: 0 } }),
    balanced("/quiet", [{ url: d.url }], { health_check: { ...check, timeout: "1s" } }),
    balanced("/strict", [{ url: c.url }, { url: e.url, backup: true }], {
      health_check: { ...check, expect_status: 204 },
    }),
  ],
});
afterAll(() => stopAll(gateway, ...origins));

/** Which targets of /n are in use. */
async function inUse(): Promise<string[]> {
  return Object.keys(tally(await askInTurn(gateway, times(8, "/n/x")))).sort();
}

async function healthy(url: string): Promise<number> {
  const samples = await gateway.samples();
  return sumOf(samples, "gateway_upstream_healthy", { upstream: url });
}

describe("an active health check", () => {
  test("asks each target for its page, again and again", async () => {
    await eventually(() => expect(a.requestsFor("/healthz").length).toBeGreaterThan(3));
    await eventually(() => expect(b.requestsFor("/healthz").length).toBeGreaterThan(3));
    const probe = a.requestsFor("/healthz")[0]!;
    expect([probe.method, probe.target, probe.fields.get("host")]).toEqual([
      "GET",
      "/healthz?deep=1",
      `127.0.0.1:${a.port}`,
    ]);
    expect(probe.fields.get("x-forwarded-for")).toBeNull();
    expect(await inUse()).toEqual(["a", "b"]);
    expect(await healthy(a.url)).toBe(1);
  });

  test("takes a target out that answers badly, for all workers, and back when it is well", async () => {
    a.on("/healthz", (call) => call.reply("500 Internal Server Error"));
    await eventually(async () => expect(await inUse()).toEqual(["b"]));
    for (let i = 0; i < 10; i++) expect(await inUse()).toEqual(["b"]);
    expect([await healthy(a.url), await healthy(b.url)]).toEqual([0, 1]);
    const line = await gateway.log(
      "upstream_unhealthy",
      (one) => one.event === "upstream_unhealthy" && one.upstream === a.url,
    );
    expect(line).toMatchObject({ upstream: a.url, status: 500, error: "" });
    a.on("/healthz", (call) => call.reply("200 OK"));
    await eventually(async () => expect(await inUse()).toEqual(["a", "b"]));
    await gateway.log("upstream_healthy", (one) => one.event === "upstream_healthy" && one.upstream === a.url);
    expect(await healthy(a.url)).toBe(1);
  });

  test("does not mind one bad answer", async () => {
    let calls = 0;
    b.on("/healthz", (call) => call.reply(calls++ % 2 === 0 ? "503 Service Unavailable" : "200 OK"));
    await eventually(() => expect(calls).toBeGreaterThan(7));
    expect(await inUse()).toEqual(["a", "b"]);
    b.on("/healthz", (call) => call.reply("200 OK"));
  });

  test("counts silence as a bad answer, and a closed port", async () => {
    d.on("/healthz", (call) => {
      call.takeOver();
    });
    await eventually(async () => expect(await healthy(d.url)).toBe(0));
    expect(await askInTurn(gateway, ["/quiet/x"])).toEqual(["d"]);
    d.on("/healthz", (call) => call.reply("200 OK"));
    await eventually(async () => expect(await healthy(d.url)).toBe(1));
    const { port } = b;
    b.stop();
    await eventually(async () => expect(await inUse()).toEqual(["a"]));
    b.listen(port);
    await eventually(async () => expect(await inUse()).toEqual(["a", "b"]));
  });

  test("leaves all in use when no target is well", async () => {
    const bad = "404 Not Found";
    for (const origin of [a, b]) origin.on("/healthz", (call) => call.reply(bad));
    await eventually(async () => expect([await healthy(a.url), await healthy(b.url)]).toEqual([0, 0]));
    for (let i = 0; i < 5; i++) expect(await inUse()).toEqual(["a", "b"]);
    for (const origin of [a, b]) origin.on("/healthz", (call) => call.reply("200 OK"));
    await eventually(async () => expect([await healthy(a.url), await healthy(b.url)]).toEqual([1, 1]));
  });

  test("keeps to expect_status", async () => {
    expect(await askInTurn(gateway, ["/strict/x"])).toEqual(["c"]);
    c.on("/healthz", (call) => call.reply("200 OK"));
    await eventually(async () => expect(await askInTurn(gateway, ["/strict/x"])).toEqual(["e"]));
  });

  test("goes on over a reload with what it knows", async () => {
    expect((await gateway.reload()).ok).toBe(true);
    for (let i = 0; i < 10; i++) expect(await askInTurn(gateway, ["/strict/x"])).toEqual(["e"]);
    c.on("/healthz", (call) => call.reply("204 No Content"));
    await eventually(async () => expect(await askInTurn(gateway, ["/strict/x"])).toEqual(["c"]));
  });
});
