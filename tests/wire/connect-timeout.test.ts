import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
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

describe("an origin that accepts connections and never shakes hands", () => {
  test("is 504, and keeps no descriptor of the gateway, whatever the protocol and by whatever name", async () => {
    let opened = 0;
    let open = 0;
    const mute = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open() {
          opened++;
          open++;
        },
        close() {
          open--;
        },
        data() {},
      },
    });
    const targets = ["https://127.0.0.1", "h2://127.0.0.1", "https://localhost", "h2://localhost"];
    const gateway = await startGateway({
      config: { server: { workers: 1 } },
      routes: targets.map((target, i) => ({
        type: "upstream",
        prefix: `/${i}`,
        target: `${target}:${mute.port}`,
        timeouts: { connect: "300ms" },
        retries: { attempts: 0 },
      })),
    });
    for (const i of targets.keys()) {
      const before = opened;
      expect((await gateway.once(request(`GET /${i}/x`))).status).toBe(504);
      // A client that leaves ends the handshake as well.
      const leaving = await gateway.connect();
      leaving.send(request(`GET /${i}/x`));
      await eventually(() => expect(opened).toBeGreaterThan(before + 1));
      leaving.reset();
      await eventually(() => expect(open).toBe(0));
    }
    await gateway.stop();
    mute.stop(true);
  });
});
