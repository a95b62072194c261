import { afterAll, describe, expect, test } from "bun:test";
import { echoUpgrade } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { type OriginConnection, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced } from "./named-origins.ts";

/** For what is served within it, and for what is not. */
const TOTAL_MS = 1500;
/** Room for three attempts of nine, and none for the whole of the third. */
const ATTEMPT_MS = 1000;
const LONG_TOTAL_MS = 2500;
const ATTEMPTS = 9;
const [origin, ...others] = Array.from({ length: ATTEMPTS }, () => ScriptedOrigin.start()) as [
  ScriptedOrigin,
  ...ScriptedOrigin[],
];
const all = [origin, ...others];
const gateway = await startGateway({
  routes: [
    upstream("/t", origin, { timeouts: { total: `${TOTAL_MS}ms` } }),
    upstream("/untimed", origin),
    balanced(
      "/all",
      all.map(({ url }) => ({ url })),
      {
        timeouts: { total: `${LONG_TOTAL_MS}ms`, response_header: `${ATTEMPT_MS}ms` },
        retries: { attempts: ATTEMPTS - 1 },
      },
    ),
  ],
});
afterAll(() => stopAll(gateway, ...all));

/** The connections of those that ask for a drip. */
const drips: OriginConnection[] = [];

for (const one of all) {
  one.on("/ok", (call) => call.reply("200 OK", [], "fine"));
  one.on("/silent", (call) => {
    call.takeOver();
  });
  one.on("/socket", echoUpgrade);
  one.on("/drip", async (call) => {
    const connection = call.takeOver();
    drips.push(connection);
    call.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while (connection.ending === "open" && !connection.isClosed) {
      call.send("x");
      await Bun.sleep(10);
    }
  });
}

describe.concurrent("an exchange that takes longer than timeouts.total", () => {
  test("is 504 before the answer, and the client's connection goes on", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /t/silent"));
    expect([reply.status, json(reply)]).toEqual([504, { error: "504 Gateway Timeout", message: "upstream timed out" }]);
    expect((await client.exchange(request("GET /untimed/ok"))).text).toBe("fine");
    client.close();
  });

  test("is 504 over all attempts together", async () => {
    const asked = () => all.flatMap(({ requests }) => requests).filter((one) => one.target === "/silent?all").length;
    // Who stands still for longer than an attempt has none left for a second one, and tries again.
    await eventually(async () => {
      const before = asked();
      expect((await gateway.once(request("GET /all/silent?all"))).status).toBe(504);
      expect(asked() - before).toBeWithin(2, 4);
    });
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
    await drips[0]!.ended();
  });

  test("is not touched when the client is slow to send the next request", async () => {
    const client = await gateway.connect();
    for (const until = performance.now() + 1.5 * TOTAL_MS; performance.now() < until; ) {
      expect((await client.exchange(request("GET /t/ok"))).text).toBe("fine");
      await Bun.sleep(TOTAL_MS / 5);
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
