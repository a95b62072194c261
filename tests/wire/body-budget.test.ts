// One client address cannot use up the room for request bodies: docs/security.md#resources-of-one-client
import { afterAll, describe, expect, test } from "bun:test";
import { countOf, crowdFrom, type Member } from "../harness/crowd.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { encode, frameBytes, head, PREFACE, Type } from "../harness/h2-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";

const KIB = 1024;
const MIB = KIB * KIB;
const CHUNKED = "Transfer-Encoding: chunked";
/** A body of which one byte has come, and no more ever does. */
const ONE_BYTE = request("POST /node/echo", [CHUNKED], "1\r\nx\r\n");

const origin = EchoOrigin.start();
const gateways: Gateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  origin.stop();
});

async function gatewayWith(transport: object, more: object = {}): Promise<Gateway> {
  const gateway = await startGateway({
    config: { server: { access_log: { enabled: false }, ...more }, proxy: { transport } },
    routes: [
      upstream("/node", origin, { max_body_bytes: "64MiB" }),
      upstream("/kept", origin, { retries: { attempts: 2 } }),
    ],
  });
  gateways.push(gateway);
  return gateway;
}

async function refusals(gateway: Gateway, reason: string): Promise<number> {
  return gateway.metric("gateway_limit_refusals_total", { reason });
}

/** A chunked upload in two parts from an address. */
async function uploadFrom(address: string, gateway: Gateway, bytes: number): Promise<number> {
  const body = chunked("u".repeat(bytes), 10_000);
  const start = request("POST /node/echo", [CHUNKED, "Connection: close"]);
  const half = Math.floor(body.length / 2);
  return statusOf(await exchangeFrom(address, gateway.port, start, body.subarray(0, half), body.subarray(half)));
}

describe("thousands of bodies of one byte from one address", () => {
  test("over HTTP/1.1: others are served, and of its own the slowest are ended", async () => {
    const gateway = await gatewayWith({ max_buffered_bytes: MIB });
    const hostile = await crowdFrom("127.0.0.2", gateway.port, 2500, ONE_BYTE);
    await eventually(() => expect(countOf(hostile, 408)).toBeGreaterThan(0));
    for (const bytes of [1, 2000, 300 * KIB]) expect(await uploadFrom("127.0.0.3", gateway, bytes)).toBe(200);
    expect(countOf(hostile, 503)).toBe(0);
    expect(await refusals(gateway, "body_evicted")).toBe(countOf(hostile, 408));
    const line = await gateway.log("the reason", ({ event }) => event === "limit_reject");
    expect(line).toMatchObject({
      client_ip: "127.0.0.2",
      reason: "body_evicted",
      key: "proxy.transport.max_buffered_share",
      status: 408,
    });
    for (const member of hostile) member.close();
  }, 60_000);

  test("over HTTP/2, 128 on each connection: likewise", async () => {
    const gateway = await gatewayWith({ max_buffered_bytes: MIB });
    const streams: Buffer[] = [];
    for (let id = 1; id < 2 * 120; id += 2) {
      streams.push(
        frameBytes(Type.headers, 4, id, encode(head("POST", "/node/echo"))),
        frameBytes(Type.data, 0, id, "x"),
      );
    }
    const bytes = Buffer.concat([Buffer.from(PREFACE), frameBytes(Type.settings, 0, 0), ...streams]);
    const hostile = await crowdFrom("127.0.0.2", gateway.port, 24, bytes);
    await eventually(async () => expect(await refusals(gateway, "body_evicted")).toBeGreaterThan(0));
    for (const size of [1, 2000, 300 * KIB]) expect(await uploadFrom("127.0.0.3", gateway, size)).toBe(200);
    expect(await refusals(gateway, "buffers_full")).toBe(0);
    for (const member of hostile) member.close();
  }, 60_000);

  test("through the firewall, and kept for a second attempt: likewise", async () => {
    const gateway = await gatewayWith({ max_buffered_bytes: MIB }, { waf: { enabled: true } });
    const form = request(
      "POST /node/echo",
      ["Content-Type: application/x-www-form-urlencoded", "Content-Length: 900"],
      "a",
    );
    const kept = request("PUT /kept/echo", ["Content-Type: image/png", "Content-Length: 900"], "a");
    const hostile = [
      ...(await crowdFrom("127.0.0.2", gateway.port, 700, form)),
      ...(await crowdFrom("127.0.0.2", gateway.port, 700, kept)),
    ];
    await eventually(() => expect(countOf(hostile, 408)).toBeGreaterThan(0));
    for (const size of [1, 2000, 300 * KIB]) expect(await uploadFrom("127.0.0.3", gateway, size)).toBe(200);
    expect(countOf(hostile, 503)).toBe(0);
    for (const member of hostile) member.close();
  }, 60_000);
});

test("when many addresses fill the memory together, the slowest of all make room for a newcomer", async () => {
  const gateway = await gatewayWith({ max_buffered_bytes: 256 * KIB });
  const piece = `2000\r\n${"s".repeat(0x2000)}\r\n`;
  const start = request("POST /node/echo", [CHUNKED], piece);
  const slow: Member[] = [];
  for (let i = 2; i < 42; i++) slow.push(...(await crowdFrom(`127.0.0.${i}`, gateway.port, 1, start)));
  await eventually(() => expect(countOf(slow, 408)).toBeGreaterThan(0));
  for (let i = 0; i < 5; i++) expect(await uploadFrom("127.0.0.200", gateway, 20 * KIB)).toBe(200);
  expect(countOf(slow, 503)).toBe(0);
  const { key } = await gateway.log("the reason", ({ event }) => event === "limit_reject");
  expect(key).toBe("proxy.transport.max_buffered_bytes");
  for (const member of slow) member.close();
}, 60_000);

describe("a chunked body far larger than the memory", () => {
  test("passes by way of a file", async () => {
    const gateway = await gatewayWith({ max_buffered_bytes: 4 * MIB });
    expect(await uploadFrom("127.0.0.2", gateway, 48 * MIB)).toBe(200);
  }, 60_000);

  test("is 503 where the files together would be, and the log names the setting", async () => {
    const gateway = await gatewayWith({ max_buffered_bytes: 4 * MIB, max_spooled_bytes: 2 * MIB });
    expect(await uploadFrom("127.0.0.2", gateway, 8 * MIB)).toBe(503);
    const line = await gateway.log("the reason", ({ event }) => event === "limit_reject");
    expect([line.reason, line.key]).toEqual(["buffers_full", "proxy.transport.max_spooled_bytes"]);
    expect(await uploadFrom("127.0.0.2", gateway, MIB)).toBe(200);
  }, 60_000);

  test("is 413 beyond the route's limit, and the log names the setting", async () => {
    const gateway = await gatewayWith({});
    expect(
      statusOf(await exchangeFrom("127.0.0.2", gateway.port, request("POST /node/echo", ["Content-Length: 99999999"]))),
    ).toBe(413);
    const line = await gateway.log("the reason", ({ event }) => event === "limit_reject");
    expect([line.reason, line.key, line.route, line.limit]).toEqual([
      "body_too_large",
      "max_body_bytes",
      "/node",
      64 * MIB,
    ]);
  });
});
