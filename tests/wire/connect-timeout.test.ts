import { afterAll, describe, expect, test } from "bun:test";
import { FullBacklog } from "../harness/full-backlog.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const backlog = await FullBacklog.start();
if (backlog === null) console.log("skipped: this system lets every loopback connect succeed");
afterAll(() => backlog?.stop());

describe.skipIf(backlog === null)("an origin that does not take the connection", () => {
  test("is 504, for every method, and a client that leaves earlier costs nothing", async () => {
    const gateway = await startGateway({
      routes: [upstream("/node", backlog ?? { url: "http://127.0.0.1:1" }, { timeouts: { connect: "300ms" } })],
    });
    const leaving = await gateway.connect();
    leaving.send(request("GET /node/a"));
    await Bun.sleep(50);
    leaving.reset();
    for (const bytes of [request("GET /node/a"), request("POST /node/a", [], "hello")]) {
      const reply = await gateway.once(bytes);
      expect([reply.status, json(reply).error]).toEqual([504, "504 Gateway Timeout"]);
    }
    await gateway.stop();
  });
});
