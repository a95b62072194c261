// Keys whose defaults other tests never reach: each is set to something small, and what is beyond it is seen.
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { Code, type Field, H2Client, head, Type } from "../harness/h2-client.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const [port, proxyPort] = [freePort(), freePort()];
const origin = EchoOrigin.start();
const JSON_TYPE: Field = ["content-type", "application/json"];
const gateway = await startGateway({
  port,
  config: {
    server: {
      ...{ host: undefined, port: undefined },
      workers: 1,
      listeners: [
        { name: "site", address: `127.0.0.1:${port}` },
        {
          name: "proxy",
          address: `127.0.0.1:${proxyPort}`,
          forward_proxy: { allow: ["*:*"], allow_networks: ["127.0.0.0/8"], max_tunnels: 1 },
        },
      ],
      http2: { max_concurrent_streams: 2, max_header_list_bytes: 2048 },
      waf: { enabled: true, protocol: { content_types: ["application/json"], restricted_extensions: ["xyz"] } },
    },
    proxy: { transport: { idle_conn_timeout: "1s" } },
  },
  routes: [upstream("/", origin)],
});
afterAll(() => stopAll(gateway, origin));

test("http2.max_concurrent_streams and max_header_list_bytes are told of, and hold", async () => {
  const client = await H2Client.connect(port);
  const { payload } = await client.frameWhere("SETTINGS", ({ type, flags }) => type === Type.settings && flags === 0);
  const settings = new Map<number, number>();
  for (let at = 0; at < payload.length; at += 6) settings.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_MAX_HEADER_LIST_SIZE. RFC 9113 §6.5.2
  expect([settings.get(3), settings.get(6)]).toEqual([2, 2048]);

  const open = [1, 2].map(() => client.headers(head("POST", "/echo", [JSON_TYPE]), false));
  expect((await client.reply(client.headers(head("GET", "/echo")))).reset).toBe(Code.refused);
  for (const id of open) client.data(id, "{}", true);
  for (const id of open) expect((await client.reply(id)).status).toBe(200);

  const long: Field = ["x-long", "a".repeat(1700)];
  expect((await client.request([...head("GET", "/echo"), long])).status).toBe(200);
  expect((await client.request([...head("GET", "/echo"), long, ["x-more", "a".repeat(400)]])).status).toBe(431);
  client.close();
});

test("a connection to an origin that idles longer than idle_conn_timeout is closed", async () => {
  expect((await gateway.once(request("GET /echo"))).status).toBe(200);
  await eventually(() => expect(origin.openConnections).toBe(0));
});

test("waf.protocol: types of bodies beside content_types, and restricted_extensions, are refused", async () => {
  const post = (type: string) => gateway.once(request("POST /echo", [`Content-Type: ${type}`], "{}"));
  expect((await post("application/json")).status).toBe(200);
  expect((await post("application/xml")).status).toBe(403);
  expect((await gateway.once(request("GET /a.xyz"))).status).toBe(403);
  expect((await gateway.once(request("GET /a.txt"))).status).not.toBe(403);
});

test("no more tunnels than max_tunnels, whoever has them; one that ends makes room", async () => {
  const to = `127.0.0.1:${origin.port}`;
  const connect = async () => {
    const client = await RawClient.connect(proxyPort);
    client.send(request(`CONNECT ${to}`, [`Host: ${to}`]));
    return { client, status: (await client.reply("HEAD")).status };
  };
  const first = await connect();
  const second = await connect();
  expect([first.status, second.status]).toEqual([200, 503]);
  first.client.close();
  await eventually(async () => {
    const { client, status } = await connect();
    client.close();
    expect(status).toBe(200);
  });
});
