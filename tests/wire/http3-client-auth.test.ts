import { afterAll, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { TestAuthority, type TestCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

// docs/security.md#tls-and-client-certificates: over HTTP/3 a client is who it is over HTTP/1.1.
const authority = await TestAuthority.make("trusted");
const stranger = await TestAuthority.make("stranger");
const names = [{ type: "url" as const, value: "spiffe://mesh/ns/shop/sa/web" }];
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const client = await authority.issue({ subject: "client", names });
const wrong = await stranger.issue({ subject: "client", names });
const port = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key", client_auth: "require", client_ca_file: "ca.pem" },
      http3: { enabled: true },
    },
  },
  files: { "a.pem": server.cert, "a.key": server.key, "ca.pem": authority.cert },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

function connect(certificate: TestCertificate | null): Promise<H3Client> {
  if (certificate === null) return H3Client.connect(port);
  const keys = [createPrivateKey(certificate.key)];
  return H3Client.connect(port, "localhost", { keys, certs: [Buffer.from(certificate.cert)] });
}

test("the origin is told of the certificate as over HTTP/1.1, whatever the client claims", async () => {
  const h3 = await connect(client);
  const reply = await h3.ask("GET", "/node/echo", { "x-forwarded-client-cert": "Subject=root" });
  const { headers } = JSON.parse(reply.body.toString()) as Echo;
  const over1 = json<Echo>(await TlsClient.once(port, request("GET /node/echo"), client)).headers;
  expect(headers["x-forwarded-client-cert"]).toMatch(
    /^Hash=[0-9a-f]{64};Subject="CN=client";URI=spiffe:\/\/mesh\/ns\/shop\/sa\/web$/,
  );
  expect(headers["x-forwarded-client-cert"]).toBe(over1["x-forwarded-client-cert"]!);
  h3.close();
});

test("a client without a certificate, or with one of a stranger, is answered nothing", async () => {
  for (const certificate of [null, wrong]) {
    const answered = connect(certificate).then((h3) => h3.ask("GET", "/node/echo"));
    const status = await Promise.race([
      answered.then(
        ({ status: code }) => code,
        () => 0,
      ),
      Bun.sleep(3000).then(() => 0),
    ]);
    expect(status || 0).toBe(0);
  }
  expect(origin.requestsFor("/echo").length).toBe(2);
});

test("an answer for one certificate is no hit for another client", async () => {
  let count = 0;
  origin.on("/mine", (call) => call.reply("200 OK", ["Cache-Control: max-age=60"], `copy ${++count}`));
  const h3 = await connect(client);
  expect((await h3.ask("GET", "/node/mine")).body.toString()).toBe("copy 1");
  expect((await h3.ask("GET", "/node/mine")).body.toString()).toBe("copy 2");
  expect((await gateway.once(request("GET /node/mine"))).text).toBe("copy 3");
  h3.close();
});
