import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import type { OriginScript } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    upstream("/node", origin),
    upstream("/hasty", origin, { timeouts: { response_header: "300ms" } }),
    upstream("/refused", { url: `http://127.0.0.1:${freePort()}` }),
    upstream("/unknown", { url: "http://no-such-host.invalid" }),
  ],
});
afterAll(() => stopAll(gateway, origin));

function expectUnavailable(reply: Reply): void {
  expect([reply.status, reply.fields.get("content-type")]).toEqual([502, "application/json"]);
  expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
}

function raw(text: string): OriginScript {
  return (call) => {
    call.takeOver();
    call.send(text);
  };
}

/** An answer that is over after `text`. */
function rawThenEnd(text: string): OriginScript {
  return (call) => call.sendAndFinish(text);
}

const OK = "HTTP/1.1 200 OK\r\n";

/** What the origin does, none of it an answer. */
const NO_ANSWERS: readonly (readonly [string, OriginScript])[] = [
  ["resets", (call) => call.takeOver().reset()],
  ["ends without a byte", rawThenEnd("")],
  ["ends in the status line", rawThenEnd("HTTP/1.1 20")],
  ["ends in the head", rawThenEnd(`${OK}Content-Length: 5\r\n`)],
  [
    "resets in the head",
    async (call) => {
      call.takeOver();
      call.send(OK);
      await Bun.sleep(30);
      call.connection.reset();
    },
  ],
  ["speaks SSH", rawThenEnd("SSH-2.0-OpenSSH_9.2\r\n")],
  ["speaks TLS", rawThenEnd("\x15\x03\x01\x00\x02\x02\x46")],
  ["speaks HTTP/2", raw("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\r\n\r\n")],
  ["speaks HTTP/0.9", rawThenEnd("<html>hello</html>")],
  ["sends only a line break", raw("\r\n\r\n\r\n\r\n")],
];

/** Heads that are malformed, ambiguous or over a limit. */
const BAD_HEADS: readonly (readonly [string, string])[] = [
  ["a status below 100", "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 X\r\nContent-Length: 0\r\n\r\n"],
  ["a status that is no number", "HTTP/1.1 2x0 X\r\nContent-Length: 0\r\n\r\n"],
  ["another major version", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["a lower-case protocol", "http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["two spaces in the status line", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["a NUL in the reason", "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n"],
  ["two different lengths", `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
  ["the same length twice", `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ["a list of lengths", `${OK}Content-Length: 5, 5\r\n\r\nhello`],
  ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
  ["a length with a plus", `${OK}Content-Length: +5\r\n\r\nhello`],
  ["a length in hexadecimal", `${OK}Content-Length: 0x5\r\n\r\nhello`],
  ["an empty length", `${OK}Content-Length:\r\n\r\n`],
  ["a length beyond 2^53", `${OK}Content-Length: 9007199254740993\r\n\r\n`],
  ["a length and a transfer coding", `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["a transfer coding and a length", `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ["two transfer codings", `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an unknown transfer coding", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ["a transfer coding that does not end in chunked", `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
  ["a bare LF", `${OK}X-A: 1\nContent-Length: 0\r\n\r\n`],
  ["bare LF line ends", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
  ["a lone CR in a value", `${OK}X-A: a\rb\r\nContent-Length: 0\r\n\r\n`],
  ["a NUL in a value", `${OK}X-A: a\0b\r\nContent-Length: 0\r\n\r\n`],
  ["a control character in a value", `${OK}X-A: a\x01b\r\nContent-Length: 0\r\n\r\n`],
  ["a space before a colon", `${OK}X-A : 1\r\nContent-Length: 0\r\n\r\n`],
  ["a line without a colon", `${OK}X-A\r\nContent-Length: 0\r\n\r\n`],
  ["an empty field name", `${OK}: 1\r\nContent-Length: 0\r\n\r\n`],
  ["a folded line", `${OK}X-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n`],
  ["a head without end", `${OK}X-A: ${"a".repeat(200_000)}`],
  ["101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
];

describe("502, and the client's connection goes on, when the origin", () => {
  const scripts = [...NO_ANSWERS, ...BAD_HEADS.map(([name, text]) => [`sends ${name}`, raw(text)] as const)];

  test.each(scripts)("%s", async (_name, script) => {
    origin.on("/broken", script);
    const client = await gateway.connect();
    for (const method of ["GET", "POST"]) {
      expectUnavailable(
        await client.exchange(request(`${method} /node/broken`, [], method === "GET" ? undefined : "x")),
      );
      const canary = await client.exchange(request("GET /node/canary"));
      expect(json(canary)).toEqual({ status: "canary_ok", sequence: origin.sequence });
    }
    client.close();
  });

  test("is not there", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) expectUnavailable(await client.exchange(request("GET /refused/a")));
    expectUnavailable(await client.exchange(request("POST /refused/a", [], "hello")));
    client.close();
  });

  test("has no address", async () => {
    expectUnavailable(await gateway.once(request("GET /unknown/a")));
  });
});

describe("the log says what a 502 keeps to itself", () => {
  test.each([
    ["/refused", "ECONNREFUSED"],
    ["/unknown", "ENOTFOUND"],
  ])("%s: %s", async (prefix, reason) => {
    expectUnavailable(await gateway.once(request(`GET ${prefix}/why`)));
    const line = await gateway.log(
      `why ${prefix} fails`,
      (one) => one.event === "upstream_failed" && one.reason === reason,
    );
    expect(String(line.upstream)).toStartWith("http://");
    const access = await gateway.log(
      "its access line",
      (one) => one.event === "access" && one.path === `${prefix}/why`,
    );
    expect(access).toMatchObject({ status: 502, fault: "upstream_unavailable" });
  });
});

describe("504 when the origin", () => {
  test("does not answer in time, and its late answer goes to nobody", async () => {
    const answered = Promise.withResolvers<void>();
    origin.on("/late", async (call) => {
      call.takeOver();
      await answered.promise;
      call.send(`${OK}Content-Length: 4\r\n\r\nlate`);
    });
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /hasty/late"));
    expect([reply.status, json(reply)]).toEqual([504, { error: "504 Gateway Timeout", message: expect.any(String) }]);
    answered.resolve();
    for (let i = 0; i < 8; i++) {
      const echo = json<Echo>(await client.exchange(request(`GET /node/echo?n=${i}`)));
      expect(echo.target).toBe(`/echo?n=${i}`);
      await Bun.sleep(20);
    }
    client.close();
  });

  test("trickles a head without end", async () => {
    let hasBegun = false;
    let isGone = false;
    origin.on("/trickle", async (call) => {
      const connection = call.takeOver();
      hasBegun = true;
      call.send(OK);
      while (connection.ending === "open" && !connection.isClosed) {
        call.send("X-A: 1\r\n");
        await Bun.sleep(20);
      }
      isGone = true;
    });
    // On a machine that stands still the time may be over before the origin has looked.
    await eventually(async () => {
      expect((await gateway.once(request("GET /hasty/trickle"))).status).toBe(504);
      expect(hasBegun).toBe(true);
    });
    await origin.until("the gateway to hang up", () => isGone || undefined);
  });
});
