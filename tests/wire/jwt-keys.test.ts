import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestAuthority } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { issuerKey, KeyServer, keySetText, token } from "../harness/token-issuer.ts";

// docs/authentication.md#keys
const first = issuerKey("ES256", "one");
const second = issuerKey("ES256", "two");
const origin = EchoOrigin.start();
afterAll(() => origin.stop());

function set(...keys: readonly ReturnType<typeof issuerKey>[]): Response {
  return new Response(keySetText(...keys), { headers: { "Content-Type": "application/json" } });
}

async function gatewayFor(jwt: object, workers = 2): Promise<Gateway> {
  return startGateway({
    config: { server: { workers } },
    routes: [
      upstream("/api", origin, { auth: { jwt: { audience: "api", ...jwt } } }),
      upstream("/too", origin, { auth: { jwt: { audience: "api", ...jwt } } }),
      upstream("/open", origin),
    ],
  });
}

async function statusOf(gateway: Gateway, key = first, path = "/api/a", header: object = {}): Promise<number> {
  const line = `Authorization: Bearer ${token(key, undefined, header)}`;
  return (await gateway.once(request(`GET ${path}`, [line]))).status;
}

async function withKeys(
  answer: () => Response | Promise<Response>,
  run: (gateway: Gateway, server: KeyServer) => Promise<void>,
) {
  const server = new KeyServer(answer);
  const gateway = await gatewayFor({ jwks_url: server.url });
  try {
    await run(gateway, server);
  } finally {
    await gateway.stop();
    await server.stop();
  }
}

