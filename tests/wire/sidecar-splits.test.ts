// docs/sidecar.md#splits: time limits and retries of a split's own.
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge } from "../harness/gateway.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";

const origin = EchoOrigin.start();
origin.on("/slow-head/x", async (call) => {
  await Bun.sleep(600);
  call.reply("200 OK", [], "late");
});
origin.on("/patient/x", async (call) => {
  await Bun.sleep(600);
  call.reply("200 OK", [], "late");
});
origin.on("/slow-body/x", async (call) => {
  call.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
  await Bun.sleep(3000);
  call.send("67890");
});
const away = `http://127.0.0.1:${freePort()}`;
const both = [{ target: origin.url }, { target: away }];
const traffic_splits = [
  { prefix: "/slow-head", timeouts: { response_header: "200ms" }, backends: [{ target: origin.url }] },
  { prefix: "/patient", backends: [{ target: origin.url }] },
  { prefix: "/slow-body", timeouts: { total: "300ms" }, backends: [{ target: origin.url }] },
  { prefix: "/tried-once", retries: { attempts: 0 }, backends: both },
  { prefix: "/tried-again", retries: { attempts: 1 }, backends: both },
];
const { gateway, egress } = await startSidecar({ mode: "egress", traffic_splits });
afterAll(async () => {
  await gateway.stop();
  origin.stop();
});

const get = (path: string) => exchangeOnce(egress, request(`GET ${path}`));

test("a response that does not begin in the split's time is 504; other splits wait", async () => {
  const fromMs = performance.now();
  expect((await get("/slow-head/x")).status).toBe(504);
  expect(performance.now() - fromMs).toBeLessThan(550);
  expect((await get("/patient/x")).text).toBe("late");
});

test("a response that is not complete in the split's time is cut", async () => {
  const fromMs = performance.now();
  expect(await get("/slow-body/x").catch(() => "cut")).toBe("cut");
  expect(performance.now() - fromMs).toBeLessThan(2000);
});

test("a backend that is away is passed over where the split allows another attempt", async () => {
  const statusesOf = async (path: string) => {
    const all: number[] = [];
    for (let i = 0; i < 40; i++) all.push((await get(path)).status);
    return [...new Set(all)].sort();
  };
  expect(await statusesOf("/tried-again/x")).toEqual([200]);
  expect(await statusesOf("/tried-once/x")).toEqual([200, 502]);
});

test("edge check shows them", async () => {
  const config = { sidecar: { enabled: true, mode: "egress", traffic_splits: traffic_splits.slice(0, 1) } };
  const { stdout } = await runEdge(["check", "--print"], { config });
  expect(stdout).toContain("response_header: 200ms");
});
