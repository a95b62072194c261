// A machine that sleeps, or gives the gateway no time: what came meanwhile was in time.
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const TIMEOUT_MS = 1000;

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { header_timeout: "1s", read_timeout: "1s", idle_timeout: "1s" } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

test("who has sent while the gateway stood still is not too late", async () => {
  const idle = await gateway.connect();
  expect((await idle.exchange(request("GET /health"))).status).toBe(200);
  const inHead = await gateway.connect();
  inHead.send("GET /health HTTP/1.1\r\n");
  const inBody = await gateway.connect();
  inBody.send(request("POST /node/echo", ["Content-Length: 8"], "half"));
  await origin.until("the request", () => origin.requestsFor("/echo").length > 0 || undefined);
  gateway.signal("SIGSTOP");
  await Bun.sleep(TIMEOUT_MS * 1.5);
  idle.send(request("GET /health"));
  inHead.send("Host: a.test\r\n\r\n");
  inBody.send("more");
  await Promise.all([idle, inHead, inBody].map((client) => client.flushed()));
  gateway.signal("SIGCONT");
  const replies = [await idle.reply(), await inHead.reply(), await inBody.reply("POST")];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  for (const client of [idle, inHead, inBody]) client.close();
});