describe("keys that are fetched", () => {
  test("are asked for once for all workers and routes; a rotation is found once, by those who wait", async () => {
    await withKeys(
      () => set(first),
      async (gateway, server) => {
        for (let i = 0; i < 8; i++) expect(await statusOf(gateway, first, i % 2 === 0 ? "/api/a" : "/too/a")).toBe(200);
        expect(server.requests).toBe(1);
        server.answer = () => set(second);
        // Within the pause nobody asks again.
        expect(await statusOf(gateway, second)).toBe(401);
        expect(server.requests).toBe(1);
        await Bun.sleep(10_200);
        server.answer = async () => {
          await Bun.sleep(500);
          return set(second);
        };
        const all = await Promise.all(Array.from({ length: 40 }, () => statusOf(gateway, second)));
        expect(new Set(all)).toEqual(new Set([200]));
        expect(server.requests).toBe(2);
        // The first key is gone, and what was remembered of its tokens with it.
        expect(await statusOf(gateway, first)).toBe(401);
        const flood = await Promise.all(
          Array.from({ length: 100 }, (_, i) => statusOf(gateway, second, "/api/a", { kid: `no ${i}` })),
        );
        expect(new Set(flood)).toEqual(new Set([401]));
        expect(server.requests).toBe(2);
        expect(await gateway.metric("gateway_jwks_fetches_total", { result: "success" })).toBe(2);
        expect(await gateway.metric("gateway_jwks_keys")).toBe(1);
      },
    );
  }, 40_000);

  test("a slow issuer: requests wait for it, other routes do not, and a client may leave", async () => {
    const slow = Promise.withResolvers<void>();
    await withKeys(
      async () => {
        await slow.promise;
        return set(first);
      },
      async (gateway) => {
        const waiting = [statusOf(gateway), statusOf(gateway)];
        for (let i = 0; i < 20; i++) {
          const connection = await gateway.connect();
          connection.send(request("GET /api/a", [`Authorization: Bearer ${token(first)}`]));
          await Bun.sleep(2);
          connection.close();
        }
        expect((await gateway.once(request("GET /open/a"))).status).toBe(200);
        slow.resolve();
        expect(await Promise.all(waiting)).toEqual([200, 200]);
      },
    );
  });

  test("an issuer that is away: 503 for its routes until it is back, and 200 with what was there after it left", async () => {
    const server = new KeyServer(() => set(first), false);
    const gateway = await gatewayFor({ jwks_url: server.url });
    try {
      expect(await statusOf(gateway)).toBe(503);
      expect((await gateway.once(request("GET /api/a"))).status).toBe(401);
      expect((await gateway.once(request("GET /open/a"))).status).toBe(200);
      const line = await gateway.log("a failure", ({ event }) => event === "jwks_failed");
      expect(line).toMatchObject({ url: server.url, keys_kept: 0 });
      server.start();
      await eventually(async () => expect(await statusOf(gateway)).toBe(200));
      await gateway.log("the keys", ({ event }) => event === "jwks_fetched");
      await server.stop();
      expect(await statusOf(gateway)).toBe(200);
      expect((await gateway.reload()).ok).toBe(true);
      expect(await statusOf(gateway)).toBe(200);
      expect(await gateway.metric("gateway_jwks_fetches_total", { result: "failure" })).toBeGreaterThan(0);
    } finally {
      await gateway.stop();
      await server.stop();
    }
  }, 30_000);

  const endless = (): Response =>
    new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(Buffer.alloc(65_536, " "));
        },
      }),
    );
  const BAD: readonly (readonly [string, () => Response, RegExp])[] = [
    ["garbage", () => new Response("<html>"), /not JSON/],
    ["no set", () => new Response('{"error":"x"}'), /no list "keys"/],
    ["an empty set", () => new Response('{"keys":[]}'), /no key/],
    ["an error", () => new Response("no", { status: 500 }), /status 500/],
    [
      "a redirect to itself",
      () => new Response(null, { status: 302, headers: { Location: "/jwks.json" } }),
      /redirects are not followed/,
    ],
    [
      "a compressed response",
      () => new Response(Bun.gzipSync(Buffer.from(keySetText(first))), { headers: { "Content-Encoding": "gzip" } }),
      /compressed/,
    ],
    ["an endless response", endless, /more than 262144 bytes/],
  ];

  test.each(BAD)(
    "%s: 503, with the reason in the log",
    async (_, answer, reason) => {
      await withKeys(answer, async (gateway, server) => {
        const line = await gateway.log("a failure", ({ event }) => event === "jwks_failed");
        expect(line.error as string).toMatch(reason);
        expect(await statusOf(gateway)).toBe(503);
        server.answer = () => set(first);
        await eventually(async () => expect(await statusOf(gateway)).toBe(200));
      });
    },
    30_000,
  );

  test("a response that never ends is given up, and so are those who wait for it", async () => {
    await withKeys(
      () => new Promise<Response>(() => {}),
      async (gateway) => {
        const began = performance.now();
        expect(await statusOf(gateway)).toBe(503);
        expect(performance.now() - began).toBeLessThan(9000);
        const line = await gateway.log("a failure", ({ event }) => event === "jwks_failed");
        expect(line.error as string).toMatch(/within 5 s/);
      },
    );
  }, 30_000);

  test("keys that are of no use are passed over, and named", async () => {
    const mixed = JSON.stringify({
      keys: [
        ...(JSON.parse(keySetText(first)) as { keys: unknown[] }).keys,
        { kty: "RSA", kid: "broken", n: "AA", e: "AQAB" },
        { kty: "oct", kid: "shared", k: "c2VjcmV0" },
        { kty: "RSA", kid: "enc", use: "enc", n: "AA", e: "AQAB" },
        "text",
      ],
    });
    await withKeys(
      () => new Response(mixed),
      async (gateway) => {
        expect(await statusOf(gateway)).toBe(200);
        const line = await gateway.log("the keys", ({ event }) => event === "jwks_fetched");
        expect(line.keys).toBe(1);
        expect((line.passed_over as string[]).map((text) => text.split(" is passed")[0])).toEqual([
          'key "broken"',
          'key "shared"',
          "key 5",
        ]);
      },
    );
  });

  test("over TLS, verified by ca_file, and never without", async () => {
    const authority = await TestAuthority.make("private");
    const { cert, key } = await authority.issue({ subject: "id", names: [{ type: "dns", value: "localhost" }] });
    const port = freePort();
    const server = Bun.serve({ port, hostname: "127.0.0.1", tls: { cert, key }, fetch: () => set(first) });
    const url = `https://localhost:${port}/jwks`;
    const start = (more: object, env: Record<string, string> = {}) =>
      startGateway({
        env,
        files: { "ca.pem": authority.cert },
        routes: [upstream("/api", origin, { auth: { jwt: { jwks_url: url, audience: "api", ...more } } })],
      });
    const trusting = await start({ ca_file: "ca.pem" });
    const doubting = await start({}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    try {
      expect(await statusOf(trusting)).toBe(200);
      expect(await statusOf(doubting)).toBe(503);
    } finally {
      await trusting.stop();
      await doubting.stop();
      await server.stop(true);
    }
  });

  test("of the internal endpoints' users alone", async () => {
    const server = new KeyServer(() => set(first));
    const gateway = await startGateway({
      config: { internal_api: { auth: { jwt: { jwks_url: server.url, audience: "api", claims: { sub: "alice" } } } } },
      routes: [],
    });
    try {
      expect(await statusOf(gateway, first, "/internal/api/status")).toBe(200);
      expect(await statusOf(gateway, second, "/internal/api/status")).toBe(401);
      expect((await gateway.once(request("GET /internal/api/status"))).status).toBe(401);
    } finally {
      await gateway.stop();
      await server.stop();
    }
  });

  test("files are read again on reload; a broken one changes nothing and is named", async () => {
    const gateway = await startGateway({
      files: { "jwks.json": keySetText(first) },
      routes: [upstream("/api", origin, { auth: { jwt: { jwks_file: "jwks.json" } } })],
    });
    try {
      expect(await statusOf(gateway)).toBe(200);
      writeFileSync(join(gateway.folder, "jwks.json"), "{");
      const line = await gateway.reload();
      expect(JSON.stringify(line.faults)).toContain("jwks_file: it is not JSON");
      expect(await statusOf(gateway)).toBe(200);
      writeFileSync(join(gateway.folder, "jwks.json"), keySetText(second));
      expect((await gateway.reload()).ok).toBe(true);
      expect([await statusOf(gateway), await statusOf(gateway, second)]).toEqual([401, 200]);
    } finally {
      await gateway.stop();
    }
  });
});
