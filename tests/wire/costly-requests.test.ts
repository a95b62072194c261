import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { END_HEADERS, END_STREAM, encode, H2Client, head, Type } from "../harness/h2-client.ts";
import { exchangeOnce, RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md: a request costs time in proportion to its bytes. Each of these held the one worker for seconds, or for good,
// before any rule of access or rate was asked; another client's request is answered meanwhile.

const shop = await GrpcShop.start();
const respond = { type: "respond", body: "here" };
const gateway = await startGateway({
  config: {
    server: { workers: 1 },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [shopRoute("POST", "/echo", "Echo", shop.url)],
    },
  },
  routes: [
    upstream("/shop.Shop", { url: shop.url.replace("http:", "h2c:") }, { strip_prefix: false, grpc_web: true }),
    { ...respond, prefix: "/beta", match: { cookie: { beta: "1" } } },
    { ...respond, prefix: "/dark", match: { query: { theme: "dark" } } },
    { ...respond, prefix: "/" },
  ],
});
afterAll(() => stopAll(gateway, shop));

/** Longer than anything here takes, much shorter than what any of it took. */
const PROMPT_MS = 500;

/** How long another client waits for a small response once the request has gone out. */
async function otherWaits(send: () => void): Promise<number> {
  const other = await RawClient.connect(gateway.port);
  try {
    expect((await other.exchange(request("GET /health"))).status).toBe(200);
    send();
    const startMs = performance.now();
    // Some of them are over by then, and some have begun: the worker is asked until it has seen them all.
    for (let i = 0; i < 20; i++) {
      expect((await other.exchange(request("GET /health"))).status).toBe(200);
      await Bun.sleep(5);
    }
    return performance.now() - startMs - 100;
  } finally {
    other.close();
  }
}

const JSON_TYPE = ["Content-Type: application/json"];
const TEXT_TYPE = ["Content-Type: application/grpc-web-text"];
const ESCAPED = "\\u0030".repeat(7_800);
const UNFINISHED = "\\u0030".repeat(7_800).slice(0, -1);

const REQUESTS: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["163 bytes of gRPC-Web's base64", request("POST /shop.Shop/Echo", TEXT_TYPE, `${"A".repeat(162)}!`)],
  ["64 KB of it", request("POST /shop.Shop/Echo", TEXT_TYPE, `${"QQ==".repeat(16_000)}!`)],
  ["a text of escapes", request("POST /echo", JSON_TYPE, `{"text":"${ESCAPED}"}`)],
  ["a text of escapes that is no number", request("POST /echo", JSON_TYPE, `{"text":"${ESCAPED}x!"}`)],
  ["a text of escapes that does not end", request("POST /echo", JSON_TYPE, `{"text":"${UNFINISHED}`)],
  ["a number of 46,000 digits", request("POST /echo", JSON_TYPE, `{"large":1${"0".repeat(45_998)}1}`)],
  ["a fraction of as many", request("POST /echo", JSON_TYPE, `{"large":1.${"0".repeat(45_998)}1}`)],
  ["its text", request("POST /echo", JSON_TYPE, `{"large":"1${"0".repeat(45_998)}1.0"}`)],
  ["blanks in a cookie", request("GET /beta", Array(3).fill(`Cookie: beta=y${" ".repeat(7_900)}x`))],
  ["many cookies", request("GET /beta", Array(3).fill(`Cookie: ${many((i) => `beta=${i}`, "; ")}`))],
  ["many parameters", request(`GET /dark?${many((i) => `theme=${i}`, "&")}`)],
  ["blanks before Accept's end in a head that is refused", request("GET /", [`Accept:${" ".repeat(7_900)}\x01`])],
];

function many(one: (i: number) => string, separator: string): string {
  return Array.from({ length: 3000 }, (_, i) => one(i))
    .join(separator)
    .slice(0, 7_900);
}

describe("another client is answered beside", () => {
  test.each(REQUESTS)("%s", async (_what, bytes) => {
    const client = await RawClient.connect(gateway.port);
    try {
      expect(await otherWaits(() => client.send(bytes))).toBeLessThan(PROMPT_MS);
    } finally {
      client.close();
    }
  });

  test("HTTP/2 requests of 80 bytes, which name fields that are known", async () => {
    const client = await H2Client.connect(gateway.port);
    const first = client.headers(head("GET", "/"));
    await client.reply(first);
    // 32 is `cookie`; what is known first has the index 62. RFC 7541 §6.2.1, Appendix A.
    const value = `beta=y${" ".repeat(3_900)}x`;
    const known = Buffer.concat([Buffer.of(0x60), prefixed(value.length), Buffer.from(value)]);
    const request = encode(head("GET", "/beta"));
    let last = 0;
    expect(
      await otherWaits(() => {
        for (let i = 0; i < 40; i++) {
          const fields = Buffer.concat([request, i === 0 ? known : Buffer.alloc(0), Buffer.alloc(14, 0xbe)]);
          last = client.nextId();
          client.frame(Type.headers, END_HEADERS | END_STREAM, last, fields);
        }
      }),
    ).toBeLessThan(PROMPT_MS);
    expect((await client.reply(last)).status).toBe(200);
    client.close();
  });
});

/** A length of a text in plain bytes. RFC 7541 §5.1. */
function prefixed(length: number): Buffer {
  const rest = length - 127;
  return Buffer.of(127, (rest & 127) | 128, rest >> 7);
}

test("what they send is judged as before", async () => {
  const web = await exchangeOnce(gateway.port, REQUESTS[0]![1]);
  expect([web.status, web.text]).toEqual([400, expect.stringContaining("base64")]);
  const number = await exchangeOnce(gateway.port, REQUESTS[5]![1]);
  expect(number.status).toBe(400);
});
