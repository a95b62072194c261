import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { samples } from "../harness/long-lane.ts";
import { expectNothingLeft } from "../harness/memory.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";
import { stopAll } from "../harness/teardown.ts";

/** Rounds are as many as it takes until one leaves nothing behind; there are a hundred reloads at least in the long lane. */
const RELOADS_A_ROUND = samples(25, 8);
const LEAST_RELOADS = samples(100, 32);
const ROUTES = 200;

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2, access_log: { enabled: false } } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

/** The route that is asked for stays; all around it change with every reload. */
function routesOf(reload: number): string {
  const others = Array.from({ length: ROUTES }, (_, i) => upstream(`/r${reload}-${i}`, origin));
  return stringify([...others, upstream("/node", origin, { retries: { attempts: reload % 3 } })]);
}

test("reloads under load fail no request, cut no WebSocket, and leave nothing behind", async () => {
  const socket = await RawClient.connect(gateway.port);
  const handshake = ["Connection: Upgrade", "Upgrade: websocket"];
  expect((await socket.exchange(request("GET /node/socket", handshake))).status).toBe(101);
  const load = startSteadyClients(gateway.port, "/node/canary");
  const reloads = () => gateway.logs.json.filter((line) => line.event === "config_reload");
  let reload = 0;
  const reloadOnce = async () => {
    reload++;
    writeFileSync(join(gateway.folder, "routes.yaml"), routesOf(reload));
    gateway.signal("SIGHUP");
    await eventually(() => expect(reloads().length).toBe(reload));
  };
  await expectNothingLeft(gateway, async () => {
    for (let i = 0; i < RELOADS_A_ROUND; i++) await reloadOnce();
  });
  while (reload < LEAST_RELOADS) await reloadOnce();
  const goodUpToHere = load.good;
  await eventually(() => expect(load.good).toBeGreaterThan(goodUpToHere + 20));
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(reloads().every((line) => line.ok === true)).toBe(true);
  socket.send("still here");
  expect((await socket.take(10)).toString()).toBe("still here");
  socket.close();
  expect((await gateway.once(request(`GET /r${reload}-7/canary`))).status).toBe(200);
  expect((await gateway.once(request("GET /r1-7/canary"))).status).toBe(404);
}, 300_000);
