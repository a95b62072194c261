import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { CookieClient, type Visited } from "../harness/cookie-client.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";
import { CertifiedProvider } from "./certified-provider.ts";

describe("a certified OpenID provider", () => {
  const origin = EchoOrigin.start();
  const port = freePort();
  const site = `http://localhost:${port}`;
  let provider: CertifiedProvider;
  let gateway: Gateway;

  beforeAll(async () => {
    provider = await CertifiedProvider.start({ sites: [site], accessTokenS: 3 });
    const { issuer, clientId, clientSecret } = provider;
    const oidc = {
      issuer,
      client_id: clientId,
      client_secret: clientSecret,
      cookie_secret: "sessions are sealed with this secret, say",
      allow: { email: ["*@example.com"], groups: ["staff"] },
      headers: { "X-User": "email", "X-Groups": "groups" },
    };
    gateway = await startGateway({ port, config: { server: { auth: { oidc } } }, routes: [upstream("/", origin)] });
  });
  afterAll(async () => {
    await stopAll(gateway, origin);
    provider.stop();
  });

  /** Fills in the provider's form, and follows until the page that was wanted is there. */
  async function signIn(client: CookieClient, path: string): Promise<Visited> {
    const form = await client.go(site + path);
    expect(form.text).toContain("<h1>Provider</h1>");
    const body = "name=alice&password=x";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = await client.get(form.url, { method: "POST", body, headers });
    return client.go(new URL(sent.headers.get("location")!, form.url).href);
  }

  test("signs users in, renews their sessions, and signs them out", async () => {
    const client = new CookieClient();
    const page = await signIn(client, "/orders?id=4711");
    expect([page.url, page.status]).toEqual([`${site}/orders?id=4711`, 200]);
    expect((JSON.parse(page.text) as Echo).headers).toMatchObject({
      "x-user": "alice@example.com",
      "x-groups": "staff",
    });

    const session = () => client.cookies("localhost").find(([name]) => /oidc-[0-9a-f]{10}$/.test(name))![1];
    for (let i = 0; i < 2; i++) {
      const before = session();
      await Bun.sleep(3100);
      const renewed = await client.get(`${site}/again`, { headers: { accept: "application/json" } });
      expect(renewed.status).toBe(200);
      expect(session()).not.toBe(before);
    }

    const out = await client.go(`${site}/.edge/oidc/logout`);
    expect(out.url).toStartWith(`${provider.issuer}/session/end`);
    const [, action] = /action="([^"]+)"/.exec(out.text)!;
    const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(out.text)!;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const ended = await client.get(action!, { method: "POST", body: `xsrf=${xsrf}&logout=yes`, headers });
    const last = await client.go(new URL(ended.headers.get("location")!, action).href);
    expect(new URL(last.url).pathname).toBe("/.edge/oidc/logout");
    expect([last.status, last.text.includes("You are signed out")]).toEqual([200, true]);
    expect((await client.go(`${site}/orders`)).text).toContain("<h1>Provider</h1>");
    expect(await gateway.metric("gateway_sign_in_failures_total")).toBe(0);
  }, 30_000);

  test("refuses a code that was used, and the gateway gives no session for it", async () => {
    const client = new CookieClient();
    const form = await client.go(`${site}/x`);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = await client.get(form.url, { method: "POST", body: "name=alice", headers });
    const way = await client.until(
      new URL(sent.headers.get("location")!, form.url).href,
      `${site}/.edge/oidc/callback`,
    );
    const copy = new Map(client.jar.get("localhost"));
    expect((await client.get(way)).status).toBe(302);
    // The attempt's cookie again, at a second gateway, which has not seen it.
    const { issuer, clientId, clientSecret } = provider;
    const cookie_secret = "sessions are sealed with this secret, say";
    const oidc = { issuer, client_id: clientId, client_secret: clientSecret, cookie_secret };
    const second = await startGateway({ config: { server: { auth: { oidc } } }, routes: [upstream("/", origin)] });
    const thief = new CookieClient();
    thief.jar.set("localhost", copy);
    const page = await thief.get(way.replace(String(port), String(second.port)));
    expect([page.status, page.headers.getSetCookie().some((line) => /oidc-[0-9a-f]{10}=\w/.test(line))]).toEqual([
      403,
      false,
    ]);
    await second.stop();
  }, 30_000);
});
