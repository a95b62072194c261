// One client that fills what waits for a slow helper leaves others a place. docs/security.md#shared-resources-and-their-bounds
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

setDefaultTimeout(60_000);
const PLACES = 1024;
const origin = EchoOrigin.start();
const service = ScriptedOrigin.start();
let held = 0;
service.on("/verify", (call: OriginCall) => {
  if ((call.request.fields.get("x-good") ?? "") !== "") return call.reply("200 OK", [], "");
  held++;
  return undefined;
});
/** Takes connections and reads nothing. */
const deaf: Socket[] = [];
const syslog = createServer((socket) => {
  socket.on("error", () => {});
  deaf.push(socket.pause());
});
await new Promise<void>((resolve) => syslog.listen(0, "127.0.0.1", resolve));
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      trusted_proxies: ["127.0.0.1/32"],
      access_log: {
        enabled: true,
        outputs: [{ syslog: `tcp://127.0.0.1:${(syslog.address() as { port: number }).port}` }],
      },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/guarded", origin, { auth: { forward: { url: `${service.url}/verify`, timeout: "50s" } } }),
  ],
});
afterAll(async () => {
  for (const socket of deaf) socket.destroy();
  syslog.close();
  await stopAll(gateway, origin, service);
});

const ask = (path: string, address: string, lines: readonly string[] = []) =>
  request(`GET ${path}`, [`X-Forwarded-For: ${address}`, ...lines]);

test("of an authentication service: the client that has all places is refused, another is not", async () => {
  const clients: RawClient[] = [];
  for (let i = 0; i < PLACES; i++) {
    const client = await gateway.connect();
    client.send(ask("/guarded/echo", "192.0.2.1"));
    clients.push(client);
  }
  await eventually(() => expect(held).toBe(PLACES));
  expect((await gateway.once(ask("/guarded/echo", "192.0.2.1", ["X-Good: 1"]))).status).toBe(503);
  expect((await gateway.once(ask("/guarded/echo", "192.0.2.2", ["X-Good: 1"]))).status).toBe(200);
  expect((await gateway.once(ask("/node/echo", "192.0.2.1"))).status).toBe(200);
  for (const client of clients) client.reset();
});

test("of the log: a server of syslog that reads nothing costs lines, and no request", async () => {
  const target = `/node/echo?${"x".repeat(4000)}`;
  const client = await gateway.connect();
  // More than its socket and the queue before it take.
  for (let i = 0; i < 6000; i++) expect((await client.exchange(ask(target, "192.0.2.3"))).status).toBe(200);
  client.close();
  expect((await gateway.once(ask("/node/echo", "192.0.2.4"))).status).toBe(200);
});

/** Hands on lines until the gateway listens; then it holds the pipe and reads no more. */
const READS_THE_START =
  'exec 3<pipe; while read -r line <&3; do echo "$line"; case "$line" in *listening*) exec sleep 20;; esac; done';

test("of standard output: a pipe that is not read costs lines, and no request", async () => {
  const edge = await startGateway({
    config: { server: { workers: 1, access_log: { enabled: true } } },
    routes: [upstream("/node", origin)],
    runner: ["sh", "-c", `mkfifo pipe; (${READS_THE_START}) & exec "$0" "$@" >pipe`],
  });
  const target = `/node/echo?${"x".repeat(1000)}`;
  const client = await edge.connect();
  // The pipe takes 64 KiB.
  for (let i = 0; i < 1000; i++) expect((await client.exchange(request(`GET ${target}`))).status).toBe(200);
  client.close();
  expect((await edge.once(request("GET /health"))).status).toBe(200);
  edge.kill();
});
