import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, exchangeOnce, json, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";
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

describe("the listeners of a sidecar", () => {
  test.each([
    ["of the server", { server: { inbound_chunked_mode: "reject" } }],
    ["of the transport", { proxy: { transport: { inbound_chunked_mode: "reject" } } }],
  ])("take the mode reject %s", async (_, config) => {
    const app = EchoOrigin.start();
    const split = { prefix: "/", backends: [{ target: app.url, weight: 1 }] };
    const { gateway, ingress, egress } = await startSidecar(
      { app_port: app.port, traffic_splits: [split] },
      {},
      config,
    );
    try {
      for (const port of [ingress, egress]) {
        const reply = await exchangeOnce(port, post(""));
        expect([reply.status, reply.fields.get("connection")]).toEqual([501, "close"]);
        expect(reply.text).toBe("Inbound chunked transfer encoding is disabled");
        expect((await exchangeOnce(port, request("POST /echo", [], "hello"))).status).toBe(200);
      }
      expect(app.requests.length).toBe(2);
    } finally {
      await stopAll(gateway, app);
    }
  });

  test.each([
    ["passthrough", undefined, "chunked"],
    ["normalize", undefined, "length"],
    ["passthrough", true, "length"],
    ["normalize", false, "chunked"],
  ])("with %s and buffer %p hand chunked bodies on as %p", async (mode, buffer, framing) => {
    const app = EchoOrigin.start();
    const config = { server: { inbound_chunked_mode: mode } };
    const { gateway, ingress } = await startSidecar(
      { mode: "ingress", app_port: app.port, ...(buffer === undefined ? {} : { buffer }) },
      {},
      config,
    );
    try {
      expect(json<Echo>(await exchangeOnce(ingress, post(""))).framing).toBe(framing);
      expect(json<Echo>(await exchangeOnce(ingress, request("POST /echo", [], "hello"))).framing).toBe("length");
    } finally {
      await stopAll(gateway, app);
    }
  });
});
