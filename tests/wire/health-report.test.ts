import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { json, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced } from "./named-origins.ts";

interface Report {
  readonly status: string;
  readonly checked_at: string;
  readonly total: number;
  readonly healthy: number;
  readonly upstreams: readonly Record<string, unknown>[];
}

const certificate = await makeCertificate();
const [good, failing, silent, mute] = [
  ScriptedOrigin.start(),
  ScriptedOrigin.start(),
  ScriptedOrigin.start(),
  ScriptedOrigin.start(),
];
const secure = ScriptedOrigin.start({ tls: certificate });
const deadUrl = `http://127.0.0.1:${freePort()}`;
const breaker = {
  circuit_breaker: { failure_threshold: 2, open_duration: "1h", failure_statuses: 503 },
  retries: { attempts: 0 },
};
const gateway = await startGateway({
  routes: [
    balanced("/good", [{ url: `${good.url}/base` }, { url: good.url, backup: true }]),
    balanced("/checked", [{ url: good.url }], { health_check: { path: "/checked", interval: "1h" } }),
    balanced("/failing", [{ url: failing.url }], breaker),
    balanced("/silent", [{ url: silent.url }]),
    balanced("/mute", [{ url: mute.url }]),
    balanced("/dead", [{ url: deadUrl }, { url: "http://no-such-host.invalid" }]),
    { type: "upstream", path: "/exact", target: good.url },
    balanced("/secure", [{ url: secure.url }], { tls: { ca_file: "cert.pem" } }),
    balanced("/untrusted", [{ url: secure.url }]),
  ],
  files: { "cert.pem": certificate.cert },
});
afterAll(() => stopAll(gateway, good, failing, silent, mute, secure));

good.otherwise((call) => call.reply("200 OK", [], "fine"));
secure.otherwise((call) => call.reply("204 No Content"));
failing.otherwise((call) => call.reply("503 Service Unavailable", [], "busy"));
/** Probes that wait for an answer now, and the most that ever did. */
const waiting = { now: 0, most: 0 };
for (const origin of [silent, mute]) {
  origin.otherwise(async (call) => {
    waiting.most = Math.max(waiting.most, ++waiting.now);
    await call.takeOver().ended(1e9);
    waiting.now--;
  });
}

async function report(): Promise<Report> {
  const reply = await gateway.once(request("GET /internal/api/upstreams/health"));
  expect([reply.status, reply.fields.get("content-type")]).toEqual([200, "application/json"]);
  return json<Report>(reply);
}

describe("/internal/api/upstreams/health", () => {
  test("asks every target of every route, all at once, and says what came of it", async () => {
    const startedMs = Date.now();
    const found = await report();
    // The one does not wait for the end of the other.
    expect(waiting.most).toBe(2);
    expect(Date.parse(found.checked_at)).toBeWithin(startedMs - 1000, Date.now() + 1);
    expect([found.status, found.total]).toEqual(["degraded", 11]);
    const row = (route: string, target: string, more: Record<string, unknown>) =>
      expect.objectContaining({ route, target, latency_ms: expect.any(Number), consecutive_failures: 0, ...more });
    const fine = { status: "CLOSED", healthy: true, status_code: 200, error: "" };
    const away = (error: string) => ({ status: "UNREACHABLE", healthy: false, status_code: 0, error });
    expect(found.upstreams).toEqual([
      row("/good", `${good.url}/base`, fine),
      row("/good", good.url, fine),
      row("/checked", good.url, fine),
      row("/failing", failing.url, { status: "CLOSED", healthy: false, status_code: 503, error: "" }),
      row("/silent", silent.url, away("no response within 2000 ms")),
      row("/mute", mute.url, away("no response within 2000 ms")),
      row("/dead", deadUrl, away("connection refused")),
      row("/dead", "http://no-such-host.invalid", away("name not found")),
      row("/exact", good.url, fine),
      row("/secure", secure.url, { ...fine, status_code: 204 }),
      row("/untrusted", secure.url, away("TLS: DEPTH_ZERO_SELF_SIGNED_CERT")),
    ]);
    expect(found.healthy).toBe(found.upstreams.filter((one) => one.healthy === true).length);
    // However many routes ask for the same page, it is asked for once; /checked is also the active check.
    expect(good.requests.map((one) => one.target).sort()).toEqual(["/", "/base/", "/checked", "/checked"]);
    mute.otherwise((call) => call.reply("200 OK"));
    silent.otherwise((call) => call.reply("200 OK"));
  });

  test("tells of an open breaker, and changes nothing", async () => {
    for (let i = 0; i < 4; i++) await report();
    for (let i = 0; i < 3; i++) expect((await gateway.once(request("GET /failing/x"))).text).toBe("busy");
    const found = (await report()).upstreams.find((one) => one.route === "/failing");
    expect(found).toMatchObject({ status: "OPEN", healthy: false, status_code: 503, consecutive_failures: 2 });
  });

  test("runs one survey for all who ask at once", async () => {
    const mayAnswer = Promise.withResolvers<void>();
    silent.otherwise(async (call) => {
      await mayAnswer.promise;
      call.reply("200 OK");
    });
    const before = silent.requests.length;
    const reports = [report(), report(), report()];
    await eventually(async () => {
      const samples = await gateway.samples();
      expect(sumOf(samples, "gateway_requests_in_flight")).toBe(4);
    });
    mayAnswer.resolve();
    await Promise.all(reports);
    expect(silent.requests.length).toBe(before + 1);
  });

  test("is for GET and HEAD, from this machine", async () => {
    expect((await gateway.once(request("POST /internal/api/upstreams/health"))).status).toBe(405);
    expect((await gateway.once(request("HEAD /internal/api/upstreams/health"))).status).toBe(200);
  });
});

test("without upstreams all is well", async () => {
  const empty = await startGateway();
  expect(json<Report>(await empty.once(request("GET /internal/api/upstreams/health")))).toMatchObject({
    status: "healthy",
    total: 0,
    healthy: 0,
    upstreams: [],
  });
  await empty.stop();
});
