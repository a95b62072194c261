import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";
import {
  binaryHeader,
  LOCAL,
  PROXY,
  TCP4,
  TCP6,
  tlv,
  v4Block,
  v6Block,
} from "../unit/proto/proxy-protocol/proxy-headers.ts";

/** The load balancer; everything else here comes from 127.0.0.1 as always. */
const BALANCER = "127.0.0.2";
const CLOSE = "Connection: close";
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      trusted_proxies: ["198.51.100.0/24"],
      proxy_protocol: { trusted: [BALANCER] },
      ip_rules: { deny: ["192.0.2.66"] },
    },
  },
  routes: [upstream("/node", origin)],
});
const hasty = await startGateway({
  config: { server: { header_timeout: "700ms", proxy_protocol: { trusted: [BALANCER] } } },
});
afterAll(async () => {
  await hasty.stop();
  await stopAll(gateway, origin);
});

const LINE = "PROXY TCP4 203.0.113.9 192.0.2.1 4711 443\r\n";

function behind(header: string | Uint8Array, path = "/node/echo", lines: readonly string[] = []): Promise<string> {
  const head = Buffer.from(header as string, "latin1");
  return exchangeFrom(BALANCER, gateway.port, Buffer.concat([head, request(`GET ${path}`, [CLOSE, ...lines])]));
}

async function seenAt(header: string | Uint8Array, lines: readonly string[] = []): Promise<Echo["headers"]> {
  const received = await behind(header, "/node/echo", lines);
  expect(statusOf(received)).toBe(200);
  return (JSON.parse(received.slice(received.indexOf("\r\n\r\n") + 4)) as Echo).headers;
}

async function refusals(): Promise<number> {
  return gateway.metric("gateway_framing_rejections_total", { reason: "bad_proxy_header" });
}

describe("a header of a trusted balancer", () => {
  test.each([
    ["version 1", LINE, "203.0.113.9"],
    ["version 1 over IPv6", "PROXY TCP6 2001:DB8::7 ::1 1 2\r\n", "2001:db8::7"],
    ["version 1 that knows nothing", "PROXY UNKNOWN\r\n", "unknown"],
    ["version 2", binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 4711)), "203.0.113.9"],
    ["version 2 over IPv6", binaryHeader(PROXY, TCP6, v6Block(`20010db8${"0".repeat(23)}7`, 1)), "2001:db8::7"],
    [
      "version 2 with TLVs",
      binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 1, tlv(4, Buffer.alloc(4)))),
      "203.0.113.9",
    ],
    ["version 2 LOCAL", binaryHeader(LOCAL, 0, new Uint8Array(0)), "unknown"],
    ["version 2 without a family", binaryHeader(PROXY, 0, Buffer.alloc(20)), "unknown"],
  ])("in %s tells who the client is", async (_name, header, client) => {
    expect(await seenAt(header)).toMatchObject({ "x-real-ip": client, "x-forwarded-for": client });
  });

  test("may come in pieces, with the request in the same ones", async () => {
    const bytes = Buffer.concat([
      binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 1)),
      request("GET /node/echo", [CLOSE]),
    ]);
    const edges = [0, 5, 16, 20, 30, 31, bytes.length];
    const pieces = edges.slice(1).map((to, i) => bytes.subarray(edges[i]!, to));
    const received = await exchangeFrom(BALANCER, gateway.port, ...pieces);
    expect(received).toContain('"x-real-ip":"203.0.113.9"');
  });

  test("holds for the whole connection, and is taken once", async () => {
    const two = Buffer.concat([request("GET /node/one"), request("GET /node/two", [CLOSE])]);
    const received = await exchangeFrom(BALANCER, gateway.port, Buffer.concat([Buffer.from(LINE), two]));
    expect(received.match(/"x-real-ip":"203\.0\.113\.9"/g)).toHaveLength(2);
    const twice = await behind(LINE + LINE);
    expect(statusOf(twice)).toBe(400);
  });

  test("decides whose X-Forwarded-For is believed", async () => {
    const lines = ["X-Forwarded-For: 192.0.2.7"];
    expect((await seenAt(LINE, lines))["x-forwarded-for"]).toBe("203.0.113.9");
    const trusted = "PROXY TCP4 198.51.100.4 192.0.2.1 1 2\r\n";
    expect(await seenAt(trusted, lines)).toMatchObject({
      "x-forwarded-for": "192.0.2.7, 198.51.100.4",
      "x-real-ip": "192.0.2.7",
    });
  });

  test("is what logs and rules go by", async () => {
    await seenAt(LINE, ["X-Request-Id: proxied"]);
    const line = await gateway.log("access", (each) => each.event === "access" && each.request_id === "proxied");
    expect(line.client_ip).toBe("203.0.113.9");
    expect(statusOf(await behind("PROXY TCP4 192.0.2.66 192.0.2.1 1 2\r\n"))).toBe(403);
  });

  test("opens /internal to nobody whom the balancer only speaks for", async () => {
    expect(statusOf(await behind(LINE, "/internal/api/status"))).toBe(403);
    expect(statusOf(await behind("PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n", "/internal/api/status"))).toBe(200);
    expect(statusOf(await behind("PROXY UNKNOWN\r\n", "/internal/api/status"))).toBe(403);
  });
});

