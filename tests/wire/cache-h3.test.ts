// HTTP/3 requests share the entries of the cache.
import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const origin = ScriptedOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [upstream("/", origin)],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, origin));

test("a hit over HTTP/3 is what HTTP/1.1 stored, and the other way round", async () => {
  const body = Buffer.alloc(700_000);
  for (let i = 0; i < body.length; i++) body[i] = (i * 13 + (i >> 7)) & 255;
  origin.on("/one", (call) => call.reply("200 OK", ["Set-Cookie: a=b"], body));
  origin.on("/two", (call) => call.reply("200 OK", ['ETag: "v"'], "two"));
  const host = [`Host: localhost:${port}`];
  await gateway.once(request("GET /one", host));
  const client = await H3Client.connect(port);
  const hit = await client.ask("GET", "/one");
  expect([hit.status, hit.fields["x-cache"], hit.fields["set-cookie"]]).toEqual([200, "HIT", undefined]);
  expect(sha256(hit.body)).toBe(sha256(body));
  const part = await client.ask("GET", "/one", { range: "bytes=100000-400000" });
  expect([part.status, part.body.equals(body.subarray(100_000, 400_001))]).toEqual([206, true]);
  expect((await client.ask("GET", "/two")).fields["x-cache"]).toBe("MISS");
  expect((await gateway.once(request("GET /two", host))).fields.get("x-cache")).toBe("HIT");
  expect((await client.ask("GET", "/two", { "if-none-match": '"v"' })).status).toBe(304);
  expect(origin.requests).toHaveLength(2);
  client.close();
});
