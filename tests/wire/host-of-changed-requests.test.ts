// The host that a request names stays its host where the gateway takes fields out before it. docs/security.md#paths-and-hosts
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin, echoUpgrade } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Field, H2Client } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const hosts: string[] = [];
origin.on("/stale", (call) => {
  hosts.push(call.request.fields.get("host") ?? "");
  call.reply("200 OK", ["Cache-Control: max-age=1, stale-while-revalidate=600", 'ETag: "a"'], "kept");
});
origin.on("/socket", (call) => {
  hosts.push(call.request.fields.get("host") ?? "");
  return echoUpgrade(call);
});
const gateway = await startGateway({
  config: { server: { workers: 1, cache: { enabled: true }, http2: { extended_connect: true } } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

test.each(['If-None-Match: "x"', "Range: bytes=0-1", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"])(
  "a fetch in the background, asked for with %s before Host",
  async (line) => {
    const path = `/node/stale?${encodeURIComponent(line)}`;
    hosts.length = 0;
    await gateway.once(request(`GET ${path}`));
    await Bun.sleep(1100);
    await gateway.once(request(`GET ${path}`, [line, "Host: gw.test", "X-Next: evil.test", "X-Other: worse.test"]));
    await eventually(() => expect(hosts.length).toBe(2));
    expect(hosts).toEqual(hosts.map(() => "gw.test"));
  },
);

test("a WebSocket over HTTP/2 whose fields of the handshake come before host", async () => {
  hosts.length = 0;
  const client = await H2Client.connect(gateway.port);
  const fields: Field[] = [
    [":method", "CONNECT"],
    [":protocol", "websocket"],
    [":scheme", "http"],
    [":path", "/node/socket"],
    [":authority", "gw.test"],
    ["sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="],
    ["sec-websocket-version", "13"],
    ["host", "gw.test"],
    ["x-next", "evil.test"],
  ];
  client.headers(fields, false);
  await eventually(() => expect(hosts.length).toBe(1));
  expect(hosts).toEqual(["gw.test"]);
  client.close();
});
