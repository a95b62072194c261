import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const page = `<!doctype html><html><body><img src="a.png"><a href="/b">b</a><a href="https://other.example/">c</a></body></html>`;
const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) =>
    request.url.endsWith(".json")
      ? Response.json({ html: page })
      : new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8", ETag: '"1"' } }),
});
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { SHOP: `http://127.0.0.1:${shop.port}` } });
});
afterAll(() => void shop.stop(true));

test("a page has the notice, late images, and links that keep to themselves", async () => {
  const response = await edge.fetch("http://shop.example.com/pages/");
  const text = await response.text();
  expect(text).toContain('<p role="note">Closed on Monday</p>');
  expect(text).toContain('<img src="a.png" loading="lazy">');
  expect(text).toContain('<a href="/b">');
  expect(text).toContain('<a href="https://other.example/" rel="noopener noreferrer">');
  expect(response.headers.has("ETag")).toBe(false);
});

test("what is no page is left alone", async () => {
  expect(await (await edge.fetch("/pages/list.json")).json()).toEqual({ html: page });
});
