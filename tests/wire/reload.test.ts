import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ config: { server: { workers: 2 } }, routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

function writeRoutes(text: string): void {
  writeFileSync(join(gateway.folder, "routes.yaml"), text);
}

/** Status of a path, asked on many connections so that every worker is met. */
async function statuses(path: string): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.once(request(`GET ${path}`))));
  return [...new Set(replies.map((reply) => reply.status))];
}

test("SIGHUP takes new routes, and connections and requests in flight live through it", async () => {
  const mayAnswer = Promise.withResolvers<void>();
  origin.on("/held", async (call) => {
    await mayAnswer.promise;
    call.reply("200 OK", [], "finished");
  });
  const client = await gateway.connect();
  client.send(request("GET /node/held"));
  await origin.until("the request", () => origin.requestsFor("/held")[0]);
  writeRoutes(stringify([upstream("/renamed", origin)]));
  expect((await gateway.reload()).ok).toBe(true);
  expect(await statuses("/renamed/canary")).toEqual([200]);
  expect(await statuses("/node/canary")).toEqual([404]);
  mayAnswer.resolve();
  expect((await client.reply()).text).toBe("finished");
  expect((await client.exchange(request("GET /renamed/canary"))).status).toBe(200);
  client.close();
});

test("SIGHUP with a fault keeps the old routes and says what is wrong", async () => {
  writeRoutes("- type: upstream\n  prefix: /broken\n  targt: nowhere\n");
  const line = await gateway.reload();
  expect(line.ok).toBe(false);
  expect(JSON.stringify(line) + gateway.errors.tail()).toMatch(/routes\.yaml:3:3/);
  expect(await statuses("/renamed/canary")).toEqual([200]);
  writeRoutes(stringify([upstream("/third", origin)]));
  expect((await gateway.reload()).ok).toBe(true);
  expect(await statuses("/third/canary")).toEqual([200]);
});

test("what waits for a restart is named again at each reload, and no longer once it is taken back", async () => {
  const reload = async (workers: number): Promise<unknown> => {
    const server = { host: "127.0.0.1", port: gateway.port, workers, shutdown_timeout: "2s" };
    writeFileSync(join(gateway.folder, "config.yaml"), stringify({ server }));
    return (await gateway.reload()).needs_restart;
  };
  expect(await reload(3)).toEqual(["server.workers"]);
  expect(await reload(3)).toEqual(["server.workers"]);
  expect(await reload(2)).toEqual([]);
});
