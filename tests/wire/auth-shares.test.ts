// Who floods the gateway with made-up names waits for itself. docs/authentication.md#passwords
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

setDefaultTimeout(60_000);
const bcrypt = (password: string) => Bun.password.hash(password, { algorithm: "bcrypt", cost: 4 });
const argon = (password: string) =>
  Bun.password.hash(password, { algorithm: "argon2id", memoryCost: 8192, timeCost: 2 });
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      trusted_proxies: ["127.0.0.1/32"],
      auth: {
        basic: {
          users: {
            ...{ cheap: await bcrypt("right"), dear: await argon("right") },
            ...{ near: await argon("right"), far: await argon("right"), far6: await argon("right") },
          },
        },
      },
    },
  },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

function ask(address: string, user: string, password: string): Promise<Reply> {
  const credentials = Buffer.from(`${user}:${password}`).toString("base64");
  return gateway.once(
    request("GET /node/echo", [`X-Forwarded-For: ${address}`, `Authorization: Basic ${credentials}`]),
  );
}

test.each([
  ["a neighbour", "192.0.2.1", "192.0.2.2", "near"],
  ["another network", "198.51.100.1", "203.0.113.1", "far"],
  ["a network of IPv6", "2001:db8:1::1", "2001:db8:2::1", "far6"],
])("95 made-up names of one address do not keep %s waiting", async (_, flooder, other, user) => {
  const over: number[] = [];
  const flood = Array.from({ length: 95 }, async (_, i) => {
    over.push((await ask(flooder, `made-up ${user} ${i}`, "guess")).status);
  });
  // The first refusal says that the queue is there.
  await Promise.race(flood);
  const before = over.filter((status) => status === 401).length;
  const { status } = await ask(other, user, "right");
  const checked = over.filter((one) => one === 401).length - before;
  expect(status).toBe(200);
  // Those that were under way, and those that took their turn before it.
  expect(checked).toBeLessThan(8);
  await Promise.all(flood);
  expect(over.length).toBe(95);
});

test("a flood from many addresses of one network takes one turn in two", async () => {
  const flood = Array.from({ length: 60 }, (_, i) => ask(`2001:db8:3:${i}::1`, `made-up ${i}`, "guess"));
  let over = 0;
  for (const one of flood) void one.then(() => over++);
  await Promise.race(flood);
  expect((await ask("203.0.113.9", "dear", "right")).status).toBe(200);
  expect(over).toBeLessThan(30);
  await Promise.all(flood);
});

test("a refusal takes as long for a name that is not there as for one with the dearest or the cheapest hash", async () => {
  const median = async (user: string): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 7; i++) {
      const from = performance.now();
      expect((await ask(`203.0.113.${20 + i}`, user, `wrong ${i}`)).status).toBe(401);
      times.push(performance.now() - from);
    }
    return times.sort((a, b) => a - b)[3]!;
  };
  const [cheap, dear, absent] = [await median("cheap"), await median("dear"), await median("absent")];
  // The cheapest takes a twentieth of the dearest.
  expect(cheap).toBeGreaterThan(dear / 3);
  expect(absent).toBeGreaterThan(dear / 3);
  expect(absent).toBeLessThan(dear * 3);
});
