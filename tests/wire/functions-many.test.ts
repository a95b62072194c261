// docs/functions.md#limits
import { expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";

const MODULES = Array.from({ length: 48 }, (_, i) => `m${i}`);

test("many modules that load at once are not taken for one that takes memory without end", async () => {
  const gateway = await startGateway({
    config: { functions: { memory: "16MiB" } },
    routes: MODULES.map((name) => ({ type: "function", prefix: `/${name}`, module: `./${name}.ts`, timeout: "20s" })),
    files: Object.fromEntries(
      MODULES.map((name) => [`${name}.ts`, `export default { fetch: () => new Response("${name}") };\n`]),
    ),
  });
  try {
    for (const name of MODULES) {
      const { status, body } = await gateway.once(request(`GET /${name}`));
      expect([status, body.toString()]).toEqual([200, name]);
    }
    expect(gateway.logs.json.filter(({ event }) => event === "function_thread_ended")).toEqual([]);
  } finally {
    await gateway.stop();
  }
}, 60_000);
