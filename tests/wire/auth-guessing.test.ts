// Who guesses passwords waits; who knows one comes in. docs/authentication.md#guessing
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const hash = (password: string) => Bun.password.hash(password, { algorithm: "bcrypt", cost: 4 });
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      trusted_proxies: ["127.0.0.1/32"],
      auth: { basic: { users: { alice: await hash("right"), bob: await hash("right") } } },
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

async function statuses(count: number, each: (i: number) => Promise<Reply>): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await each(i)).status);
  return found;
}

test("after ten wrong passwords for a user an address waits, over all workers", async () => {
  const found = await statuses(16, (i) => ask("192.0.2.1", "alice", `wrong ${i}`));
  expect(found.slice(0, 10)).toEqual(Array<number>(10).fill(401));
  expect(found.slice(11)).toEqual(Array<number>(5).fill(429));
  const refused = await ask("192.0.2.1", "alice", "right");
  expect(refused.status).toBe(429);
  expect(Number(refused.fields.get("retry-after"))).toBeWithin(1, 11);
  expect(refused.text).toContain("too many wrong credentials");
});

test("the user comes in from elsewhere, and other users from there", async () => {
  expect((await ask("192.0.2.2", "alice", "right")).status).toBe(200);
  expect((await ask("192.0.2.1", "bob", "right")).status).toBe(200);
});

test("a user that is not there is no different", async () => {
  const found = await statuses(14, (i) => ask("192.0.2.3", "mallory", `wrong ${i}`));
  expect([found.slice(0, 10), found.slice(11)]).toEqual([Array<number>(10).fill(401), Array<number>(3).fill(429)]);
});

test("an address that tries many users waits, too", async () => {
  const found = await statuses(110, (i) => ask("192.0.2.4", `user${i}`, "123456"));
  expect(found.slice(0, 100)).toEqual(Array<number>(100).fill(401));
  expect(found.at(-1)).toBe(429);
});

test("addresses of one IPv6 network are one", async () => {
  const found = await statuses(14, (i) => ask(`2001:db8::${i + 1}`, "alice", `wrong ${i}`));
  expect(found.slice(11)).toEqual(Array<number>(3).fill(429));
  expect((await ask("2001:db8:0:1::1", "alice", "right")).status).toBe(200);
});

test("right passwords cost nothing, at whatever rate they come", async () => {
  const found = await Promise.all(Array.from({ length: 60 }, () => ask("192.0.2.5", "bob", "right")));
  expect(found.map(({ status }) => status)).toEqual(Array<number>(60).fill(200));
  const again = await statuses(10, (i) => ask("192.0.2.5", "bob", `wrong ${i}`));
  expect(again).toEqual(Array<number>(10).fill(401));
});

test("refusals are counted and logged by their status", async () => {
  expect(await gateway.metric("gateway_auth_refusals_total", { status: "429" })).toBeGreaterThan(10);
  const line = await gateway.log("a refusal", ({ event, status }) => event === "auth_refused" && status === 429);
  expect(line).toMatchObject({ auth: "basic" });
});
