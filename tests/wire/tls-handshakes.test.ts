import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { OPENSSL, openssl, Scratch } from "../harness/openssl.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { bytewise, Relay } from "../harness/relay.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";
import { helloMessage, records } from "../unit/proto/tls/hello-bytes.ts";

const certificate = await makeCertificate();
const files = { "cert.pem": certificate.cert, "cert.key": certificate.key };
const pair = { cert_file: "cert.pem", key_file: "cert.key" };
const port = freePort();
const modernPort = freePort();
const origin = EchoOrigin.start();
const routes = [upstream("/node", origin)];
const hastyPort = freePort();
/** Handshakes may take as long as a machine that stands still now and then wants. */
const gateway = await startGateway({
  config: { server: { header_timeout: "60s", tls: { ...pair, port } } },
  routes,
  files,
});
const hasty = await startGateway({
  config: { server: { header_timeout: "1s", tls: { ...pair, port: hastyPort } } },
  files,
});
const modern = await startGateway({
  config: { server: { header_timeout: "60s", tls: { ...pair, port: modernPort, min_version: "1.3" } } },
  routes,
  files,
});
const relay = Relay.to(port, bytewise);
afterAll(async () => {
  relay.stop();
  await hasty.stop();
  await modern.stop();
  await stopAll(gateway, origin);
});

const GET = request("GET /health", ["Connection: close"]).toString("latin1");

/** How often handshakes have come to nothing for this reason, as the metrics have it. */
async function failures(reason: string, of = gateway): Promise<number> {
  return of.metric("gateway_tls_handshake_failures_total", { reason });
}

/** Sends bytes instead of a handshake and gives what the gateway says before it ends the connection. */
async function answerTo(...pieces: (string | Uint8Array)[]): Promise<Buffer> {
  const client = await RawClient.connect(port);
  for (const piece of pieces) client.send(piece);
  const answer = await client.takeRest();
  client.close();
  return answer;
}

describe.skipIf(OPENSSL === null)("openssl", () => {
  test.each(["tls1_2", "tls1_3"])("is served with %s", async (version) => {
    const { text } = await openssl(port, [`-${version}`], GET);
    expect(text).toContain("HTTP/1.1 200 OK");
    expect(text).toContain(version === "tls1_2" ? "TLSv1.2" : "TLSv1.3");
    // RFC 8446 §6.1: without close_notify an answer cut short would look the same.
    expect(text).not.toContain("unexpected eof");
  });

  test.each(["tls1", "tls1_1"])("is refused with %s, by an alert", async (version) => {
    const { text } = await openssl(port, [`-${version}`, "-cipher", "ALL:@SECLEVEL=0"], GET);
    expect(text).not.toContain("HTTP/1.1");
    expect(text).toMatch(/alert protocol version|unsupported protocol/);
  });

  test.each(["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256", "NULL"])(
    "is refused with cipher suites of old: %s",
    async (cipher) => {
      const { text } = await openssl(port, ["-tls1_2", "-cipher", `${cipher}:@SECLEVEL=0`], GET);
      expect(text).not.toContain("HTTP/1.1");
    },
  );

  test("is refused with TLS 1.2 where 1.3 is the least", async () => {
    expect((await openssl(modernPort, ["-tls1_2"], GET)).text).toMatch(/alert protocol version/);
    expect((await openssl(modernPort, ["-tls1_3"], GET)).text).toContain("HTTP/1.1 200 OK");
  });

  test.each(["tls1_2", "tls1_3"])("resumes a session with %s", async (version) => {
    using scratch = new Scratch();
    const session = scratch.path("session.pem");
    const resumed = async () =>
      gateway.metric("gateway_tls_handshakes_total", {
        resumed: "true",
      });
    const before = await resumed();
    expect((await openssl(port, [`-${version}`, "-sess_out", session], GET)).text).toContain("New, TLSv1");
    const { text } = await openssl(port, [`-${version}`, "-sess_in", session], GET);
    expect(text).toContain("Reused, TLSv1");
    expect(text).toContain("HTTP/1.1 200 OK");
    expect(await resumed()).toBe(before + 1);
  });

  test("gets no answer to early data", async () => {
    using scratch = new Scratch();
    const session = scratch.path("session.pem");
    const early = scratch.write("early", GET);
    await openssl(port, ["-tls1_3", "-sess_out", session], GET);
    const { text } = await openssl(port, ["-tls1_3", "-sess_in", session, "-early_data", early]);
    expect(text).not.toContain("Early data was accepted");
  });

  test("cannot renegotiate", async () => {
    const { text } = await openssl(port, ["-tls1_2"], "R\n");
    expect(text).not.toContain("HTTP/1.1 200");
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
  });
});

