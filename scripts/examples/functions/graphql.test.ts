import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => Response.json({ data: await request.json() }),
});
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { SHOP: `http://127.0.0.1:${shop.port}` } });
});
afterAll(() => void shop.stop(true));

const ask = (body: unknown, type = "application/json") =>
  edge.fetch("/graphql", { method: "POST", headers: { "Content-Type": type }, body: JSON.stringify(body) });

const QUERY = "query Product($id: ID!) { product(id: $id) { name price } }";

test("a query of the list goes on, whole or by its name", async () => {
  const expected = { data: { query: QUERY, operationName: "Product", variables: { id: "1" } } };
  const spaced = QUERY.replace("{ product", "{\n  product");
  expect(await (await ask({ query: spaced, variables: { id: "1" } })).json()).toEqual(expected);
  expect(await (await ask({ operationName: "Product", variables: { id: "1" } })).json()).toEqual(expected);
});

test("any other is 403, with a name of the list as well", async () => {
  expect((await ask({ query: "{ users { password } }" })).status).toBe(403);
  expect((await ask({ query: "{ users { password } }", operationName: "Product" })).status).toBe(403);
  expect((await ask({ operationName: "__proto__" })).status).toBe(403);
});

test("batches and other types are refused", async () => {
  expect((await ask([{ query: QUERY }])).status).toBe(400);
  expect((await ask({ query: QUERY }, "text/plain")).status).toBe(415);
});
