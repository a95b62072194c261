// docs/wire.md#request-line: the port of a scheme is the same as none, in the target and in Host.
import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { cache: { enabled: true } } },
  routes: [
    upstream("/", origin, { host: "a.test" }),
    { type: "respond", path: "/port", host: "a.test", body: "{host} {port}" },
  ],
});
afterAll(() => stopAll(gateway, origin));

const SAME = [
  ["http", "a.test:80", "a.test"],
  ["http", "a.test", "a.test:80"],
  ["http", "a.test:80", "a.test:80"],
  ["http", "A.test:80", "a.TEST"],
  ["http", "a.test:", "a.test"],
  ["http", "a.test:", "a.test:80"],
  ["https", "a.test:443", "a.test"],
  ["https", "a.test", "a.test:443"],
  ["HTTPS", "a.test", "a.test:443"],
  ["http", "a.test:080", "a.test"],
  ["http", "a.test", "a.test:00080"],
  ["https", "a.test:0443", "a.test:443"],
] as const;

const OTHER = [
  ["http", "a.test:443", "a.test"],
  ["http", "a.test", "a.test:443"],
  ["https", "a.test:80", "a.test"],
  ["https", "a.test", "a.test:80"],
  ["http", "a.test:8080", "a.test"],
  ["http", "a.test:80", "b.test"],
  ["http", "a.test:80", "a.test:8080"],
  ["http", "a.test:0443", "a.test"],
  ["https", "a.test:080", "a.test"],
  ["http", "a.test:0", "a.test"],
  ["http", "[::80]", "[:"],
  ["http", "a.test", "a.test80"],
] as const;

/** As the origin, the key and `{port}` see it. */
const canonicalOf = (own: string): string =>
  own
    .toLowerCase()
    .replace(/:$/, "")
    .replace(/:0+(?=\d)/, ":");

describe("a target with an authority and a Host", () => {
  test.each(SAME)(
    "%s://%s/ and Host: %s agree: the origin and the key see what the target says",
    async (scheme, own, host) => {
      const reply = await gateway.once(request(`GET ${scheme}://${own}/echo HTTP/1.1`, [`Host: ${host}`]));
      const canonical = canonicalOf(own);
      expect([reply.status, json<Echo>(reply).headers.host, json<Echo>(reply).headers["x-forwarded-host"]]).toEqual([
        200,
        canonical,
        canonical,
      ]);
    },
  );

  test.each(OTHER)("%s://%s/ and Host: %s do not", async (scheme, own, host) => {
    const reply = await gateway.once(request(`GET ${scheme}://${own}/echo HTTP/1.1`, [`Host: ${host}`]));
    expect([reply.status, reply.fields.get("connection")]).toEqual([400, "close"]);
  });

  test.each([
    ["a.test:", "80"],
    ["a.test:080", "80"],
    ["a.test.:00443", "443"],
    ["A.test.:00000", "0"],
    ["a.test:08080", "8080"],
  ])("Host: %s alone names port %s, whatever its spelling", async (host, port) => {
    for (const target of ["/port", `http://${host}/port`]) {
      expect((await gateway.once(request(`GET ${target} HTTP/1.1`, [`Host: ${host}`]))).text).toBe(`a.test ${port}`);
    }
    const echo = json<Echo>(await gateway.once(request("GET /echo HTTP/1.1", [`Host: ${host}`])));
    expect(echo.headers.host).toBe(
      host === "a.test:" ? "a.test" : host.endsWith(":080") ? "a.test:80" : `a.test:${port}`,
    );
  });

  test("a stored response is that of the host that the origin has seen", async () => {
    const seen = async (target: string, host: string) =>
      (await gateway.once(request(`GET ${target} HTTP/1.1`, [`Host: ${host}`]))).fields.get("x-cache");
    // The key has the target as it was written, and the host that the origin has seen.
    expect(await seen("http://a.test:80/canary", "a.test")).toBe("MISS");
    expect(await seen("http://a.test:80/canary", "a.test:80")).toBe("HIT");
    expect(await seen("http://a.test/canary", "a.test:80")).toBe("MISS");
    expect(await seen("http://a.test/canary", "a.test")).toBe("HIT");
  });
});

describe("over HTTP/2, :authority and host", () => {
  const ask = async (scheme: string, own: string, host: string) => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request([
      [":method", "GET"],
      [":scheme", scheme],
      [":authority", own],
      [":path", "/echo"],
      ["host", host],
    ]);
    client.close();
    return reply;
  };

  test.each(SAME.filter(([scheme]) => scheme !== "HTTPS"))("%s, %s and %s agree", async (scheme, own, host) => {
    const reply = await ask(scheme, own, host);
    const canonical = canonicalOf(own);
    expect([reply.status, (JSON.parse(reply.text) as Echo).headers.host]).toEqual([200, canonical]);
  });

  test.each(OTHER)("%s, %s and %s do not", async (scheme, own, host) => {
    const reply = await ask(scheme, own, host);
    expect(reply.status === 400 || reply.reset >= 0).toBe(true);
  });
});
