import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { SlowDatagrams } from "../harness/slow-datagrams.ts";
import { stopAll } from "../harness/teardown.ts";

const BODY_BYTES = 136 * 1024;
const BYTES_PER_SECOND = 24 * 1024;
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const origin = EchoOrigin.start();
const body = "0123456789abcdef".repeat(BODY_BYTES / 16);
origin.on("/plain", (call) => call.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
origin.on("/trailing", (call) => {
  const size = body.length.toString(16);
  call.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\nX-Sum: 42\r\n\r\n`);
});
const gateway = await startGateway({
  config: {
    server: {
      // What the runtime holds of a response takes the line longer.
      write_timeout: "2s",
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [{ type: "static", prefix: "/files", dir: "site" }, upstream("/node", origin)],
  files: { "a.pem": certificate.cert, "a.key": certificate.key, "site/big.txt": body },
});
afterAll(() => stopAll(gateway, origin));

test("a client on a slow line gets a response whole, however long it takes, as long as it takes something of it", async () => {
  const ask = async (path: string) => {
    const line = await SlowDatagrams.start(port, BYTES_PER_SECOND);
    const client = await H3Client.connect(line.port);
    const { body: got, trailers } = await client.ask("GET", path);
    client.close();
    line.stop();
    return [got.toString() === body, trailers];
  };
  const paths = ["/files/big.txt", "/node/plain", "/node/trailing"];
  expect(await Promise.all(paths.map(ask))).toEqual([
    [true, {}],
    [true, {}],
    [true, { "x-sum": "42" }],
  ]);
}, 60_000);

test("one whose line is cut is given up: what is sent again counts for nothing", async () => {
  const line = await SlowDatagrams.start(port, BYTES_PER_SECOND);
  const client = await H3Client.connect(line.port);
  const begun = Promise.withResolvers<void>();
  const asked = client.ask("GET", "/node/plain", {}, { onPiece: () => begun.resolve() }).catch(() => null);
  await begun.promise;
  line.stop();
  // Before the connection is idle.
  await eventually(async () => expect(await gateway.metric("gateway_quic_active_streams")).toBe(0), 20_000);
  client.close();
  await asked;
}, 60_000);
