// What operators have done at run time goes on in the process that takes over. docs/endpoints.md#actions
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess, untilGone } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

const [one, two] = [EchoOrigin.start(), EchoOrigin.start()];
const held = ScriptedOrigin.start();
held.otherwise((call) => void call.takeOver());
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    { type: "upstream", prefix: "/pair", targets: [{ url: one.url }, { url: two.url }] },
    upstream("/closed", two),
    upstream("/node", two),
    upstream("/rolled", held, { canary: { target: two.url, steps: [50, 60, 100], every: "1h" } }),
  ],
});
const pids = [gateway.pid];
afterAll(() => {
  if (pids.length > 1) process.kill(pids.at(-1)!, "SIGKILL");
  gateway.kill();
  one.stop();
  two.stop();
  held.stop();
});

async function act(action: string, body: object): Promise<void> {
  const text = JSON.stringify(body);
  const lines = ["Content-Type: application/json", `Content-Length: ${text.length}`];
  expect((await gateway.once(request(`POST /internal/api/${action}`, lines) + text)).status).toBe(200);
}

const operations = async (): Promise<unknown> =>
  json<{ operations: unknown }>(await gateway.once(request("GET /internal/api/status"))).operations;

test("a change that meets an upgrade is refused with 503, and edge asks the process that takes over", async () => {
  const old = pids.at(-1)!;
  process.kill(old, "SIGUSR2");
  await gateway.log("the upgrade", ({ event, ok }) => event === "upgrade" && ok === true);
  // SIGHUP reaches the process that knows the files of before, too.
  process.kill(old, "SIGHUP");
  const { code, stderr } = await runProcess([EDGE_BINARY, "maintenance", "on", "--route", "/closed"], {
    cwd: gateway.folder,
    timeout: 60_000,
  });
  expect([code, stderr]).toEqual([0, ""]);
  const next = await gateway.log("the successor", ({ event, pid }) => event === "listening" && pid !== old);
  pids.push(Number(next.pid));
  await gateway.log(
    "its reload",
    ({ event, ok, generation }) => event === "config_reload" && ok === true && generation === 2,
  );
  await untilGone(old, 30_000);
  expect((await gateway.once(request("GET /closed/canary"))).status).toBe(503);
  expect(await operations()).toMatchObject({ maintenance: ["/closed"] });
  await act("maintenance", { on: false, route: "/closed" });
}, 90_000);

test("maintenance, drained targets and the level of the log, over two upgrades and a reload", async () => {
  await act("upstreams/drain", { target: one.url });
  await act("maintenance", { on: true, route: "/closed" });
  await act("log-level", { level: "debug" });
  const before = await operations();
  expect(before).toMatchObject({ log_level: "debug", maintenance: ["/closed"] });
  for (let upgrade = 0; upgrade < 2; upgrade++) {
    const old = pids.at(-1)!;
    process.kill(old, "SIGUSR2");
    const isNext = ({ event, pid }: { event?: unknown; pid?: unknown }) =>
      event === "listening" && !pids.includes(Number(pid));
    pids.push(Number((await gateway.logs.until("the successor", isNext, 30_000)).pid));
    await untilGone(old, 30_000);
    await gateway.log("who goes on", ({ event, successor }) => event === "draining" && successor === pids.at(-1));
    expect(await operations()).toEqual(before);
    expect((await gateway.once(request("GET /closed/canary"))).status).toBe(503);
    const seen = one.requestsFor("/canary").length;
    for (let n = 0; n < 8; n++) expect((await gateway.once(request("GET /pair/canary"))).status).toBe(200);
    expect(one.requestsFor("/canary").length).toBe(seen);
  }
  await act("maintenance", { on: false, route: "/closed" });
  expect((await gateway.once(request("GET /closed/canary"))).status).not.toBe(503);
}, 90_000);

test("an operator ends a rollout while the process before drains: its end does not bring the rollout back", async () => {
  const waiting = await eventually(async () => {
    const client = await gateway.connect();
    client.send(request("GET /rolled/x"));
    const isHeld = await Promise.race([client.reply().then(() => false), Bun.sleep(200).then(() => true)]);
    if (!isHeld) client.close();
    expect([isHeld, held.requestsFor("/x").length > 0]).toEqual([true, true]);
    return client;
  });
  const old = pids.at(-1)!;
  process.kill(old, "SIGUSR2");
  const isNext = ({ event, pid }: { event?: unknown; pid?: unknown }) =>
    event === "listening" && !pids.includes(Number(pid));
  pids.push(Number((await gateway.logs.until("the successor", isNext, 30_000)).pid));
  await gateway.log("who goes on", ({ event, successor }) => event === "draining" && successor === pids.at(-1));
  const canaries = async () =>
    json<{ canaries: unknown[] }>(await gateway.once(request("GET /internal/api/canaries"))).canaries[0];
  expect(await canaries()).toMatchObject({ state: "running", share: 50 });
  await act("canary", { route: "/rolled", action: "abort" });
  waiting.reset();
  await untilGone(old, 30_000);
  const files = readdirSync(gateway.folder, { recursive: true }).map(String);
  const kept = files.find((name) => name.endsWith("-canaries.json"))!;
  expect(Object.values(await Bun.file(join(gateway.folder, kept)).json())).toEqual([
    expect.objectContaining({ reason: "operator", record: expect.objectContaining({ phase: "aborted" }) }),
  ]);
  expect(await canaries()).toMatchObject({ state: "aborted", share: 0 });
}, 90_000);
