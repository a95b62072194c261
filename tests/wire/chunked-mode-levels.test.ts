import { afterAll, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// The mode is the route's, else that of proxy.transport, else the server's; empty counts as unset.
const origin = EchoOrigin.start();
const routes = [
  upstream("/unset", origin),
  upstream("/empty", origin, { inbound_chunked_mode: "" }),
  upstream("/normal", origin, { inbound_chunked_mode: "normalize" }),
  upstream("/reject", origin, { inbound_chunked_mode: "reject" }),
];
const transport = await startGateway({
  config: {
    server: { inbound_chunked_mode: "reject" },
    proxy: { transport: { inbound_chunked_mode: "passthrough" } },
  },
  routes,
});
const server = await startGateway({
  config: { server: { inbound_chunked_mode: "reject" }, proxy: { transport: { inbound_chunked_mode: "" } } },
  routes,
});
afterAll(async () => {
  await transport.stop();
  await stopAll(server, origin);
});

const post = (prefix: string) => request(`POST ${prefix}/echo`, ["Transfer-Encoding: chunked"], chunked("hello"));

test("the setting of proxy.transport stands before the server's", async () => {
  for (const prefix of ["/unset", "/empty"]) {
    expect(json<Echo>(await transport.once(post(prefix))).framing).toBe("chunked");
  }
});

test("the server's setting stands where nothing else is said", async () => {
  for (const prefix of ["/unset", "/empty"]) expect((await server.once(post(prefix))).status).toBe(501);
});

test("the route's setting stands before both", async () => {
  for (const gateway of [transport, server]) {
    expect(json<Echo>(await gateway.once(post("/normal"))).framing).toBe("length");
    expect((await gateway.once(post("/reject"))).status).toBe(501);
  }
});
