import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => new Response(`variant ${request.headers.get("X-Variant")}`),
});
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { SHOP: `http://127.0.0.1:${shop.port}` } });
});
afterAll(() => void shop.stop(true));

test("a visitor gets a variant, and keeps it", async () => {
  const first = await edge.fetch("/shop/");
  const cookie = first.headers.get("Set-Cookie") ?? "";
  const variant = /^variant=([ab]);/.exec(cookie)?.[1];
  expect(await first.text()).toBe(`variant ${variant}`);
  for (const _ of Array(5)) {
    const again = await edge.fetch("/shop/", { headers: { Cookie: `theme=dark; variant=${variant}` } });
    expect(await again.text()).toBe(`variant ${variant}`);
    expect(again.headers.has("Set-Cookie")).toBe(false);
  }
});

test("a header of the client, or a cookie with another word, chooses nothing", async () => {
  const response = await edge.fetch("/shop/", { headers: { "X-Variant": "admin", Cookie: "variant=admin" } });
  expect(await response.text()).toMatch(/^variant [ab]$/);
});
