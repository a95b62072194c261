import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => new Response(request.headers.get("X-Flags")),
});
const list = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => Response.json({ beta: 1, never: 0, "bad name\n": 1, wrong: 7 }),
});
const env = { SHOP: `http://127.0.0.1:${shop.port}` };
let fetched: Gateway;
let withoutList: Gateway;

beforeAll(async () => {
  [fetched, withoutList] = await Promise.all([
    startEdge({ env: { ...env, FLAGS_URL: `http://127.0.0.1:${list.port}` } }),
    startEdge({ env: { ...env, FLAGS_URL: "http://127.0.0.1:1" } }),
  ]);
});
afterAll(() => {
  void shop.stop(true);
  void list.stop(true);
});

test("the application sees the flags of the list, and not those that a client sends", async () => {
  const response = await fetched.fetch("/app/", { headers: { "X-Flags": "admin" } });
  expect(await response.text()).toBe("beta");
});

test("without the list, the flags of the module are there", async () => {
  const response = await withoutList.fetch("/app/");
  expect(await response.text()).toMatch(/^checkout(, search)?$/);
});
