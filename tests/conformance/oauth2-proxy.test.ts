// oauth2-proxy behind `auth.forward`: users sign in at a certified OpenID provider, and the gateway goes by its verdicts.
// docs/authentication.md#authentication-services
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CookieClient } from "../harness/cookie-client.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { CertifiedProvider } from "./certified-provider.ts";

const BUILD_MS = 400_000;
const binary = IS_LONG ? await build() : null;

/** Builds oauth2-proxy; null where that cannot be done, which is said in one line. */
async function build(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: oauth2-proxy needs go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-oauth2-proxy-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "oauth2-proxy");
  const child = Bun.spawn([go, "build", "-o", path, "github.com/oauth2-proxy/oauth2-proxy/v7"], {
    cwd: join(import.meta.dir, "oauth2-proxy"),
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  if ((await child.exited) === 0) return path;
  console.log("skipped: oauth2-proxy or its modules cannot be had");
  return null;
}

describe.skipIf(binary === null)("oauth2-proxy", () => {
  const origin = EchoOrigin.start();
  const [port, proxyPort] = [freePort(), freePort()];
  const site = `http://localhost:${port}`;
  let provider: CertifiedProvider;
  let proxy: Bun.Subprocess;
  let gateway: Gateway;

  beforeAll(async () => {
    provider = await CertifiedProvider.start({ sites: [], callbacks: [`${site}/oauth2/callback`] });
    proxy = Bun.spawn(
      [
        binary!,
        `--http-address=127.0.0.1:${proxyPort}`,
        "--provider=oidc",
        `--oidc-issuer-url=${provider.issuer}`,
        `--client-id=${provider.clientId}`,
        `--client-secret=${provider.clientSecret}`,
        `--redirect-url=${site}/oauth2/callback`,
        `--cookie-secret=${"0123456789abcdef"}`,
        "--cookie-secure=false",
        "--email-domain=example.com",
        "--upstream=static://202",
        "--reverse-proxy=true",
        "--set-xauthrequest=true",
        "--skip-provider-button=true",
        "--code-challenge-method=S256",
        "--scope=openid email profile",
      ],
      { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
    );
    const url = `http://127.0.0.1:${proxyPort}`;
    const forward = { url: `${url}/`, response_headers: ["X-Auth-Request-Email", "X-Auth-Request-User"] };
    gateway = await startGateway({
      port,
      config: { server: { auth: { forward } } },
      routes: [
        upstream("/", origin, { headers: { request: { set: { "X-User": "{auth.user}" } } } }),
        upstream("/oauth2", { url }, { auth: false, strip_prefix: false }),
      ],
    });
    await eventually(async () => expect((await fetch(`${url}/ping`)).status).toBe(200));
  }, BUILD_MS);
  afterAll(async () => {
    proxy.kill("SIGKILL");
    await stopAll(gateway, origin);
    provider.stop();
  });

  test("signs users in, who come back to the page that they wanted, and are told to the origin", async () => {
    const client = new CookieClient();
    const form = await client.go(`${site}/orders?id=4711`);
    expect(form.text).toContain("<h1>Provider</h1>");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = await client.get(form.url, { method: "POST", body: "name=alice&password=x", headers });
    const page = await client.go(new URL(sent.headers.get("location")!, form.url).href);
    expect([page.url, page.status]).toEqual([`${site}/orders?id=4711`, 200]);
    const forged = { "x-auth-request-email": "root@example.com", x_auth_request_user: "root" };
    const again = await client.get(`${site}/again`, { headers: forged });
    expect((JSON.parse(again.text) as Echo).headers).toMatchObject({
      "x-auth-request-email": "alice@example.com",
      "x-auth-request-user": "alice",
      "x-user": "alice@example.com",
    });
    const out = await client.get(`${site}/oauth2/sign_out`);
    expect(out.status).toBe(302);
    expect((await client.get(`${site}/again`)).status).toBe(302);
  });

  test("others are led to it, with whatever they say of themselves", async () => {
    const reply = await gateway.once(
      request("GET /orders", ["Accept: text/html", "X-Auth-Request-Email: a@example.com"]),
    );
    expect([reply.status, reply.fields.get("location")?.startsWith(`${provider.issuer}/auth?`)]).toEqual([302, true]);
    const forged = await gateway.once(request("GET /orders", ["Cookie: _oauth2_proxy=forged|1|x"]));
    expect(forged.status).toBe(302);
  });

  test("is away: 503", async () => {
    proxy.kill("SIGKILL");
    await proxy.exited;
    const reply = await gateway.once(request("GET /orders"));
    expect([reply.status, json<{ error: string }>(reply).error]).toEqual([503, "503 Service Unavailable"]);
  });
});
