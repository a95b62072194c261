// Identity headers of clients, and the scheme that a trusted proxy tells of. docs/security.md#identity-headers
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IDENTITY_FIELDS } from "../../src/core/identity-names.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      trusted_proxies: ["127.0.0.2/32"],
      pass_identity_headers: ["X-HTTP-Method-Override", "X-Scheme"],
      waf: { enabled: false },
      cache: { enabled: true, cookies: "share" },
      tls: { port, cert_file: "a.pem", key_file: "a.key", redirect_http: false },
    },
  },
  routes: [
    upstream("/", origin, {
      headers: { request: { set: { "X-Seen-Scheme": "{scheme}" } } },
      cache: { enabled: true, default_ttl: "60s" },
    }),
  ],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, origin));

/** What a trusted proxy gets for a client of its own. */
async function asProxy(to: number, path: string, lines: readonly string[]): Promise<{ status: number; body: string }> {
  const own = ["X-Forwarded-For: 192.0.2.1", "Connection: close", ...lines];
  const received = await exchangeFrom("127.0.0.2", to, request(`GET ${path}`, own));
  return { status: statusOf(received), body: received.slice(received.indexOf("\r\n\r\n") + 4) };
}

let paths = 0;
const fields = async (...lines: string[]): Promise<Record<string, unknown>> =>
  json<Echo>(await gateway.once(request(`GET /${++paths}`, lines))).headers;

const NAMES = IDENTITY_FIELDS.map((name) => name.replace("*", "any"));

describe("of a client that is no trusted proxy", () => {
  test.each(NAMES)("%s reaches no origin in any spelling", async (name) => {
    const isPassed = name === "x-scheme";
    for (const one of [name, name.toUpperCase(), name.replaceAll("-", "_"), name.replaceAll("-", ".")]) {
      const sent = Object.keys(await fields(`${one}: evil`)).map((found) => found.replace(/[^a-z0-9]/g, "-"));
      expect([one, sent.includes(name)]).toEqual([one, isPassed && !/[_.]/.test(one)]);
    }
    expect((await gateway.once(request(`GET /${++paths}`, [`${name}: a`, "X-Own: b"]))).status).toBe(200);
  });

  test("those that are let through go on as they are written, over HTTP/2 as well", async () => {
    expect((await fields("x-http-method-override: PUT"))["x-http-method-override"]).toBe("PUT");
    expect(await fields("X_HTTP_Method_Override: PUT", "X-HTTP-Method: PUT")).not.toHaveProperty(
      "x_http_method_override",
    );
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request([
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/h2"],
      [":authority", "gw.test"],
      ["x-http-method-override", "DELETE"],
      ["front-end-https", "on"],
    ]);
    const { headers } = JSON.parse(reply.body.toString()) as Echo;
    expect([headers["x-http-method-override"], headers["front-end-https"]]).toEqual(["DELETE", undefined]);
    client.close();
  });

  test("what was made for one with such a field is no other client's", async () => {
    const path = `/shared-${++paths}`;
    const first = await gateway.once(request(`GET ${path}`, ["X-HTTP-Method-Override: DELETE"]));
    expect(first.text).toContain("DELETE");
    const second = await gateway.once(request(`GET ${path}`));
    expect(second.text).not.toContain("DELETE");
    const third = await gateway.once(request(`GET ${path}`, ["X-HTTP-Method-Override: DELETE"]));
    expect(third.text).toContain("DELETE");
  });
});

test("of a trusted proxy they go on", async () => {
  const reply = await asProxy(gateway.port, "/t", ["X-SSL-Client-CN: ann"]);
  expect((JSON.parse(reply.body) as Echo).headers["x-ssl-client-cn"]).toBe("ann");
});

test.each([
  ["https", "https"],
  ["HTTPS", "https"],
  ["wss", "https"],
  ["WSS", "https"],
  ["https, https", "https"],
  ["https,http", "https"],
  ["wss, http", "https"],
  ["ws", "http"],
  ["http, http", "http"],
  ["ftp", "http"],
  ["", "http"],
  [", https", "http"],
])("X-Forwarded-Proto: %s of a trusted proxy is %s", async (told, scheme) => {
  const lines = [`X-Forwarded-Proto: ${told}`];
  const reply = await asProxy(gateway.port, `/s${++paths}`, lines);
  const { headers } = JSON.parse(reply.body) as Echo;
  expect([headers["x-forwarded-proto"], headers["x-seen-scheme"]]).toEqual([scheme, scheme]);
  expect((await fields(`X-Forwarded-Proto: ${told}`))["x-forwarded-proto"]).toBe("http");
});

test("a client whose proxy says wss or a list is redirected to TLS no further", async () => {
  const tls = { port: freePort(), cert_file: "a.pem", key_file: "a.key", redirect_http: true };
  const redirecting = await startGateway({
    config: { server: { workers: 1, trusted_proxies: ["127.0.0.2/32"], tls } },
    routes: [upstream("/", origin)],
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
  for (const [told, status] of [
    ["wss", 200],
    ["https, https", 200],
    ["https, http", 200],
    ["ws", 301],
    ["http, https", 301],
  ] as const) {
    const lines = [`X-Forwarded-Proto: ${told}`];
    const reply = await asProxy(redirecting.port, "/", lines);
    expect([told, reply.status]).toEqual([told, status]);
  }
  await redirecting.stop();
});

test("only identity headers can be named, and none that the gateway writes itself", async () => {
  const text = (name: string) => `server:\n  pass_identity_headers: [${name}]\n`;
  for (const [name, why] of [
    ["X-Forwarded-For", "the gateway writes it itself"],
    ["X-Tenant", "is no identity header"],
  ] as const) {
    const run = await runEdge(["check"], { files: { "config.yaml": text(name), "routes.yaml": "routes: []\n" } });
    expect([run.code, run.stderr + run.stdout]).toEqual([1, expect.stringContaining(why)]);
  }
});

test("THE list is the one of docs/security.md", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/security.md"), "utf8").toLowerCase();
  const [, list = ""] = /## identity headers([\s\S]*?)\n- /.exec(page) ?? [];
  expect([...list.matchAll(/`([a-z0-9-]+\*?)`/g)].map(([, name]) => name)).toEqual([...IDENTITY_FIELDS]);
});
