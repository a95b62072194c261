import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

origin.on("/slow", async (call) => {
  await Bun.sleep(150);
  call.reply("200 OK", [], "slow");
});

describe("HTTP/1.1", () => {
  test("keeps the connection between requests", async () => {
    const client = await gateway.connect();
    for (const path of ["/health", "/node/canary", "/nowhere", "/node/canary", "/health"]) {
      const reply = await client.exchange(request(`GET ${path}`));
      expect(reply.fields.get("connection")).not.toBe("close");
      expect(reply.version).toBe("HTTP/1.1");
    }
    expect(client.ending).toBe("open");
    client.close();
  });

  test.each(["close", "Close", "keep-alive, close", "x-a,close"])("closes after `Connection: %s`", async (value) => {
    for (const path of ["/health", "/node/canary"]) {
      const client = await gateway.connect();
      const reply = await client.exchange(request(`GET ${path}`, [`Connection: ${value}`]));
      expect([reply.status, reply.fields.get("connection")?.toLowerCase()]).toEqual([200, "close"]);
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
    }
  });

  test("runs nothing behind a request with `Connection: close`", async () => {
    const before = origin.sequence;
    const client = await gateway.connect();
    client.send(request("GET /node/canary", ["Connection: close"]));
    client.send(request("GET /node/canary"));
    expect(json(await client.reply())).toMatchObject({ sequence: before + 1 });
    expect((await client.takeRest()).byteLength).toBe(0);
    expect(origin.sequence).toBe(before + 1);
    client.close();
  });

  test("takes one empty line before a request", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      client.send("\r\n");
      expect((await client.exchange(request("GET /node/canary"), "GET")).status).toBe(200);
    }
    client.close();
  });

  test("takes a request target in absolute form that agrees with Host", async () => {
    const reply = await gateway.once(request("GET http://gw.test/node/canary?x=1"));
    expect(reply.status).toBe(200);
    expect(origin.requestsFor("/canary").at(-1)?.target).toBe("/canary?x=1");
  });
});

describe("HTTP/1.0", () => {
  test("closes after one answer, with no chunked coding", async () => {
    for (const path of ["/health", "/node/canary"]) {
      const client = await gateway.connect();
      const reply = await client.exchange(request(`GET ${path} HTTP/1.0`));
      expect([reply.status, reply.fields.has("transfer-encoding")]).toEqual([200, false]);
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
    }
  });

  test("keeps the connection when asked to", async () => {
    const client = await gateway.connect();
    for (const path of ["/health", "/node/canary", "/health"]) {
      const reply = await client.exchange(request(`GET ${path} HTTP/1.0`, ["Connection: keep-alive"]));
      expect([reply.status, reply.fields.get("connection")?.toLowerCase()]).toEqual([200, "keep-alive"]);
    }
    client.close();
  });

  test("is served without Host", async () => {
    for (const path of ["/health", "/node/canary"]) {
      const reply = await gateway.once(`GET ${path} HTTP/1.0\r\n\r\n`);
      expect(reply.status).toBe(200);
    }
  });
});

describe("a client that ends its direction", () => {
  test("still gets its answer, then the end", async () => {
    for (const path of ["/health", "/node/canary", "/node/slow"]) {
      const client = await gateway.connect();
      client.send(request(`GET ${path}`));
      client.finish();
      expect((await client.reply()).status).toBe(200);
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
    }
  });

  test("still gets every answer of a pipeline", async () => {
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /node/slow"), request("GET /health"), request("GET /node/canary")]));
    client.finish();
    expect((await client.reply()).text).toBe("slow");
    expect(json(await client.reply())).toEqual({ status: "ok" });
    expect(json(await client.reply())).toMatchObject({ status: "canary_ok" });
    expect(await client.ended()).toBe("fin");
    client.close();
  });

  test("is let go when it sent nothing", async () => {
    const client = await gateway.connect();
    client.finish();
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
  });

  test("in the middle of a head or a body gets 400 or nothing, and never reaches the origin's counter", async () => {
    const before = origin.sequence;
    for (const bytes of ["GET /node/canary HT", "GET /node/canary HTTP/1.1\r\nHost: a\r\n"]) {
      const client = await gateway.connect();
      client.send(bytes);
      client.finish();
      const rest = (await client.takeRest()).toString("latin1");
      if (rest !== "") expect(rest).toStartWith("HTTP/1.1 400 ");
      client.close();
    }
    expect(origin.sequence).toBe(before);
  });
});
