import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
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

describe("server.max_header_fields", () => {
  test("250 fields pass with 250, 251 are 431, over HTTP/1.1, 2 and 3; crumbs of a cookie count as one", async () => {
    const { cert, key } = await makeCertificate();
    const port = freePort();
    const tls = { port, cert_file: "a.pem", key_file: "a.key" };
    const large = await startGateway({
      config: { server: { max_header_fields: 250, tls, http3: { enabled: true } } },
      routes: [upstream("/node", origin)],
      files: { "a.pem": cert, "a.key": key },
    });
    const got = async (count: number) => (await large.once(request("GET /node/echo", fields(count)))).status;
    expect([await got(250), await got(251)]).toEqual([200, 431]);
    const extra = (count: number): [string, string][] => Array.from({ length: count - 1 }, (_, i) => [`x-${i}`, "1"]);
    const h2 = await H2Client.connect(large.port);
    expect((await h2.request(head("GET", "/node/echo", extra(250)))).status).toBe(200);
    expect((await h2.request(head("GET", "/node/echo", extra(251)))).status).toBe(431);
    h2.close();
    await large.stop();
    // The client of HTTP/3 sends 128 fields at most.
    const small = await startGateway({
      config: { server: { max_header_fields: 90, tls, http3: { enabled: true } } },
      routes: [upstream("/node", origin)],
      files: { "a.pem": cert, "a.key": key },
    });
    const h3 = await H3Client.connect(port);
    expect((await h3.ask("GET", "/node/echo", Object.fromEntries(extra(90)))).status).toBe(200);
    expect((await h3.ask("GET", "/node/echo", Object.fromEntries(extra(91)))).status).toBe(431);
    const cookie = Array.from({ length: 30 }, (_, i) => `c=${i}`);
    const reply = await h3.ask("GET", "/node/echo", { ...Object.fromEntries(extra(89)), cookie } as never);
    const { fields: seen } = JSON.parse(reply.body.toString()) as Echo;
    expect(seen.filter(([name]) => name.toLowerCase() === "cookie")).toEqual([["cookie", cookie.join("; ")]]);
    origin.on("/many", (call) =>
      call.reply(
        "200 OK",
        Array.from({ length: 150 }, (_, i) => `X-${i}: ${i}`),
        "ok",
      ),
    );
    expect((await h3.ask("GET", "/node/many")).status).toBe(502);
    h3.close();
    await small.stop();
  });

  test("crumbs of a cookie over HTTP/2 and 3 count as one field and reach the origin as one", async () => {
    const crumbs = Array.from({ length: 150 }, (_, i): [string, string] => ["cookie", `c${i}=${i}`]);
    const h2 = await H2Client.connect(gateway.port);
    const others = Array.from({ length: 98 }, (_, i): [string, string] => [`x-${i}`, "1"]);
    const reply = await h2.request(head("GET", "/node/echo", [...others, ...crumbs]));
    expect(reply.status).toBe(200);
    const { fields: seen } = JSON.parse(reply.text) as Echo;
    const cookies = seen.filter(([name]) => name.toLowerCase() === "cookie");
    expect(cookies).toHaveLength(1);
    expect(cookies[0]![1]).toBe(crumbs.map(([, value]) => value).join("; "));
    expect((await h2.request(head("GET", "/node/echo", [...others, ["x", "1"], ...crumbs]))).status).toBe(431);
    // More crumbs than the head may have bytes.
    const flood = Array.from({ length: 1800 }, (): [string, string] => ["cookie", ""]);
    expect((await h2.request(head("GET", "/node/echo", flood))).status).toBe(431);
    h2.close();
  });
});

describe("proxy.transport.max_response_fields", () => {
  test("is 256: an answer of 256 fields passes whole, one of 257 is 502, and a smaller number holds", async () => {
    for (const count of [256, 257]) {
      const lines = Array.from({ length: count - 1 }, (_, i) => `X-${i}: ${i}`);
      origin.on(`/fields-${count}`, (call) => call.reply("200 OK", lines, "ok"));
    }
    const reply = await gateway.once(request("GET /node/fields-256"));
    expect([reply.status, reply.fields.get("x-254")]).toEqual([200, "254"]);
    expect((await gateway.once(request("GET /node/fields-257"))).status).toBe(502);
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", "/node/fields-256"))).fields.get("x-254")).toBe("254");
    h2.close();
    const small = await startGateway({
      config: { proxy: { transport: { max_response_fields: 255 } } },
      routes: [upstream("/node", origin)],
    });
    expect((await small.once(request("GET /node/fields-256"))).status).toBe(502);
    await small.stop();
  });
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
