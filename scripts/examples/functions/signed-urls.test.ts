import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";
import { signedUrl } from "./signed-urls.ts";

const KEY = "the-key-of-this-test-0123456789abcdef";
const shop = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => new Response(`file ${new URL(request.url).search}`),
});
const soon = (): number => Date.now() / 1000 + 60;
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { SHOP: `http://127.0.0.1:${shop.port}`, URL_KEY: KEY } });
});
afterAll(() => void shop.stop(true));

test("a signed link leads to the file, and the origin does not see the signature", async () => {
  const response = await edge.fetch(await signedUrl("/files/report.pdf", soon(), KEY));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("file ");
  expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
});

test("all else is 403: another path, another time, another key, an old link, none", async () => {
  const link = await signedUrl("/files/report.pdf", soon(), KEY);
  const wrong = [
    link.replace("report", "salaries"),
    link.replace(/expires=(\d+)/, (_, time) => `expires=${Number(time) + 1}`),
    await signedUrl("/files/report.pdf", soon(), `${KEY}x`),
    await signedUrl("/files/report.pdf", soon() - 120, KEY),
    link.replace(/signature=.*/, "signature=%00"),
    "/files/report.pdf",
  ];
  for (const path of wrong) expect((await edge.fetch(path)).status).toBe(403);
});
