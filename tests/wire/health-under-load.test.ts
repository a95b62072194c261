import { afterAll, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced, namedOrigins } from "./named-origins.ts";

// A dead target refuses at once; the times are long, so that a slow machine is not taken for one.
const names = ["a", "b", "c"] as const;
const origins = namedOrigins(...names);
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    balanced(
      "/n",
      origins.map(({ url }) => ({ url })),
      {
        health_check: { path: "/health", interval: "50ms", timeout: "10s", unhealthy_threshold: 1 },
        circuit_breaker: { failure_threshold: 5, open_duration: "100ms" },
        timeouts: { connect: "20s", response_header: "20s" },
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
  /** Waits until each of these has answered some more. */
  const goOn = async (wanted: readonly string[]): Promise<void> => {
    const before = new Map(wanted.map((name) => [name, answers.get(name) ?? 0]));
    await eventually(() => {
      for (const [name, count] of before) expect(answers.get(name) ?? 0).toBeGreaterThan(count + 3);
    });
  };
  for (const [i, origin] of [...origins, ...origins].entries()) {
    const name = names[i % names.length]!;
    const { port } = origin;
    await goOn(names);
    // As a process that is killed: every connection is cut, whatever is under way.
    for (const connection of origin.connections) connection.reset();
    origin.stop();
    await goOn(names.filter((other) => other !== name));
    origin.listen(port);
  }
  await goOn(names);
  isOver = true;
  await Promise.all(clients);
  expect([...answers.keys()].sort()).toEqual(["a", "b", "c"]);
}, 90_000);
