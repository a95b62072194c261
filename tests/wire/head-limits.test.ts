import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { expectJsonError, expectRefused } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

/** A field line of exactly so many bytes, without its CRLF. */
const fieldLine = (bytes: number) => `X-Big: ${"a".repeat(bytes - 7)}`;
/** A GET whose request line is exactly so long, without its CRLF. */
const requestLine = (bytes: number) => `GET /node/canary?${"q".repeat(bytes - 26)} HTTP/1.1`;
/** Field lines that with Host make exactly `count`. */
const fields = (count: number) => Array.from({ length: count - 1 }, (_, i) => `X-${i}: 1`);
/** Field lines of 8 KiB each. */
const wide = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: ${"a".repeat(8100)}`);

async function expectServed(bytes: Buffer): Promise<void> {
  const client = await gateway.connect();
  expect((await client.exchange(bytes)).status).toBe(200);
  expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
  client.close();
}

async function expectStatus(bytes: string | Uint8Array, status: number): Promise<void> {
  expectJsonError(await expectRefused(gateway, origin, { name: "", bytes, status }));
}

describe("a header line", () => {
  test("of 8192 bytes is served", () => expectServed(request("GET /node/canary", [fieldLine(8192)])));
  test("of 8193 bytes is 431", () => expectStatus(request("GET /node/canary", [fieldLine(8193)]), 431));
  test("of 40000 bytes is 431 (ADV-07)", () => expectStatus(request("GET /node/canary", [fieldLine(40000)]), 431));
  test("without end is 431 without waiting for it", () =>
    expectStatus(`GET /node/canary HTTP/1.1\r\nHost: a\r\nX-Big: ${"a".repeat(9000)}`, 431));
  test("that is long by its name alone is 431", () =>
    expectStatus(request("GET /node/canary", [`${"X".repeat(8200)}: 1`]), 431));
});

describe("a request line", () => {
  test("of 8192 bytes is served", () => expectServed(request(requestLine(8192))));
  test("of 8193 bytes is 414", () => expectStatus(request(requestLine(8193)), 414));
  test("of 70000 bytes is 414", () => expectStatus(request(requestLine(70000)), 414));
  test("without end is 414 without waiting for it", () => expectStatus(`GET /node/${"a".repeat(9000)}`, 414));
});

describe("the head", () => {
  test("of 100 fields is served", () => expectServed(request("GET /node/canary", fields(100))));
  test("of 101 fields is 431", () => expectStatus(request("GET /node/canary", fields(101)), 431));
  test("of 56 KiB is served", () => expectServed(request("GET /node/canary", wide(7))));
  test("of 72 KiB is 431", () => expectStatus(request("GET /node/canary", wide(9)), 431));
});

test("a head that comes too slowly is ended", async () => {
  const slow = await startGateway({
    config: { server: { header_timeout: "300ms" } },
    routes: [upstream("/node", origin)],
  });
  const client = await slow.connect();
  client.send("GET /node/canary HTTP/1.1\r\nHost: a\r\n");
  const trickle = client.sendPieces(Array<string>(200).fill("X-A: 1\r\n"), 50);
  const rest = (await client.takeRest()).toString("latin1");
  if (rest !== "") expect(rest).toStartWith("HTTP/1.1 408 ");
  client.close();
  await trickle;
  await slow.stop();
});

test("an idle connection is ended without an answer", async () => {
  const impatient = await startGateway({ config: { server: { idle_timeout: "300ms" } } });
  // It has no more patience with one who has not asked yet.
  const client = await eventually(async () => {
    const asking = await impatient.connect();
    expect((await asking.exchange(request("GET /health"))).status).toBe(200);
    return asking;
  });
  expect((await client.takeRest()).byteLength).toBe(0);
  client.close();
  await impatient.stop();
});

test("a body that stops coming is ended", async () => {
  const impatient = await startGateway({
    config: { server: { read_timeout: "300ms" } },
    routes: [upstream("/node", origin)],
  });
  const client = await impatient.connect();
  client.send(request("POST /node/echo", ["Content-Length: 10"], "half"));
  const rest = (await client.takeRest()).toString("latin1");
  if (rest !== "") expect(rest).toStartWith("HTTP/1.1 408 ");
  client.close();
  await impatient.stop();
});