describe("a trusted balancer that sends something else", () => {
  test.each([
    ["a request", ""],
    ["a malformed line", "PROXY TCP4 203.0.113.9 192.0.2.1 4711\r\n"],
    ["a line without an end", `PROXY UNKNOWN ${"x".repeat(200)}`],
    ["an unknown version", binaryHeader(0x31, TCP4, v4Block("203.0.113.9", 1))],
    ["addresses that are not there", binaryHeader(PROXY, TCP6, Buffer.alloc(12))],
    ["a wrong checksum", binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 1, tlv(3, Buffer.alloc(4))))],
    ["a transport without a family", binaryHeader(PROXY, 0x01, Buffer.alloc(12))],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"],
  ])("is cut off without an answer: %s", async (_name, header) => {
    const before = await refusals();
    const seen = origin.requests.length;
    expect(await behind(header)).toBe("");
    expect(origin.requests.length).toBe(seen);
    expect(await refusals()).toBe(before + 1);
  });

  test("is cut off when it takes too long, and told to the log", async () => {
    const started = performance.now();
    expect(await exchangeFrom(BALANCER, hasty.port, "PROXY TCP4 203.")).toBe("");
    expect(performance.now() - started).toBeGreaterThan(600);
    const line = await hasty.log("framing_reject", (each) => each.reason === "bad_proxy_header");
    expect(line.client_ip).toBe(BALANCER);
  });

  test("is no refusal where it only looks whether the port is open", async () => {
    const before = await refusals();
    expect(await exchangeFrom(BALANCER, gateway.port, "")).toBe("");
    expect(await refusals()).toBe(before);
  });
});

describe("anybody else", () => {
  test("is served as always", async () => {
    const { headers } = json<Echo>(await gateway.once(request("GET /node/echo")));
    expect(headers["x-real-ip"]).toBe("127.0.0.1");
  });

  test.each([
    ["version 1", LINE],
    ["version 2", binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 4711))],
  ])("who sends a header of %s has sent a bad request", async (_name, header) => {
    const client: RawClient = await gateway.connect();
    client.send(Buffer.concat([Buffer.from(header as string, "latin1"), request("GET /node/canary")]));
    const reply = await client.reply();
    expect([reply.status, reply.fields.get("connection")]).toEqual([400, "close"]);
    expect((await client.takeRest()).length).toBe(0);
    client.close();
  });
});

test("connections are counted once, whatever becomes of them", async () => {
  await seenAt(LINE);
  await behind("nonsense\r\n");
  await eventually(async () => {
    const samples = await gateway.samples();
    expect(sumOf(samples, "gateway_active_tcp_connections")).toBe(1);
  });
});
