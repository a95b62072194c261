import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const products = [
  { id: "1/2", name: "Cup", description: "red", purchasePrice: 2.5 },
  { id: 7, name: "no text as id" },
];
let body = "";
const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(body, { headers: { "Content-Type": "application/json" } }),
});
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { SHOP: `http://127.0.0.1:${shop.port}` } });
});
beforeEach(() => {
  body = JSON.stringify(products);
});
afterAll(() => void shop.stop(true));

test("products become items, without what is internal", async () => {
  const response = await edge.fetch("http://shop.example.com/feed");
  expect(response.headers.get("Content-Type")).toBe("application/feed+json");
  expect(await response.json()).toEqual({
    version: "https://jsonfeed.org/version/1.1",
    title: "Products",
    items: [{ id: "1/2", url: "http://shop.example.com/shop/products/1%2F2", title: "Cup", content_text: "red" }],
  });
});

test.each([
  ["is no JSON", "<html>"],
  ["is no list", "{}"],
  ["is too long", `["${"x".repeat(2 * 1024 * 1024)}"]`],
])("a list that %s is 502", async (_, text) => {
  body = text;
  expect((await edge.fetch("/feed")).status).toBe(502);
});
