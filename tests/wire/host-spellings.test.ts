import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { json } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#paths-and-hosts: one host for matching, keys and origins, whatever the spelling.

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    upstream("/", origin, { strip_prefix: false }),
    upstream("/", origin, { host: "a.test", headers: { request: { set: { "X-Route": "a.test" } } } }),
    upstream("/", origin, { host: "*.b.test", headers: { request: { set: { "X-Route": "*.b.test" } } } }),
    upstream("/", origin, { host: "[2001:db8::1]", headers: { request: { set: { "X-Route": "v6" } } } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const ways: Record<string, (host: string) => Promise<{ status: number; text: string }>> = {
  Host: (host) => gateway.once(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  "absolute-form": (host) => gateway.once(`GET http://${host}/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  "absolute-form of HTTP/1.0": (host) => gateway.once(`GET http://${host}/x HTTP/1.0\r\n\r\n`),
  ":authority": async (host) => {
    const client = await H2Client.connect(gateway.port);
    const fields = [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/x"],
      [":authority", host],
    ] as const;
    const reply = await client.request(fields);
    client.close();
    return reply;
  },
};

describe.each(Object.keys(ways))("%s", (way) => {
  const ask = ways[way]!;

  test.each([
    ["a.test", "a.test", "a.test"],
    ["A.Test", "a.test", "a.test"],
    ["a.test.", "a.test", "a.test"],
    ["a.test:", "a.test", "a.test"],
    ["A.TEST.:", "a.test", "a.test"],
    ["a.test:80", "a.test", "a.test:80"],
    ["A.test.:80", "a.test", "a.test:80"],
    ["a.test:00080", "a.test", "a.test:80"],
    ["X.B.test.", "*.b.test", "x.b.test"],
    ["[2001:DB8:0:0::1]:80", "v6", "[2001:db8:0:0::1]:80"],
    ["[2001:db8::0.0.0.1]", "v6", "[2001:db8::0.0.0.1]"],
    ["b.test", undefined, "b.test"],
  ])("%s takes the route of %s, and the origin is asked for %s", async (host, route, sent) => {
    const reply = await ask(host);
    expect(reply.status).toBe(200);
    const { headers } = JSON.parse(reply.text) as Echo;
    expect([headers["x-route"], headers.host, headers["x-forwarded-host"]]).toEqual([route!, sent, sent]);
  });

  test.each([
    "%61.test",
    "a%2etest",
    "a.test%2e",
    "a.test%3a80",
    "a.test%00",
    "[2001:db8::1%25x]",
    "[2001:db8::1",
    "[v1.a]",
    "a..test",
    "a.test..",
    ".a.test",
    "u@a.test",
    "a.test:8080:80",
    `a.test:${"0".repeat(300)}80`,
    `${"x.".repeat(200)}b.test`,
    "\xe4.test",
    "a.test:65536",
  ])("%s is refused", async (host) => {
    const seen = origin.requests.length;
    expect([(await ask(host)).status, origin.requests.length]).toEqual([400, seen]);
  });
});

test("a target and a Host that differ in capitals agree, and go on in lower case", async () => {
  const reply = await gateway.once("GET http://A.TEST/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
  expect(json<Echo>(reply).headers.host).toBe("a.test");
});
