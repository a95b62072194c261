import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";
import { stopAll } from "../harness/teardown.ts";

const RELOADS = 100;
const MIB = 1024 * 1024;
/** Garbage that is not collected yet; a graph that stayed would be a hundred of them. */
const GROWTH_BYTES = 48 * MIB;

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2, access_log: { enabled: false } } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

/** The route that is asked for stays; fifty around it change with every reload. */
function routesOf(round: number): string {
  const others = Array.from({ length: 50 }, (_, i) => upstream(`/r${round}-${i}`, origin));
  return stringify([...others, upstream("/node", origin, { retries: { attempts: round % 3 } })]);
}

test("a hundred reloads under load fail no request, cut no WebSocket, and leave nothing behind", async () => {
  const socket = await RawClient.connect(gateway.port);
  const handshake = ["Connection: Upgrade", "Upgrade: websocket"];
  expect((await socket.exchange(request("GET /node/socket", handshake))).status).toBe(101);
  const load = startSteadyClients(gateway.port, "/node/canary");
  const reloads = () => gateway.logs.json.filter((line) => line.event === "config_reload");
  let settled = 0;
  for (let round = 1; round <= RELOADS; round++) {
    writeFileSync(join(gateway.folder, "routes.yaml"), routesOf(round));
    gateway.signal("SIGHUP");
    await eventually(() => expect(reloads().length).toBe(round));
    if (round === RELOADS / 2) settled = gateway.memory()?.resident ?? 0;
  }
  const grown = (gateway.memory()?.resident ?? 0) - settled;
  const goodUpToHere = load.good;
  await eventually(() => expect(load.good).toBeGreaterThan(goodUpToHere + 20));
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(reloads().every((line) => line.ok === true)).toBe(true);
  expect(grown).toBeLessThan(GROWTH_BYTES);
  socket.send("still here");
  expect((await socket.take(10)).toString()).toBe("still here");
  socket.close();
  expect((await gateway.once(request(`GET /r${RELOADS}-7/canary`))).status).toBe(200);
  expect((await gateway.once(request("GET /r1-7/canary"))).status).toBe(404);
}, 60_000);
