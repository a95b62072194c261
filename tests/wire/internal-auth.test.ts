// Users beside the token. docs/endpoints.md#access
import { afterAll, describe, expect, test } from "bun:test";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const auth = {
  basic: { users: { op: await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 }) }, realm: "Ops" },
};
const alone = await startGateway({ config: { internal_api: { auth } } });
const listen = freePort();
const beside = await startGateway({
  config: { internal_api: { auth, token: "long-enough-token", listen: `127.0.0.1:${listen}` } },
});
afterAll(() => stopAll(alone, beside));

const OP = `Authorization: Basic ${Buffer.from("op:pw").toString("base64")}`;
const WRONG = `Authorization: Basic ${Buffer.from("op:no").toString("base64")}`;
const LOCAL = "Host: localhost";

describe.each([
  ["on the public port", alone.port],
  ["on a port of its own", listen],
])("%s", (_, port) => {
  const ask = async (path: string, ...lines: readonly string[]): Promise<number> =>
    (await exchangeOnce(port, request(`GET ${path}`, lines))).status;

  test.each(["/metrics", "/internal/", "/internal/api/status", "/internal//api/status", "/internal/%61pi/routes"])(
    "%s asks",
    async (path) => {
      const refused = await exchangeOnce(port, request(`GET ${path}`, [LOCAL]));
      expect([refused.status, refused.fields.get("www-authenticate")]).toEqual([
        401,
        'Basic realm="Ops", charset="UTF-8"',
      ]);
      expect([await ask(path, LOCAL, WRONG), await ask(path, LOCAL, OP)]).toEqual([401, 200]);
    },
  );

  test("the rules of addresses and names stay", async () => {
    expect(await ask("/metrics", "Host: www.evil.com", OP)).toBe(403);
    expect(await ask("/metrics", LOCAL, OP, "X-Forwarded-For: 192.0.2.1")).toBe(port === listen ? 200 : 403);
  });

  test("the token, where there is one, lets in without", async () => {
    const status = port === listen ? 200 : 401;
    expect(await ask("/metrics", LOCAL, "Authorization: Bearer long-enough-token")).toBe(status);
    expect(await ask("/metrics", LOCAL, "Authorization: Bearer wrong-enough-token")).toBe(401);
  });

  test("health and status are open", async () => {
    expect([await ask("/health"), await ask("/api/status")]).toEqual([200, 200]);
  });
});

test("a method that needs a route is none for it", async () => {
  const oidc = { issuer: "https://id.example.com", client_id: "a", cookie_secret: "0123456789abcdef0123456789abcdef" };
  const { stdout, stderr, code } = await runEdge(["check"], { config: { internal_api: { auth: { oidc } } } });
  expect([code, stdout + stderr]).toEqual([
    1,
    expect.stringContaining("internal_api.auth: has a method with paths of its own"),
  ]);
});
