import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { askInTurn, balanced, tally, times } from "./named-origins.ts";

const good = EchoOrigin.start();
const bad = EchoOrigin.start();
const worse = EchoOrigin.start();
const busy = EchoOrigin.start();
const dead = { url: `http://127.0.0.1:${freePort()}` };
// Nothing is kept open, so that no failure is that of a stale connection.
const proxy = { transport: { max_idle_conns: 0 } };
const timeouts = { response_header: "1s" };
const never = { circuit_breaker: { enabled: false } };

const gateway = await startGateway({
  config: { proxy },
  routes: [
    balanced("/dead-first", [dead, { url: good.url, backup: true }], never),
    balanced("/bad-first", [{ url: bad.url }, { url: good.url, backup: true }], never),
    balanced("/silent-first", [{ url: bad.url }, { url: good.url, backup: true }], { ...never, timeouts }),
    balanced("/alone", [{ url: bad.url }], never),
    balanced("/alone-silent", [{ url: bad.url }], { ...never, timeouts }),
    balanced("/none", [{ url: bad.url }, { url: good.url, backup: true }], { ...never, retries: { attempts: 0 } }),
    balanced("/two", [dead, { url: bad.url }, { url: good.url, backup: true }], { ...never, retries: { attempts: 2 } }),
    balanced("/all-bad", [{ url: bad.url }, { url: worse.url }], never),
    balanced("/failed", [{ url: busy.url }, { url: good.url, backup: true }], {
      circuit_breaker: { failure_threshold: 100000, failure_statuses: [503] },
      headers: { response: { set: { "X-Edited": "yes" } } },
    }),
    balanced("/all-failed", [{ url: bad.url }, { url: worse.url }], {
      circuit_breaker: { failure_threshold: 100000, failure_statuses: [503] },
      retries: { attempts: 5 },
    }),
    balanced("/streamed", [dead, { url: good.url, backup: true }], { ...never, inbound_chunked_mode: "passthrough" }),
  ],
});
afterAll(() => stopAll(gateway, good, bad, worse, busy));

for (const origin of [bad, worse]) {
  origin.on("/reset", (call) => call.takeOver().reset());
  origin.on("/silent", (call) => {
    call.takeOver();
  });
  origin.on("/one-byte", async (call) => {
    call.takeOver();
    call.send("H");
    await Bun.sleep(20);
    call.connection.reset();
  });
  origin.on("/503", (call) => call.reply("503 Service Unavailable", [], "busy"));
}

busy.on("/echo", (call) => call.reply("503 Service Unavailable", ["X-Bad: yes"], "b".repeat(100_000)));

beforeEach(() => {
  for (const origin of [good, bad, worse, busy]) origin.requests.length = 0;
});

const BODY = Buffer.alloc(200_000, "0123456789");

describe("another target answers when one", () => {
  test.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH"])("cannot be reached: %s", async (method) => {
    const reply = await gateway.once(request(`${method} /dead-first/echo`));
    expect(reply.status).toBe(200);
    expect(good.requests.map((one) => one.method)).toEqual([method]);
  });

  test.each([
    ["with a length", "/dead-first/echo", request("POST /dead-first/echo", [], BODY)],
    [
      "in chunks, normalised",
      "/dead-first/echo",
      request("POST /dead-first/echo", ["Transfer-Encoding: chunked"], chunked(BODY)),
    ],
    [
      "in chunks, streamed",
      "/streamed/echo",
      request("POST /streamed/echo", ["Transfer-Encoding: chunked"], chunked(BODY)),
    ],
    ["awaited", "/dead-first/echo", request("PUT /dead-first/echo", ["Expect: 100-continue"], BODY)],
  ] as const)("cannot be reached, and gets the whole body %s", async (_name, _path, bytes) => {
    const reply = await gateway.once(bytes);
    expect(reply.status).toBe(200);
    expect(json<Echo>(reply)).toMatchObject({ length: BODY.length, sha256: sha256(BODY) });
  });

  test.each(["GET", "HEAD", "DELETE"])("resets before the answer: %s", async (method) => {
    expect((await gateway.once(request(`${method} /bad-first/reset`))).status).toBe(200);
    expect([bad.requests.length, good.requests.length]).toEqual([1, 1]);
  });

  test("does not answer in time", async () => {
    // The second has no more time than the first: whoever stands still for as long tries again.
    await eventually(async () => {
      for (const origin of [bad, good]) origin.requests.length = 0;
      expect((await gateway.once(request("GET /silent-first/silent"))).status).toBe(200);
      expect([bad.requests.length, good.requests.length]).toEqual([1, 1]);
    });
  });

  test("fails and a second does too, where two retries are allowed", async () => {
    expect(
      tally(await askInTurn(gateway, times(4, "/two/reset")).then((all) => all.map((one) => String(one.length > 3)))),
    ).toEqual({
      true: 4,
    });
    expect(good.requests.length).toBe(4);
  });
});

