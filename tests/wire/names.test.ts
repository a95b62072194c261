// Origins that are named: which addresses are tried, when the name is asked for again, and what happens meanwhile.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway } from "../harness/gateway.ts";
import { NameServer } from "../harness/name-server.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const names = await NameServer.start();
const first = EchoOrigin.start({ hostname: "127.0.0.1" });
const { port } = first;
// The same port at another address: what a name that moves leads to.
const second = EchoOrigin.start({ hostname: "127.0.0.2", port });
const gateway = await startGateway({
  config: { server: { workers: 1 }, proxy: { transport: { nameservers: [names.address], connect_timeout: "2s" } } },
  routes: ["app", "moved", "many", "gone", "short", "slow"].map((name) => ({
    type: "upstream",
    prefix: `/${name}`,
    target: `http://${name}.test:${port}`,
    circuit_breaker: { failure_threshold: 100000 },
  })),
});
afterAll(async () => {
  names.stop();
  second.stop();
  await stopAll(gateway, first);
});
beforeEach(() => {
  names.isBroken = false;
  names.isSilent = false;
});

/** On a connection of its own to the origin: the answer closes it. */
async function status(path: string): Promise<number> {
  return (await gateway.once(request(`GET ${path}`))).status;
}

for (const origin of [first, second]) {
  origin.on("/who", async (call) => {
    call.reply("200 OK", ["Connection: close"], origin === first ? "first" : "second");
  });
}

async function who(name: string): Promise<string> {
  const reply = await gateway.once(request(`GET /${name}/who`));
  return reply.status === 200 ? reply.text : String(reply.status);
}

test("a name is asked for once in its time to live, whatever the number of connections", async () => {
  names.zones.set("app.test", { addresses: ["127.0.0.1"], ttl: 60 });
  for (let n = 0; n < 20; n++) expect(await who("app")).toBe("first");
  expect(names.asked.filter((name) => name === "app.test")).toHaveLength(1);
});

test("all addresses of a name are used in turn, and one that refuses is passed over", async () => {
  names.zones.set("many.test", { addresses: ["127.0.0.1", "127.0.0.2", "127.0.0.3"], ttl: 60 });
  const seen = new Set<string>();
  for (let n = 0; n < 20; n++) seen.add(await who("many"));
  expect([...seen].sort()).toEqual(["first", "second"]);
});

test("a name that moves while its old address refuses connections costs no request", async () => {
  names.zones.set("moved.test", { addresses: ["127.0.0.3"], ttl: 3600 });
  expect(await who("moved")).toBe("502");
  names.zones.set("moved.test", { addresses: ["127.0.0.2"], ttl: 3600 });
  await Bun.sleep(1100);
  expect(await who("moved")).toBe("second");
  names.zones.set("moved.test", { addresses: ["127.0.0.1"], ttl: 3600 });
  expect(await who("moved")).toBe("second");
});

test("a short time to live is kept", async () => {
  names.zones.set("short.test", { addresses: ["127.0.0.1"], ttl: 1 });
  expect(await who("short")).toBe("first");
  names.zones.set("short.test", { addresses: ["127.0.0.2"], ttl: 1 });
  await Bun.sleep(1200);
  expect(await who("short")).toBe("second");
});

describe("while the name servers fail", () => {
  test.each(["isBroken", "isSilent"] as const)("the last good answer serves on: %s", async (fault) => {
    names.zones.set("slow.test", { addresses: ["127.0.0.1"], ttl: 1 });
    expect(await who("slow")).toBe("first");
    names[fault] = true;
    await Bun.sleep(1200);
    for (let n = 0; n < 3; n++) expect(await who("slow")).toBe("first");
    names[fault] = false;
    await Bun.sleep(1200);
  });

  test("a name that was never there is 502, and the log says why", async () => {
    expect(await status("/gone/x")).toBe(502);
    const line = await gateway.log(
      "why",
      ({ event, upstream }) => event === "upstream_failed" && /gone/.test(String(upstream)),
    );
    expect(line.reason).toBe("ENOTFOUND");
  });
});
