import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// The reference deployment: three prefixes, three origins, prefixes stripped. Each scenario has two stages: the attack or
// the baseline request, then a canary over a persistent connection, whose sequence grows by exactly one at its origin
// and not at all at the others. docs/tools.md#multihop; the HTTP/2 vectors are tested elsewhere.
const origins = { node: EchoOrigin.start(), python: EchoOrigin.start(), go: EchoOrigin.start() };
const prefixes = ["node", "python", "go"] as const;
type Prefix = (typeof prefixes)[number];
const gateway = await startGateway({ routes: prefixes.map((name) => upstream(`/${name}/*`, origins[name])) });
const persistent = new Map<Prefix, RawClient>();
for (const name of prefixes) persistent.set(name, await gateway.connect());
afterAll(async () => {
  for (const client of persistent.values()) client.close();
  await stopAll(gateway, ...Object.values(origins));
});

interface Vector {
  readonly id: string;
  readonly bytes: (prefix: Prefix) => Buffer;
  readonly status: number;
}

const CL_TE = ["Content-Length: 6", "Transfer-Encoding: chunked"];
const smuggled = (prefix: Prefix) => `0\r\n\r\nGET /${prefix}/canary HTTP/1.1\r\nHost: gw.test\r\n\r\n`;

const ATTACKS: readonly Vector[] = [
  { id: "VECTOR-04", bytes: (name) => request(`POST /${name}/echo`, CL_TE, "0\r\n\r\nX"), status: 400 },
  { id: "VECTOR-05", bytes: (name) => request(`POST /${name}/echo`, ["Content-Length : 5"], "hello"), status: 400 },
  { id: "VECTOR-06", bytes: (name) => request(`POST /${name}/echo`, CL_TE, smuggled(name)), status: 400 },
  {
    id: "ADV-01",
    bytes: (name) => request(`POST /${name}/echo`, ["Content-Length: 5", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
    status: 400,
  },
  {
    id: "ADV-02",
    bytes: (name) => request(`POST /${name}/echo`, ["Transfer-Encoding: chunked", "Content-Length: 5"], "0\r\n\r\n"),
    status: 400,
  },
  { id: "ADV-03", bytes: (name) => request(`GET /${name}/\0canary`), status: 400 },
  { id: "ADV-04", bytes: (name) => request(`GET /${name}/canary`, ["X-A: 1", " folded"]), status: 400 },
  { id: "ADV-05", bytes: (name) => request(`GET /${name}/canary`, ["X-A : 1"]), status: 400 },
  { id: "ADV-07", bytes: (name) => request(`GET /${name}/canary`, [`X-Big: ${"a".repeat(9000)}`]), status: 431 },
  { id: "ADV-08", bytes: (name) => request(`POST /${name}/echo`, ["Content-Length: 104857600"]), status: 413 },
];

async function expectCleanPools(prefix: Prefix): Promise<void> {
  for (const name of prefixes) {
    const before = origins[name].sequence;
    const reply = await persistent.get(name)!.exchange(request(`GET /${name}/canary`));
    expect([reply.status, json(reply)]).toEqual([200, { status: "canary_ok", sequence: before + 1 }]);
  }
  expect(origins[prefix].openConnections).toBeGreaterThan(0);
}

describe.each(prefixes)("through /%s", (prefix) => {
  test.each(ATTACKS.map((vector) => [vector.id, vector] as const))("%s is refused", async (_id, vector) => {
    const sequences = prefixes.map((name) => origins[name].sequence);
    const client = await gateway.connect();
    client.send(Buffer.concat([vector.bytes(prefix), request(`GET /${prefix}/canary`)]));
    const reply = await client.reply();
    expect(reply.status).toBe(vector.status);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    expect(prefixes.map((name) => origins[name].sequence)).toEqual(sequences);
    await expectCleanPools(prefix);
  });

  test("VECTOR-09, a benign GET of a health path, is proxied", async () => {
    const reply = await gateway.once(request(`GET /${prefix}/health`));
    expect([reply.status, json(reply)]).toEqual([200, { status: "ok" }]);
    expect(origins[prefix].requests.at(-1)?.target).toBe("/health");
    await expectCleanPools(prefix);
  });

  test("VECTOR-10, a benign POST of JSON, is proxied", async () => {
    const body = '{"hello":"world"}';
    const reply = await gateway.once(request(`POST /${prefix}/echo`, ["Content-Type: application/json"], body));
    const echo = json<Echo>(reply);
    expect([reply.status, echo.length, echo.target]).toEqual([200, body.length, "/echo"]);
    expect(echo.headers["content-type"]).toBe("application/json");
    await expectCleanPools(prefix);
  });
});
