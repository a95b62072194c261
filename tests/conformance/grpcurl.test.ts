import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";
import { buildGoShop, GoShop } from "./go-shop.ts";

// grpcurl, which asks for everything by reflection, through a route to gRPC for Go: calls and reflection pass as they are.
const own = join(import.meta.dir, "../../.bun/grpcurl");
const grpcurl = existsSync(own) ? own : Bun.which("grpcurl");
if (grpcurl === null) console.log("skipped: grpcurl is not there (scripts/install-peers)");
const binary = grpcurl === null ? null : await buildGoShop();

describe.skipIf(binary === null)("grpcurl", () => {
  let shops: GoShop[];
  let gateway: Gateway;

  beforeAll(async () => {
    shops = await Promise.all([GoShop.start(binary!, "v1"), GoShop.start(binary!, "v1alpha")]);
    const routes = shops.map(({ url }, i) => ({
      type: "upstream",
      prefix: "/",
      host: `shop${i}.test`,
      targets: [{ url: url.replace("http:", "h2c:") }],
    }));
    gateway = await startGateway({ routes });
  });
  afterAll(async () => {
    await gateway.stop();
    for (const shop of shops) shop.stop();
  });

  const run = async (
    shop: number,
    flags: string[],
    ...words: string[]
  ): Promise<{ code: number; out: string; err: string }> => {
    const address = `127.0.0.1:${gateway.port}`;
    const all = [grpcurl!, "-plaintext", "-authority", `shop${shop}.test`, ...flags, address, ...words];
    const { code, stdout, stderr } = await runProcess(all, { timeout: 20_000 });
    return { code, out: stdout, err: stderr };
  };

  test.each([0, 1])("lists, describes and calls by reflection (%p: v1, v1alpha)", async (shop) => {
    const listed = await run(shop, [], "list");
    expect([listed.code, listed.out.split("\n").includes("shop.Shop"), listed.err]).toEqual([0, true, ""]);
    expect((await run(shop, [], "describe", "shop.Shop.GetItem")).out).toContain("rpc GetItem ( .shop.ItemRequest )");
    const called = await run(shop, ["-d", '{"id":"7","pageSize":3}'], "shop.Shop/GetItem");
    expect([called.code, JSON.parse(called.out)]).toMatchObject([0, { id: "7" }]);
    const watched = await run(shop, ["-d", '{"count":3}'], "shop.Shop/Watch");
    expect(watched.out.match(/"id"/g)?.length).toBe(3);
  });

  test("statuses with their messages", async () => {
    const failed = await run(0, ["-d", '{"code":9,"message":"nö %"}'], "shop.Shop/Fail");
    expect([failed.code, failed.err]).toEqual([64 + 9, expect.stringContaining("nö %")]);
  });
});
