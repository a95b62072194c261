import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { connect as secureConnect } from "node:tls";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { json, RawClient, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const BALANCER = "127.0.0.2";
const names = (...values: string[]) => makeCertificate(values.map((value) => ({ type: "dns", value })));
const first = await names("first.test");
const wild = await names("*.wild.test", "wild.test");
const exact = await names("exact.wild.test");
const port = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      proxy_protocol: { trusted: [BALANCER] },
      tls: {
        port,
        cert_file: "first.pem",
        key_file: "first.key",
        certificates: [
          { cert_file: "wild.pem", key_file: "wild.key" },
          { cert_file: "exact.pem", key_file: "exact.key" },
        ],
      },
    },
  },
  routes: [upstream("/node", origin)],
  files: {
    "first.pem": first.cert,
    "first.key": first.key,
    "wild.pem": wild.cert,
    "wild.key": wild.key,
    "exact.pem": exact.cert,
    "exact.key": exact.key,
  },
});
afterAll(() => stopAll(gateway, origin));

describe("the certificate", () => {
  test.each([
    ["no name", undefined, "first.test"],
    ["its own name", "first.test", "first.test"],
    ["an unknown name", "unknown.test", "first.test"],
    ["an exact name that a wildcard has too", "exact.wild.test", "exact.wild.test"],
    ["a name below a wildcard", "other.wild.test", "*.wild.test"],
    ["a name in capitals", "OTHER.Wild.Test", "*.wild.test"],
    ["a name two labels below a wildcard", "a.other.wild.test", "first.test"],
    ["the name above a wildcard, that the certificate has", "wild.test", "*.wild.test"],
  ])("for %s", async (_name, serverName, shown) => {
    const client = await TlsClient.open(port, serverName === undefined ? {} : { serverName });
    expect(client.names[0]).toBe(shown);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });
});

test("the application protocol is settled, and unknown ones alone are refused", async () => {
  const client = await TlsClient.open(port, { protocols: ["spdy/3", "http/1.1"] });
  expect(client.protocol).toBe("http/1.1");
  client.close();
  expect((await TlsClient.open(port)).protocol).toBe("");
  await expect(TlsClient.open(port, { protocols: ["spdy/3"] })).rejects.toThrow();
});

test("origins learn that the client came over TLS", async () => {
  const echo = json<Echo>(await TlsClient.once(port, request("GET /node/echo")));
  expect(echo.headers).toMatchObject({ "x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1" });
});

test("a request in clear text is told what it should be", async () => {
  const client = await RawClient.connect(port);
  client.send(request("POST /node/echo", [], "x".repeat(100_000)));
  const reply = await client.reply();
  expect([reply.status, json(reply)]).toEqual([
    400,
    { error: "400 Bad Request", message: "this port serves TLS: use https://" },
  ]);
  expect(reply.fields.get("connection")).toBe("close");
  client.close();
});

test("a PROXY header before the handshake tells who the client is", async () => {
  const request_ = request("GET /node/echo", ["Connection: close"]);
  const answer = Promise.withResolvers<string>();
  let received = "";
  const balancer = connect({ host: "127.0.0.1", port, localAddress: BALANCER });
  balancer.on("error", answer.reject);
  balancer.on("connect", () => {
    balancer.write("PROXY TCP4 203.0.113.9 192.0.2.1 4711 443\r\n");
    const secure = secureConnect({ socket: balancer, servername: "exact.wild.test", rejectUnauthorized: false });
    secure.on("secureConnect", () => secure.write(request_));
    secure.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    secure.on("error", answer.reject);
    secure.on("end", () => answer.resolve(received));
  });
  const echo = await answer.promise;
  expect(statusOf(echo)).toBe(200);
  expect(echo).toContain('"x-forwarded-for":"203.0.113.9"');
  expect(echo).toContain('"x-forwarded-proto":"https"');
  balancer.destroy();
});

test("a PROXY header before the handshake is refused of strangers, and wanted of the balancer", async () => {
  expect(await exchangeFrom(BALANCER, port, "GET / HTTP/1.1\r\n\r\n")).toBe("");
  const line = "PROXY TCP4 203.0.113.9 192.0.2.1 4711 443\r\n";
  expect(await exchangeFrom(BALANCER, port, `${line}GET / HTTP/1.1\r\n\r\n`)).toStartWith("HTTP/1.1 400 ");
  const reply = await RawClient.connect(port).then((client) => client.exchange(line));
  expect(reply.status).toBe(400);
});
