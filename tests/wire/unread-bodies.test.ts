import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { expectCanary } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

// A handler that is done without the body leaves it unread: up to 65536 bytes are drained within 100 ms so that the
// connection can go on, else it is closed. docs/bodies.md#unread-bodies
const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

const CHUNKED = "Transfer-Encoding: chunked";
const CANARY = request("GET /node/canary");

describe.each(["/nowhere", "/health"])("an unread chunked body to %s", (path) => {
  test.each([1, 1000, 60_000])("of %d bytes is drained, and the connection goes on", async (size) => {
    const before = origin.sequence;
    const client = await gateway.connect();
    client.send(Buffer.concat([request(`POST ${path}`, [CHUNKED], chunked("x".repeat(size), 5000)), CANARY]));
    expect([404, 405]).toContain((await client.reply()).status);
    expect((await client.reply()).status).toBe(200);
    expect(origin.sequence).toBe(before + 1);
    client.close();
  });

  test.each([70_000, 3_000_000])("of %d bytes closes the connection, and nothing behind it is run", async (size) => {
    const before = origin.sequence;
    const client = await gateway.connect();
    client.send(Buffer.concat([request(`POST ${path}`, [CHUNKED], chunked("x".repeat(size), 5000)), CANARY]));
    expect([404, 405]).toContain((await client.reply()).status);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    await expectCanary(gateway, before + 1);
  });

  test("that never ends closes the connection", async () => {
    const client = await gateway.connect();
    client.send(request(`POST ${path}`, [CHUNKED], "5\r\nhel"));
    expect([404, 405]).toContain((await client.reply()).status);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
  });

  test("with a framing error closes the connection, and nothing behind it is run", async () => {
    const before = origin.sequence;
    const client = await gateway.connect();
    client.send(Buffer.concat([request(`POST ${path}`, [CHUNKED], "5\r\nhelloXX0\r\n\r\n"), CANARY]));
    expect([400, 404, 405]).toContain((await client.reply()).status);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    await expectCanary(gateway, before + 1);
  });
});

describe("an unread body with a length", () => {
  test("never becomes a request", async () => {
    for (const size of [10, 60_000, 1_000_000]) {
      const before = origin.sequence;
      const body = Buffer.concat([Buffer.alloc(size, "x"), CANARY]);
      const client = await gateway.connect();
      client.send(request("POST /nowhere", [], body));
      expect((await client.reply()).status).toBe(404);
      client.finish();
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
      expect(origin.sequence).toBe(before);
    }
  });
});
