import { afterAll, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced, namedOrigins } from "./named-origins.ts";

const origins = namedOrigins("a", "b", "c");
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    balanced(
      "/n",
      origins.map(({ url }) => ({ url })),
      {
        health_check: { path: "/health", interval: "50ms", timeout: "100ms", unhealthy_threshold: 1 },
        circuit_breaker: { failure_threshold: 5, open_duration: "100ms" },
        timeouts: { response_header: "2s" },
      },
    ),
  ],
});
afterAll(() => stopAll(gateway, ...origins));

test("a target that is killed and started again under load costs no idempotent request", async () => {
  const answers = new Map<string, number>();
  let isOver = false;
  const clients = Array.from({ length: 12 }, async () => {
    const client = await gateway.connect();
    while (!isOver) {
      const reply = await client.exchange(request("GET /n/x"));
      const answer = reply.status === 200 ? reply.text : String(reply.status);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
    client.close();
  });
  for (const origin of [...origins, ...origins]) {
    const { port } = origin;
    await Bun.sleep(80);
    // As a process that is killed: every connection is cut, whatever is under way.
    for (const connection of origin.connections) connection.reset();
    origin.stop();
    await Bun.sleep(150);
    origin.listen(port);
    await eventually(() => {
      const before = answers.get(origin === origins[0] ? "a" : origin === origins[1] ? "b" : "c") ?? 0;
      expect(before).toBeGreaterThan(0);
    });
    await Bun.sleep(200);
  }
  isOver = true;
  await Promise.all(clients);
  expect([...answers.keys()].sort()).toEqual(["a", "b", "c"]);
}, 20_000);