describe("a ClientHello", () => {
  test("may come byte by byte, and so may all that follows", async () => {
    const client = await TlsClient.open(relay.port, { serverName: "a.test", protocols: ["http/1.1"] });
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test.each([1, 50])("may be cut into records of %d bytes", async (size) => {
    let isFirst = true;
    const cutting = Relay.to(port, (bytes) => {
      const cut = isFirst ? [records(bytes.subarray(5), size)] : [bytes];
      isFirst = false;
      return cut;
    });
    const client = await TlsClient.open(cutting.port, { serverName: "a.test" });
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
    cutting.stop();
  });

  // RFC 8446 §5 and §6.2: unexpected_message for another record or message, decode_error for a wrong length or format.
  test.each<[string, Buffer | string, alert?: number]>([
    ["of another message", "\x16\x03\x01\x00\x04\x02\x00\x00\x00", 10],
    ["of another record", "\x17\x03\x01\x00\x01x", 10],
    ["between whose records there is another", "\x16\x03\x01\x00\x01\x01\x17\x03\x01\x00\x01x", 10],
    ["of nonsense", Buffer.concat([Buffer.of(22, 3, 1, 1, 0, 1, 0, 0, 252), Buffer.alloc(252, 0xee)])],
    ["of a record without bytes", "\x16\x03\x01\x00\x00"],
    ["of an impossible record", "\x16\x03\x01\xff\xff"],
    ["of 16 MiB", "\x16\x03\x01\x40\x00\x01\xff\xff\xff"],
    ["in tiny records without end", records(helloMessage({ extensions: [[21, Buffer.alloc(16000)]] }), 1)],
    ["that is a zero byte", "\0", 10],
    ["of SSL 2", "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10", 10],
  ])("%s is refused by an alert", async (_name, bytes, alert = 50) => {
    const before = await failures("bad_client_hello");
    expect((await answerTo(bytes)).toString("hex")).toBe(Buffer.of(21, 3, 1, 0, 2, 2, alert).toString("hex"));
    expect(await failures("bad_client_hello")).toBe(before + 1);
    await gateway.log("tls_reject", (line) => line.event === "tls_reject" && line.reason === "bad_client_hello");
  });

  test("that breaks off is refused, and one that never began is not", async () => {
    const before = await failures("bad_client_hello");
    const silent = await RawClient.connect(port);
    silent.finish();
    await silent.ended();
    silent.close();
    const broken = await RawClient.connect(port);
    broken.send("\x16\x03");
    await broken.flushed();
    broken.finish();
    await broken.ended();
    broken.close();
    expect(await failures("bad_client_hello")).toBe(before + 1);
  });
});

describe("a client that takes too long", () => {
  test.each<[string, Buffer, number]>([
    ["and has sent nothing", Buffer.alloc(0), 0],
    ["and has sent half a ClientHello", records(helloMessage()).subarray(0, 40), 1],
    ["behind its ClientHello", soundHello(), 1],
  ])("%s is cut off", async (_name, bytes, counted) => {
    const before = await failures("handshake_timeout", hasty);
    const client = await RawClient.connect(hastyPort);
    client.send(bytes);
    await client.ended();
    client.close();
    expect(await failures("handshake_timeout", hasty)).toBe(before + counted);
  });

  test("byte by byte has no more time than others", async () => {
    const client = await RawClient.connect(hastyPort);
    const hello = records(helloMessage({ extensions: [[21, Buffer.alloc(2000)]] }));
    // 20 ms a byte: in ten times the timeout it could send a fifth of it.
    const sending = client.sendPieces(bytewise(hello), 20);
    await client.ended();
    expect(client.sentBytes).toBeLessThan(hello.length / 4);
    client.close();
    await sending;
  });
});

test("handshakes that others hold open keep nobody out", async () => {
  const held = await Promise.all(
    Array.from({ length: 1060 }, async () => {
      const client = await RawClient.connect(modernPort);
      client.send("\x16");
      return client;
    }),
  );
  try {
    const client = await TlsClient.open(modernPort);
    expect((await client.exchange(request("GET /health"))).status).toBe(200);
    client.close();
    await eventually(() => expect(held.filter((each) => each.ending !== "open").length).toBeGreaterThanOrEqual(37));
    expect(await failures("too_many_handshakes", modern)).toBeGreaterThanOrEqual(37);
  } finally {
    for (const each of held) each.close();
  }
});

test("a client that goes in the middle of its handshake leaves nothing behind", async () => {
  for (let i = 0; i < 20; i++) {
    const client = await RawClient.connect(port);
    client.send(soundHello());
    await client.takeSome();
    if (i % 2 === 0) client.reset();
    else client.close();
  }
  await eventually(async () => {
    const text = (await gateway.once(request("GET /metrics"))).text;
    expect(sumOf(parseMetrics(text), "gateway_active_tcp_connections")).toBe(1);
  });
});

/** A hello that the library answers: TLS 1.2 with one cipher suite and the curves that it needs. */
function soundHello(): Buffer {
  const groups: [number, Buffer] = [10, Buffer.from("0004001d0017", "hex")];
  const signatures: [number, Buffer] = [13, Buffer.from("000404030804", "hex")];
  return records(helloMessage({ ciphers: Buffer.from("c02b", "hex"), extensions: [groups, signatures] }));
}