describe("a small body is sent again with its request", () => {
  const small = BODY.subarray(0, 10_000);
  test.each([
    ["that comes at once", 10_000, [request("PUT /bad-first/reset", [], small)]],
    ["of a DELETE", 10_000, [request("DELETE /bad-first/reset", [], small)]],
    [
      "that comes in pieces",
      10_000,
      [request("PUT /bad-first/reset", ["Content-Length: 10000"]), small.subarray(0, 1), small.subarray(1)],
    ],
    [
      "in chunks, normalised",
      10_000,
      [request("PUT /bad-first/reset", ["Transfer-Encoding: chunked"], chunked(small, 999))],
    ],
    ["of one byte", 1, [request("PUT /bad-first/reset", [], "0")]],
    ["of 16 KiB", 16_384, [request("PUT /bad-first/reset", [], BODY.subarray(0, 16_384))]],
  ] as const)("%s", async (_name, length, pieces) => {
    const client = await gateway.connect();
    await client.sendPieces(pieces, 20);
    const reply = await client.reply("PUT");
    expect(reply.status).toBe(200);
    expect([bad.requests.length, good.requests.length]).toEqual([1, 1]);
    const echo = json<Echo>(reply);
    expect(echo.sha256).toBe(sha256(BODY.subarray(0, echo.length)));
    expect(echo.length).toBe(length);
    // The connection goes on, and the next body is its own.
    const next = json<Echo>(await client.exchange(request("PUT /dead-first/echo", [], "next")));
    expect([next.length, next.sha256]).toEqual([4, sha256(Buffer.from("next"))]);
    client.close();
  });

  test("also when it was awaited", async () => {
    const client = await gateway.connect();
    client.send(request("PUT /bad-first/reset", ["Expect: 100-continue", "Content-Length: 5"]));
    expect((await client.interim()).status).toBe(100);
    client.send("hello");
    expect(json<Echo>(await client.reply("PUT")).sha256).toBe(sha256(Buffer.from("hello")));
    client.close();
  });

  test("and only once where nothing fails, also on kept connections", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 5; i++) {
      const echo = json<Echo>(await client.exchange(request("PUT /two/echo", [], `body ${i}`)));
      expect([echo.length, echo.sha256]).toEqual([6, sha256(Buffer.from(`body ${i}`))]);
    }
    expect(bad.requests.length).toBe(5);
    client.close();
  });
});

describe("nothing is sent twice", () => {
  test.each([
    ["a POST that was sent", request("POST /bad-first/reset", [], "pay"), 502],
    ["a POST without a body that was sent", request("POST /bad-first/reset"), 502],
    ["a PUT whose body has begun to flow", request("PUT /bad-first/reset", [], BODY), 502],
    ["a GET of whose answer a byte came", request("GET /bad-first/one-byte"), 502],
    ["a POST without an answer in time", request("POST /silent-first/silent", [], "pay"), 504],
    ["what was answered 503", request("GET /bad-first/503"), 503],
    ["where no retries are allowed", request("GET /none/reset"), 502],
  ] as const)("%s", async (_name, bytes, status) => {
    expect((await gateway.once(bytes)).status).toBe(status);
    // A busy origin may see the request after the gateway has given it up.
    await eventually(() => expect(bad.requests.length).toBe(1));
    expect(good.requests.length).toBe(0);
  });
});

describe("without another target", () => {
  test("a reset is tried once more, and the answer tells of the failure", async () => {
    expect((await gateway.once(request("GET /alone/reset"))).status).toBe(502);
    expect(bad.requests.length).toBe(2);
  });

  test("the wait for an answer is not doubled", async () => {
    expect((await gateway.once(request("GET /alone-silent/silent"))).status).toBe(504);
    await eventually(() => expect(bad.requests.length).toBe(1));
  });
});

test("when everything fails, retries add a fifth to the load and a little more", async () => {
  const REQUESTS = 600;
  const startedMs = performance.now();
  expect(tally(await askInTurn(gateway, times(REQUESTS, "/all-bad/reset")))).toEqual({ "502": REQUESTS });
  const sent = bad.requests.length + worse.requests.length;
  expect(sent).toBeGreaterThan(REQUESTS + 50);
  // A fifth, a hundred in ten seconds, and a little for a window that ends meanwhile.
  const windows = Math.ceil((performance.now() - startedMs) / 10_000);
  expect(sent).toBeLessThan(REQUESTS * 1.2 + windows * 100 + 30);
});

