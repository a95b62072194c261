import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { CHAT_FILE, GrpcChat } from "../harness/grpc-chat.ts";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";
import { buildGoShop, GoShop } from "./go-shop.ts";

// A page in Chromium calls gRPC for Go through the gateway, by connect-web's transport for gRPC-Web and across origins.

if (CHROMIUM === null) console.log("skipped: gRPC-Web in a browser needs chromium");
const binary = CHROMIUM === null ? null : await buildGoShop();

interface Outcome {
  readonly messages: readonly Record<string, unknown>[];
  readonly code: number;
  readonly text: string;
}

describe.skipIf(binary === null)("a page", () => {
  let shop: GoShop;
  let chat: GrpcChat;
  let gateway: Gateway;
  let closed: Gateway;
  let site: Gateway;
  let tab: BrowserTab;

  beforeAll(async () => {
    shop = await GoShop.start(binary!, "none");
    chat = await GrpcChat.start();
    const entry = join(import.meta.dir, "grpc-web-page.ts");
    const built = await Bun.build({ entrypoints: [entry], target: "browser", format: "esm" });
    const schema = readFileSync(SHOP_FILE).toString("base64");
    const files = {
      "site/index.html": `<!doctype html><title>shop</title><script>globalThis.schema = "${schema}";</script><script type="module" src="page.js"></script>`,
      "site/page.js": await built.outputs[0]!.text(),
    };
    const sitePort = freePort();
    site = await startGateway({ port: sitePort, routes: [{ type: "static", prefix: "/", dir: "site" }], files });
    const allowed_headers = ["Content-Type", "X-Grpc-Web", "X-User-Agent", "Grpc-Timeout", "X-Token"];
    const cors = { enabled: true, allowed_origins: [`http://127.0.0.1:${sitePort}`], allowed_headers };
    const talk = {
      http_method: "POST",
      http_path: "/talk",
      grpc_method: "/chat.Chat/Talk",
      upstream_url: chat.url,
      descriptor_set: CHAT_FILE,
    };
    const transcoder = { enabled: true, routes: [talk] };
    const routes = [
      upstream("/shop.Shop", { url: shop.url.replace("http:", "h2c:") }, { strip_prefix: false, grpc_web: true }),
    ];
    gateway = await startGateway({ config: { server: { cors }, transcoder }, routes });
    closed = await startGateway({ config: { transcoder }, routes });
    tab = await BrowserTab.open();
    await tab.go(`http://127.0.0.1:${sitePort}/`);
    await tab.until("globalThis.call");
  }, 120_000);

  afterAll(async () => {
    await tab?.close();
    for (const one of [gateway, closed, site]) await one?.stop();
    shop?.stop();
    chat?.stop();
  });

  const call = (method: string, request: object, most?: number, to: Gateway = gateway): Promise<Outcome> => {
    const args = [
      `http://127.0.0.1:${to.port}`,
      `/shop.Shop/${method}`,
      request,
      ...(most === undefined ? [] : [most]),
    ];
    return tab.value<Outcome>(`call(...${JSON.stringify(args)})`);
  };

  test("calls a method, and is told of failures with their text", async () => {
    const item = await call("GetItem", { id: "7", tags: ["ä"] });
    expect([item.code, item.messages.length]).toEqual([0, 1]);
    expect(JSON.parse(String(item.messages[0]!.request))).toEqual({ id: "7", tags: ["ä"] });
    expect(await call("Fail", { code: 5, message: "nö %" })).toEqual({ messages: [], code: 5, text: "nö %" });
    const blob = Buffer.alloc(300_000, 7).toString("base64");
    expect((await call("Echo", { blob })).messages).toEqual([{ blob }]);
  });

  test("reads a stream as it comes, and leaves it", async () => {
    const watched = await call("Watch", { count: 3 });
    expect([watched.code, watched.messages]).toEqual([0, [{ id: "1" }, { id: "2" }, { id: "3" }]]);
    const before = shop.lines.lines.filter((line) => line === "cancelled").length;
    const left = await call("Watch", { endless: true }, 3);
    expect([left.messages.length, left.code]).toEqual([3, 1]);
    await eventually(() =>
      expect(shop.lines.lines.filter((line) => line === "cancelled").length).toBeGreaterThan(before),
    );
  });

  test("gets nothing where CORS does not let it in", async () => {
    const refused = await call("GetItem", { id: "7" }, undefined, closed);
    expect([refused.messages, refused.code === 0]).toEqual([[], false]);
  });

  test("talks over a WebSocket, from an allowed origin alone", async () => {
    const talk = (to: Gateway) =>
      tab.value(`talk("ws://127.0.0.1:${to.port}/talk", ["one", "two"])`) as Promise<{ texts: string[]; code: number }>;
    expect(await talk(gateway)).toEqual({
      texts: ['{"text":"one"}', '{"text":"two"}'],
      code: 1000,
      reason: "OK",
    } as never);
    expect(await talk(closed)).toMatchObject({ texts: [], code: 1006 });
  });
});
