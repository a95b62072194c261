import { afterAll, describe, expect, test } from "bun:test";
import { detailLabel } from "../../../src/core/fault-detail-rows.ts";
import { threadResolver } from "../../../src/net/name-resolver.ts";
import { type ProbeOutcome, probeConnection, probeHttp } from "../../../src/upstream/http-probe.ts";
import { makeCertificate } from "../../harness/certificate.ts";
import { freePort } from "../../harness/gateway.ts";
import { Type } from "../../harness/h2-client.ts";
import { H2Origin, type H2OriginStream } from "../../harness/h2-origin.ts";
import { ScriptedOrigin } from "../../harness/scripted-origin.ts";

const NAMES = threadResolver(() => {});

const origin = ScriptedOrigin.start();
afterAll(() => origin.stop());

function ask(path: string, timeoutMs = 30_000, port = origin.port, hostname = "127.0.0.1"): Promise<ProbeOutcome> {
  return probeHttp({ hostname, port, authority: `origin.test:${port}`, tls: null }, path, timeoutMs, NAMES);
}

const GOOD = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";

describe("a probe", () => {
  test.each([
    ["an answer", GOOD, 200],
    ["an answer without a body to come", "HTTP/1.1 204 No Content\r\n\r\n", 204],
    ["a redirect, which is not followed", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", 302],
    ["an interim answer first", `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${GOOD}`, 200],
    ["an old server", "HTTP/1.0 503 Busy\r\n\r\nsorry", 503],
  ])("reads %s", async (_name, text, status) => {
    origin.on("/raw", (call) => call.sendAndFinish(text));
    expect(await ask("/raw")).toEqual({ statusCode: status, latencyMs: expect.any(Number), error: "" });
    origin.on("/raw", async (call) => {
      call.takeOver();
      for (const byte of text) {
        call.send(byte);
        await Bun.sleep(0);
      }
    });
    expect((await ask("/raw")).statusCode).toBe(status);
  });

  test.each([false, true])("takes as many fields as it is told, lenient: %p", async (isLenient) => {
    const text = `HTTP/1.1 200 OK\r\n${"X-A: 1\r\n".repeat(300)}Content-Length: 0\r\n\r\n`;
    origin.on("/many", (call) => call.sendAndFinish(text));
    const { port } = origin;
    const to = { hostname: "127.0.0.1", port, authority: "a", tls: null, isLenient };
    const statusWith = async (maxResponseFields: number): Promise<number> =>
      (await probeHttp({ ...to, maxResponseFields }, "/many", 30_000, NAMES)).statusCode;
    expect([await statusWith(301), await statusWith(300), (await ask("/many")).statusCode]).toEqual([200, 0, 0]);
  });

  test("asks like a client, and says who it is", async () => {
    origin.on("/asked", (call) => call.reply("200 OK"));
    await ask("/asked?x=1");
    const { method, target, fields } = origin.requestsFor("/asked").at(-1)!;
    expect([method, target, fields.get("host"), fields.get("user-agent"), fields.get("connection")]).toEqual([
      "GET",
      "/asked?x=1",
      `origin.test:${origin.port}`,
      "edge-health-check",
      "close",
    ]);
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "a malformed response", "not_http"],
    [
      "two lengths",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      "a malformed response",
      "bad_length",
    ],
    [
      "interim answers without end",
      "HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000),
      "a malformed response",
      "head_too_large",
    ],
    ["a head that breaks off", "HTTP/1.1 200 OK\r\nContent-", "the connection was closed", "closed_in_head"],
    ["nothing", "", "the connection was closed", "closed_before_head"],
  ])("does not take %s for an answer", async (_name, text, error, cause) => {
    origin.on("/raw", (call) => call.sendAndFinish(text));
    const { detail, ...outcome } = await ask("/raw");
    expect(outcome).toEqual({ statusCode: 0, latencyMs: expect.any(Number), error });
    expect(detailLabel(detail!)).toBe(cause);
  });

  test.each([
    ["interim answers", (stream: H2OriginStream) => stream.head([[":status", "103"]])],
    ["pings", ({ connection }: H2OriginStream) => connection.frame(Type.ping, 0, 0, Buffer.alloc(8))],
  ])("of HTTP/2 does not read %s without end", async (_name, send) => {
    const h2 = await H2Origin.start({
      onEnd(stream) {
        for (let i = 0; i < 5000; i++) send(stream);
      },
    });
    const to = { hostname: "127.0.0.1", port: h2.port, authority: "a", tls: null, isHttp2: true };
    const { detail, ...outcome } = await probeHttp(to, "/", 5000, NAMES);
    expect(outcome).toEqual({ statusCode: 0, latencyMs: expect.any(Number), error: "a malformed response" });
    expect(detailLabel(detail!)).toBe("h2_protocol");
    h2.stop();
  });

  test("does not wait longer than it is told, for a silent origin or a slow head", async () => {
    origin.on("/silent", (call) => {
      call.takeOver();
    });
    const late = { statusCode: 0, error: "no response within 100 ms" };
    expect(await ask("/silent", 100)).toMatchObject(late);
    origin.on("/slow-fields", async (call) => {
      const connection = call.takeOver();
      call.send("HTTP/1.1 200 OK\r\n");
      while (connection.ending === "open" && !connection.isClosed) {
        call.send("X-A: 1\r\n");
        await Bun.sleep(20);
      }
    });
    expect(await ask("/slow-fields", 100)).toMatchObject(late);
    await origin.until("all probes to hang up", () => origin.openConnections === 0 || undefined);
  });

  test("tells a closed port from a name that nobody has", async () => {
    expect(await ask("/", 30_000, freePort())).toMatchObject({ statusCode: 0, error: "connection refused" });
    expect(await ask("/", 30_000, 80, "no-such-host.invalid")).toMatchObject({
      statusCode: 0,
      error: "name not found",
    });
  });
});

describe("a connection without a question", () => {
  const tls = { serverName: "localhost", ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true };
  const connect = async (port: number, secured: object | null = null, timeoutMs = 30_000) => {
    const origin = { hostname: "127.0.0.1", port, authority: "a", tls: secured as never };
    return (await probeConnection(origin, timeoutMs, NAMES)).error;
  };

  test("is enough where the origin takes it, and is closed at once", async () => {
    const before = origin.requests.length;
    expect([await connect(origin.port), await connect(freePort())]).toEqual(["", "connection refused"]);
    expect(origin.requests.length).toBe(before);
  });

  test("needs the handshake and a certificate that is trusted, where there is TLS", async () => {
    const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
    const secure = ScriptedOrigin.start({ tls: certificate });
    expect(await connect(secure.port, { ...tls, ca: certificate.cert })).toBe("");
    expect(await connect(secure.port, tls)).toMatch(/^TLS: /);
    expect(await connect(origin.port, tls, 500)).not.toBe("");
    secure.stop();
  });
});