describe("an answer that failure_statuses names", () => {
  test.each([
    ["GET", ""],
    ["HEAD", ""],
    ["OPTIONS", ""],
    ["PUT", "kept"],
    ["DELETE", "kept"],
  ])("sends %s to another target, whole", async (method, body) => {
    for (let i = 0; i < 5; i++) {
      const reply = await gateway.once(request(`${method} /failed/echo`, [], body === "" ? undefined : body));
      expect([reply.status, reply.fields.get("x-bad"), reply.fields.get("x-edited")]).toEqual([200, null, "yes"]);
      if (method !== "HEAD") expect(json<Echo>(reply).sha256).toBe(sha256(Buffer.from(body)));
    }
    expect([busy.requests.length, good.requests.length]).toEqual([5, 5]);
  });

  test.each([
    ["a method that may have acted", request("POST /failed/echo", [], "x")],
    ["a body that was not kept", request("PUT /failed/echo", [], BODY)],
  ])("goes to the client with %s", async (_name, bytes) => {
    const reply = await gateway.once(bytes);
    expect([reply.status, reply.body.length, reply.fields.get("x-edited")]).toEqual([503, 100_000, "yes"]);
    expect([busy.requests.length, good.requests.length]).toEqual([1, 0]);
  });

  test("goes to the client where the others answer the same, each asked once", async () => {
    const reply = await gateway.once(request("GET /all-failed/503"));
    expect([reply.status, reply.text]).toEqual([503, "busy"]);
    expect([bad.requests.length, worse.requests.length]).toEqual([1, 1]);
  });

  test("leaves connections usable for the next requests", async () => {
    const answers = await askInTurn(gateway, times(30, "/failed/echo"));
    expect(answers.every((text) => text.startsWith("{"))).toBe(true);
    const again = await askInTurn(gateway, times(30, "/all-failed/503"));
    expect(tally(again)).toEqual({ 503: 30 });
  });
});

describe("statuses after which a request is repeated", async () => {
  const flaky = EchoOrigin.start();
  let failures = 0;
  const fail = (call: OriginCall) => {
    const isBad = failures-- > 0;
    call.reply(isBad ? "500 Internal Server Error" : "200 OK", [], isBad ? "bad" : "good");
  };
  flaky.on("/flaky", fail);
  busy.on("/flaky", (call) => call.reply("500 Internal Server Error", [], "busy"));
  const own = await startGateway({
    config: { proxy, server: { workers: 1 } },
    routes: [
      balanced("/same", [{ url: flaky.url }], { retries: { attempts: 2, statuses: [500, 503] } }),
      balanced("/other", [{ url: busy.url }, { url: flaky.url, backup: true }], { retries: { statuses: [500] } }),
      balanced("/paused", [{ url: flaky.url }], {
        retries: { statuses: [500], backoff: "60s" },
        timeouts: { total: "400ms" },
      }),
      balanced("/long", [{ url: flaky.url }], { retries: { statuses: [500], backoff: "60s" } }),
      balanced("/short", [{ url: flaky.url }], { retries: { attempts: 3, statuses: [500], backoff: "20ms" } }),
    ],
  });
  afterAll(() => stopAll(own, flaky));
  const ask = async (line: string, bad: number, body?: Uint8Array) => {
    failures = bad;
    flaky.requests.length = 0;
    const { status, text } = await own.once(request(line, [], body));
    return [status, text, flaky.requests.length];
  };

  test("are not those of a response that clients get while attempts are left", async () => {
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"])
      expect([method, await ask(`${method} /same/flaky`, 2)]).toEqual([method, [200, "good", 3]]);
    expect(await ask("PUT /same/flaky", 2, BODY.subarray(0, 9000))).toEqual([200, "good", 3]);
    expect(flaky.requests.map(({ fields }) => fields.get("content-length"))).toEqual(["9000", "9000", "9000"]);
    expect(await ask("GET /same/flaky", 3)).toEqual([500, "bad", 3]);
    expect(await ask("GET /short/flaky", 3)).toEqual([200, "good", 4]);
    expect(await own.metric("gateway_retries_total", {})).toBeGreaterThan(10);
  });

  test("repeat no POST or PATCH, and no request whose body is not kept", async () => {
    for (const method of ["POST", "PATCH"])
      expect([method, await ask(`${method} /same/flaky`, 1)]).toEqual([method, [500, "bad", 1]]);
    expect(await ask("PUT /same/flaky", 1, BODY)).toEqual([500, "bad", 1]);
  });

  test("lead to another target if there is one", async () => {
    expect(await ask("GET /other/flaky", 0)).toEqual([200, "good", 1]);
    expect(busy.requests.length).toBe(1);
  });

  test("are repeated for clients of HTTP/2", async () => {
    const client = await H2Client.connect(own.port);
    failures = 1;
    expect((await client.request(head("GET", "/same/flaky"))).text).toBe("good");
    client.close();
  });

  test("with a pause wait no longer than the request may take, nor for a client that leaves", async () => {
    expect(await ask("GET /paused/flaky", 9)).toEqual([504, expect.anything(), 1]);
    failures = 9;
    const client = await own.connect();
    client.send(request("GET /long/flaky"));
    await flaky.until("the first attempt", () => (flaky.requests.length === 2 ? true : undefined));
    client.close();
    await own.log("its end", ({ path, status }) => path === "/long/flaky" && status !== undefined);
    expect(flaky.requests.length).toBe(2);
  });
});
