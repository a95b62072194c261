// What methods of `auth` say of a user reaches gRPC servers as metadata, and what clients say in its place does not.
// docs/authentication.md#fields-of-a-method
import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const shop = await GrpcShop.start();
const service = ScriptedOrigin.start();
service.otherwise((call) =>
  call.request.fields.get("cookie") === "session=al"
    ? call.reply("200 OK", ["Remote-User: al", "Remote-Groups: staff"])
    : call.reply("401 Unauthorized", [], "who?"),
);
const gateway = await startGateway({
  config: {
    server: { auth: { forward: { url: `${service.url}/verify` } } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        shopRoute("GET", "/items/:id", "GetItem", shop.url),
        shopRoute("POST", "/items", "CreateItem", shop.url),
      ],
    },
  },
  routes: [upstream("/", service, { auth: false })],
});
afterAll(() => stopAll(gateway, shop, service));

const FORGED = ["Remote-User: root", "remote_user: root", "REMOTE-GROUPS: admin", "Remote_Groups: admin"];
const metadata = () => shop.calls.at(-1)!.metadata;
const named = () => Object.entries(metadata()).filter(([name]) => /^remote/i.test(name));

describe("a transcoded route", () => {
  test("lets in by the server's auth, and tells who it is", async () => {
    const before = shop.calls.length;
    expect((await gateway.once(request("GET /items/7", FORGED))).status).toBe(401);
    expect(shop.calls.length).toBe(before);
    expect((await gateway.once(request("GET /items/7", ["Cookie: session=al", ...FORGED]))).status).toBe(200);
    expect(named().sort()).toEqual([
      ["remote-groups", "staff"],
      ["remote-user", "al"],
    ]);
  });

  test("over HTTP/2 as well", async () => {
    const client = await H2Client.connect(gateway.port);
    const fields = [
      ["cookie", "session=al"],
      ["remote-user", "root"],
      ["remote_user", "root"],
    ] as const;
    expect((await client.request(head("GET", "/items/7", fields))).status).toBe(200);
    expect(named().sort()).toEqual([
      ["remote-groups", "staff"],
      ["remote-user", "al"],
    ]);
    client.close();
  });

  test("takes none of them out of a trailer", async () => {
    const lines = ["Cookie: session=al", "Content-Type: application/json", "Transfer-Encoding: chunked"];
    const body = chunked('{"name":"x"}', 1024, ["Remote-User: root", "X-Other: y"]);
    await gateway.once(request("POST /items", lines, body));
    expect(Object.fromEntries(named())["remote-user"] ?? "al").toBe("al");
    expect(JSON.stringify(metadata())).not.toContain("root");
  });
});
