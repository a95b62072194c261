import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { Code, H2Client, head, Type } from "../harness/h2-client.ts";

let origin: EchoOrigin;
let gateway: Gateway;
let finishSlow: () => void = () => {};

beforeEach(async () => {
  origin = EchoOrigin.start();
  const done = new Promise<void>((resolve) => {
    finishSlow = resolve;
  });
  origin.on("/slow", async (call) => {
    await done;
    call.reply("200 OK", [], "late");
  });
  gateway = await start();
});

function start(settings: object = {}): Promise<Gateway> {
  const server = { shutdown_timeout: "60s", waf: { enabled: true }, ...settings };
  return startGateway({ config: { server }, routes: [upstream("/node", origin)] });
}

afterEach(async () => {
  if (!gateway.hasExited) await gateway.stop();
  else gateway.kill();
  origin.stop();
});

describe("the life of a connection of HTTP/2", () => {
  test("at shutdown the client is told, and what is under way is answered", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", "/node/slow"));
    await origin.until("the request", () => origin.requestsFor("/slow")[0]);
    gateway.signal("SIGTERM");
    expect(await client.goAway()).toBe(Code.none);
    // What was sent before the client could know is still served.
    const late = client.headers(head("GET", "/health"));
    expect((await client.reply(late)).status).toBe(503);
    const isLast = ({ type, payload }: { type: number; payload: Buffer }): boolean =>
      type === Type.goAway && payload.readUInt32BE(0) === late;
    await client.frameWhere("the second GOAWAY", isLast);
    finishSlow();
    expect((await client.reply(id)).text).toBe("late");
    await client.ended();
    client.close();
    expect(await gateway.exited()).toBe(0);
  });

  test("it lives through a reload, and new requests take the new configuration", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", "/node/slow"));
    await origin.until("the request", () => origin.requestsFor("/slow")[0]);
    expect((await gateway.reload()).ok).toBe(true);
    finishSlow();
    expect((await client.reply(id)).text).toBe("late");
    expect((await client.request(head("GET", "/node/canary"))).status).toBe(200);
    client.close();
  });

  test("without a stream it is closed after idle_timeout, whatever the client pings", async () => {
    const hasty = await start({ idle_timeout: "2s" });
    const client = await H2Client.connect(hasty.port);
    expect((await client.request(head("GET", "/health"))).status).toBe(200);
    const pings = setInterval(() => client.frame(Type.ping, 0, 0, "12345678"), 100);
    expect(await client.goAway()).toBe(Code.none);
    await client.ended();
    clearInterval(pings);
    client.close();
    await hasty.stop();
  });

  test("a request that the WAF blocks is the last one", async () => {
    const client = await H2Client.connect(gateway.port);
    const slow = client.headers(head("GET", "/node/slow"));
    await origin.until("the request", () => origin.requestsFor("/slow")[0]);
    const blocked = await client.request(head("GET", "/node/%2e%2e/%2e%2e/etc/passwd"));
    expect([blocked.status, blocked.fields.get("connection")]).toEqual([403, undefined]);
    expect(await client.goAway()).toBe(Code.none);
    const probe = client.headers(head("GET", "/node/canary"));
    // What comes with such streams is passed over as well, and is no fault of the connection.
    const upload = client.headers(head("POST", "/node/canary"), false);
    client.data(upload, "hello", true);
    finishSlow();
    expect((await client.reply(slow)).text).toBe("late");
    await client.ended();
    expect(client.seen(probe).status).toBe(0);
    expect(origin.sequence).toBe(0);
    client.close();
  });

  test("a client that ends its direction gets its answers", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", "/node/slow"));
    await origin.until("the request", () => origin.requestsFor("/slow")[0]);
    const cut = client.headers(head("POST", "/node/slow"), false);
    client.data(cut, "half of it");
    client.finish();
    // The rest of that body cannot come any more.
    expect((await client.reply(cut)).status).toBe(400);
    finishSlow();
    expect((await client.reply(id)).text).toBe("late");
    await client.ended();
    client.close();
  });
});
