import { afterAll, describe, expect, test } from "bun:test";
import { echoUpgrade } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced } from "./named-origins.ts";

const TOTAL_MS = 300;
/** Room for a second attempt, and none for the whole of it. */
const ATTEMPT_MS = 2000;
const LONG_TOTAL_MS = 2500;
const timeouts = { total: `${TOTAL_MS}ms` };
const [origin, other] = [ScriptedOrigin.start(), ScriptedOrigin.start()];
const gateway = await startGateway({
  routes: [
    upstream("/t", origin, { timeouts }),
    balanced("/both", [{ url: origin.url }, { url: other.url }], {
      timeouts: { total: `${LONG_TOTAL_MS}ms`, response_header: `${ATTEMPT_MS}ms` },
    }),
  ],
});
afterAll(() => stopAll(gateway, origin, other));

for (const one of [origin, other]) {
  one.on("/ok", (call) => call.reply("200 OK", [], "fine"));
  one.on("/silent", (call) => {
    call.takeOver();
  });
  one.on("/socket", echoUpgrade);
  one.on("/drip", async (call) => {
    const connection = call.takeOver();
    call.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while (connection.ending === "open" && !connection.isClosed) {
      call.send("x");
      await Bun.sleep(10);
    }
  });
}

describe("an exchange that takes longer than timeouts.total", () => {
  test("is 504 before the answer, and the client's connection goes on", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /t/silent"));
    expect([reply.status, json(reply)]).toEqual([504, { error: "504 Gateway Timeout", message: "upstream timed out" }]);
    expect((await client.exchange(request("GET /t/ok"))).text).toBe("fine");
    client.close();
  });

  test("is 504 over all attempts together", async () => {
    const started = performance.now();
    expect((await gateway.once(request("GET /both/silent?both"))).status).toBe(504);
    expect(performance.now() - started).toBeLessThan(2 * ATTEMPT_MS);
    const asked = [...origin.requests, ...other.requests].filter((one) => one.target === "/silent?both");
    expect(asked.length).toBe(2);
  });

  test("is 504 while the origin does not take the body", async () => {
    const client = await gateway.connect();
    client.send(request("POST /t/silent", ["Content-Length: 4000000"]));
    client.send(Buffer.alloc(1_000_000));
    expect((await client.reply("POST")).status).toBe(504);
    client.close();
  });

  test("is cut within the answer, and the origin hears of it", async () => {
    const client = await gateway.connect();
    client.send(request("GET /t/drip"));
    const bytes = await client.takeRest();
    expect(bytes.toString("latin1")).toContain("Content-Length: 100000");
    expect(bytes.length).toBeLessThan(10_000);
    await origin.until(
      "the end of the drip",
      () =>
        origin.openConnections === 0 || origin.connections.every((c) => c.isClosed || c.ending !== "open") || undefined,
    );
  });

  test("is not touched when the client is slow to send the next request", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) {
      expect((await client.exchange(request("GET /t/ok"))).text).toBe("fine");
      await Bun.sleep(TOTAL_MS / 2);
    }
    client.close();
  });

  test("may be a tunnel", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /t/socket", ["Connection: Upgrade", "Upgrade: websocket"]));
    expect(reply.status).toBe(101);
    await Bun.sleep(TOTAL_MS * 2);
    client.send("still here");
    expect((await client.take(10)).toString()).toBe("still here");
    client.close();
  });
});
