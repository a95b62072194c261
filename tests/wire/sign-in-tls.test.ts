import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TestAuthority } from "../harness/certificate.ts";
import { CookieClient } from "../harness/cookie-client.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { FakeProvider } from "../harness/fake-provider.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/authentication.md#openid-connect
const authority = await TestAuthority.make("private");
const certificate = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const provider = FakeProvider.start(certificate);
const origin = EchoOrigin.start();
const port = freePort();
const users = { users: { alice: await Bun.password.hash("wonder", { algorithm: "bcrypt", cost: 4 }) } };
let gateway: Gateway;
const site = `https://localhost:${port}`;

beforeAll(async () => {
  const { issuer, clientId, clientSecret } = provider;
  const own = {
    issuer,
    client_id: clientId,
    client_secret: clientSecret,
    ca_file: "ca.pem",
    headers: { "X-User": "email" },
  };
  const oidc = { ...own, cookie_secret: "sessions are sealed with this secret, say" };
  gateway = await startGateway({
    config: {
      server: {
        auth: { oidc },
        trusted_proxies: ["127.0.0.2"],
        tls: { port, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
      },
    },
    files: { "a.pem": certificate.cert, "a.key": certificate.key, "ca.pem": authority.cert },
    routes: [
      upstream("/any", origin, { auth: { any: [{ basic: users }, { oidc }] } }),
      upstream("/untrusted", origin, { auth: { oidc: { ...oidc, ca_file: "a.pem" } } }),
      upstream("/hosted", origin, { host: "a.localhost", auth: { oidc } }),
      upstream("/", origin),
    ],
  });
});
afterAll(async () => {
  await stopAll(gateway, origin);
  await provider.stop();
});

describe("over TLS", () => {
  const trusting = { ca: authority.cert };

  test("cookies are Secure and for the host alone, and the redirect URI is https", async () => {
    const client = new CookieClient(trusting);
    const first = await client.get(`${site}/x`);
    expect(new URL(first.headers.get("location")!).searchParams.get("redirect_uri")).toBe(
      `${site}/.edge/oidc/callback`,
    );
    const page = await client.go(`${site}/x?y=z`);
    expect([page.status, page.url]).toEqual([200, `${site}/x?y=z`]);
    expect(JSON.parse(page.text)).toMatchObject({
      headers: { "x-user": "alice@example.com", "x-forwarded-proto": "https" },
    });
    expect(client.cookies("localhost").every(([name]) => name.startsWith("__Host-edge-oidc-"))).toBe(true);
    const again = await client.get(`${site}/.edge/oidc/callback`);
    expect(again.headers.getSetCookie().every((line) => line.endsWith("; HttpOnly; SameSite=Lax; Secure"))).toBe(true);
  });

  test("a cookie without the prefix is none, whoever has set it", async () => {
    const client = new CookieClient(trusting);
    await client.go(`${site}/x`);
    const [name, value] = client.cookies("localhost").find(([one]) => /oidc-[0-9a-f]{10}$/.test(one))!;
    const plain = { headers: { cookie: `${name.replace("__Host-", "")}=${value}`, accept: "application/json" } };
    expect((await new CookieClient(trusting).get(`${site}/x`, plain)).status).toBe(401);
  });

  test("a provider whose certificate is not from ca_file is not asked", async () => {
    const page = await new CookieClient(trusting).get(`${site}/untrusted`);
    expect(page.status).toBe(503);
    const line = await gateway.log("why", ({ step }) => step === "login");
    expect(String(line.reason)).toMatch(/certificate|CERT|SIGNATURE|ISSUER/i);
  });

  test("HTTP/2 and HTTP/3 are asked, and let in, as HTTP/1.1 is", async () => {
    const client = new CookieClient(trusting);
    await client.go(`${site}/x`);
    const cookies = client.cookies("localhost").map(([name, value]) => `${name}=${value}`);
    const h2 = await H2Client.connect(gateway.port);
    const authorityField = head("GET", "/x").find(([name]) => name === ":authority")![1];
    expect(authorityField).toBeDefined();
    const asked = await h2.reply(h2.headers(head("GET", "/x", [["accept", "text/html"]])));
    expect([asked.status, asked.fields.get("location")?.startsWith(`${provider.issuer}/authorize?`)]).toEqual([
      302,
      true,
    ]);
    h2.close();
    const h3 = await H3Client.connect(port);
    const over3 = await h3.ask("GET", "/x", { accept: "text/html" });
    expect([over3.status, String(over3.fields.location).startsWith(`${provider.issuer}/authorize?`)]).toEqual([
      302,
      true,
    ]);
    // As HTTP/2 and HTTP/3 may send cookies: a field for each.
    const inside = await h3.ask("GET", "/x", { cookie: ["a=1", ...cookies, "b=2"] as unknown as string });
    h3.close();
    expect(inside.status).toBe(200);
    const { headers } = JSON.parse(inside.body.toString()) as Echo;
    expect(headers).toMatchObject({ "x-user": "alice@example.com", cookie: "a=1; b=2" });
  });

  test("behind a proxy that ends TLS, its word decides the scheme; no other's does", async () => {
    const lines = ["Host: localhost", "Accept: text/html", "X-Forwarded-Proto: https"];
    const untrusted = await gateway.once(request("GET /x", lines));
    const redirectOf = (location: string | null) => new URL(location!).searchParams.get("redirect_uri");
    expect(redirectOf(untrusted.fields.get("location"))).toBe("http://localhost/.edge/oidc/callback");
    expect(untrusted.fields.get("set-cookie")).not.toContain("Secure");
    const trusted = await exchangeFrom("127.0.0.2", gateway.port, request("GET /x", [...lines, "Connection: close"]));
    const location = /^location: (.*)\r$/im.exec(trusted)?.[1] ?? null;
    expect(redirectOf(location)).toBe("https://localhost/.edge/oidc/callback");
    expect(trusted).toMatch(/^set-cookie: __Host-.*; Secure\r$/im);
  });

  test("a password lets in beside a sign-in", async () => {
    const client = new CookieClient(trusting);
    const basic = { headers: { authorization: `Basic ${btoa("alice:wonder")}`, accept: "application/json" } };
    expect((await client.get(`${site}/any`, basic)).status).toBe(200);
    expect((await client.get(`${site}/any`, { headers: { accept: "application/json" } })).status).toBe(401);
    const page = await client.go(`${site}/any/page`);
    expect([page.status, page.url]).toEqual([200, `${site}/any/page`]);
  });

  test("the callback of a route with a host is under that host alone", async () => {
    const lines = [`Host: a.localhost:${gateway.port}`, "Accept: text/html"];
    const asked = await gateway.once(request("GET /hosted", lines));
    const location = new URL(asked.fields.get("location")!);
    expect(location.searchParams.get("redirect_uri")).toBe(`http://a.localhost:${gateway.port}/.edge/oidc/callback`);
    expect((await gateway.once(request("GET /.edge/oidc/callback?state=x", lines))).status).toBe(400);
  });
});
