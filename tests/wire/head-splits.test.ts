import { afterAll, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

const BODY = "some body bytes\r\n\r\nGET / HTTP/1.1\r\n\r\n";
const GET = request("GET /node/echo?a=1", ["X-Field:  spaced \t", "X-Empty:", "Accept: */*"]);
const POST = request("POST /node/echo", ["X-Field: value"], BODY);
const CHUNKED = request("POST /node/echo", ["Transfer-Encoding: chunked"], chunked(BODY, 9, ["X-Sum: 7"]));

/** Sends the pieces with a pause that lets the gateway read each by itself, and gives what the origin saw. */
async function echoOf(pieces: readonly Uint8Array[], pauseMs: number): Promise<Echo> {
  const client = await gateway.connect();
  void client.sendPieces(pieces, pauseMs);
  const reply = await client.reply();
  client.close();
  expect(reply.status).toBe(200);
  return json<Echo>(reply);
}

/** What must be the same however the bytes were cut; the rest differs with each request. */
function essence(echo: Echo) {
  const { headers, ...rest } = echo;
  const { "x-request-id": _id, ...stable } = headers;
  return { ...rest, fields: undefined, headers: stable };
}

test.each([
  ["a GET", GET, ""],
  ["a POST with a length", POST, BODY],
  ["a chunked POST with a trailer", CHUNKED, BODY],
])("%s cut in two at every offset arrives the same", async (_name, bytes, body) => {
  const whole = await echoOf([bytes], 0);
  expect(whole.sha256).toBe(sha256(Buffer.from(body)));
  const offsets = Array.from({ length: bytes.byteLength - 1 }, (_, i) => i + 1);
  const echoes = await Promise.all(offsets.map((at) => echoOf([bytes.subarray(0, at), bytes.subarray(at)], 15)));
  for (const echo of echoes) expect(essence(echo)).toEqual(essence(whole));
});

test.each([
  ["a GET", GET],
  ["a POST with a length", POST],
  ["a chunked POST with a trailer", CHUNKED],
])("%s byte by byte arrives the same", async (_name, bytes) => {
  const whole = await echoOf([bytes], 0);
  const singles = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  expect(essence(await echoOf(singles, 1))).toEqual(essence(whole));
});

test("two pipelined requests cut at every offset give two answers", async () => {
  const both = Buffer.concat([CHUNKED, GET]);
  const offsets = Array.from({ length: both.byteLength - 1 }, (_, i) => i + 1);
  await Promise.all(
    offsets.map(async (at) => {
      const client = await gateway.connect();
      void client.sendPieces([both.subarray(0, at), both.subarray(at)], 15);
      expect(json<Echo>(await client.reply())).toMatchObject({ method: "POST", length: BODY.length });
      expect(json<Echo>(await client.reply())).toMatchObject({ method: "GET", target: "/echo?a=1" });
      client.close();
    }),
  );
});
