import { afterAll, describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#sidecar: a sidecar never speaks to its own gateway, whatever it is called.
const origin = EchoOrigin.start();
const ports = { ingress: freePort(), egress: freePort(), internal: freePort(), edge: freePort(), tls: freePort() };
const certificate = await makeCertificate();
const gateway = await startGateway({
  port: ports.edge,
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  config: {
    server: { host: "::", tls: { port: ports.tls, cert_file: "a.pem", key_file: "a.key" } },
    internal_api: { listen: `127.0.0.1:${ports.internal}` },
    sidecar: {
      enabled: true,
      ingress_host: "0.0.0.0",
      ingress_port: ports.ingress,
      egress_port: ports.egress,
      app_port: origin.port,
      traffic_splits: [
        { prefix: "/split", backends: [{ target: `http://127.0.0.1:${ports.edge}`, weight: 1 }] },
        { prefix: "/h2c", backends: [{ target: `h2c://localhost:${ports.edge}`, weight: 1 }] },
      ],
    },
  },
});
afterAll(() => stopAll(gateway, origin));

const ADDRESSES = Object.values(networkInterfaces())
  .flat()
  .filter((one) => one !== undefined && !one.internal && !one.address.startsWith("fe80"))
  .map((one) => (one!.family === "IPv6" ? `[${one!.address}]` : one!.address));
const HERE = [
  ...["127.0.0.1", "127.0.0.2", "localhost", "LOCALHOST", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"],
  ...["[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", ...ADDRESSES],
];

function outbound(host: string, path = "/internal/api/status") {
  return exchangeOnce(ports.egress, request(`GET ${path}`, [`Host: ${host}`]));
}

describe("the outbound listener answers 508 for the gateway's own listeners", () => {
  test.each(HERE)("called %s", async (name) => {
    for (const path of ["/internal/api/status", "/metrics", "/health"]) {
      expect([path, (await outbound(`${name}:${ports.edge}`, path)).status]).toEqual([path, 508]);
    }
  });

  test("whichever of them it is", async () => {
    for (const port of Object.values(ports)) {
      expect([port, (await outbound(`127.0.0.1:${port}`)).status]).toEqual([port, 508]);
    }
  });

  test("with an absolute target, and over HTTP/2", async () => {
    const host = `127.0.0.1:${ports.internal}`;
    const absolute = `GET http://${host}/internal/api/status HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    expect((await exchangeOnce(ports.egress, absolute)).status).toBe(508);
    const client = await H2Client.connect(ports.egress);
    const fields = head("GET", "/metrics").filter(([name]) => name !== ":authority");
    const id = client.headers([...fields, [":authority", host]], true);
    expect((await client.reply(id)).status).toBe(508);
    client.close();
  });

  test("where a split leads there", async () => {
    for (const path of ["/split/x", "/h2c/x"]) expect((await outbound("any.test", path)).status).toBe(508);
  });

  test("over TLS", async () => {
    for (const name of HERE) {
      const absolute = `GET https://${name}:${ports.tls}/metrics HTTP/1.1\r\nHost: ${name}:${ports.tls}\r\n\r\n`;
      expect([name, (await exchangeOnce(ports.egress, absolute)).status]).toEqual([name, 508]);
    }
  });

  test("with a body, which is not sent", async () => {
    const bytes = request("POST /internal/api/cache/purge", [`Host: localhost:${ports.edge}`], '{"all":true}');
    expect((await exchangeOnce(ports.egress, bytes)).status).toBe(508);
  });

  test("and goes on to everybody else", async () => {
    expect(json<Echo>(await outbound(`127.0.0.1:${origin.port}`, "/echo")).target).toBe("/echo");
  });
});

test("inbound, /internal belongs to the application", async () => {
  const reply = await exchangeOnce(ports.ingress, request("GET /internal/api/status?x"));
  expect(json<Echo>(reply).target).toBe("/internal/api/status?x");
});

test("with the default ports of both, the configuration is refused with its place", async () => {
  const run = await runEdge(["check"], { port: 8080, config: { server: { port: 8080 }, sidecar: { enabled: true } } });
  expect(run.code).toBe(1);
  expect(run.stdout + run.stderr).toMatch(
    /config\.yaml:\d+:\d+: sidecar\.app_port: port 8080 is the gateway's own server\.port/,
  );
});
