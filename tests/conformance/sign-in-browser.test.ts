import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { CertifiedProvider } from "./certified-provider.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";

if (CHROMIUM === null) console.log("skipped: signing in with a browser needs chromium");

/** A folder to put screenshots in, to be looked at. */
const SHOTS = process.env.EDGE_SCREENSHOTS;

describe.skipIf(CHROMIUM === null)("signing in, in a browser", () => {
  const origin = EchoOrigin.start();
  const tlsPort = freePort();
  const site = `https://localhost:${tlsPort}`;
  let provider: CertifiedProvider;
  let gateway: Gateway;
  let tab: BrowserTab;

  beforeAll(async () => {
    origin.otherwise((call) => {
      const { target, fields } = call.request;
      const text = `<!doctype html><html lang="en"><title>shop</title><h1>${fields.get("x-user")}</h1><p>${target.replace(/[<>&]/g, "")}</p>`;
      call.reply("200 OK", ["Content-Type: text/html"], text);
    });
    provider = await CertifiedProvider.start({ sites: [site] });
    const { issuer, clientId, clientSecret } = provider;
    const secret = "sessions are sealed with this secret, say";
    const oidc = {
      issuer,
      client_id: clientId,
      client_secret: clientSecret,
      cookie_secret: secret,
      headers: { "X-User": "email" },
    };
    const { cert, key } = await makeCertificate();
    gateway = await startGateway({
      config: { server: { tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" }, auth: { oidc } } },
      routes: [
        upstream("/", origin),
        upstream("/away", origin, { auth: { oidc: { ...oidc, issuer: `http://localhost:${freePort()}` } } }),
        upstream("/boss", origin, { auth: { oidc: { ...oidc, allow: { groups: ["boss"] } } } }),
      ],
      files: { "a.pem": cert, "a.key": key },
    });
    const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
    tab = await BrowserTab.open([
      "--host-resolver-rules=MAP localhost 127.0.0.1",
      `--ignore-certificate-errors-spki-list=${createHash("sha256").update(spki).digest("base64")}`,
    ]);
  }, 60_000);

  afterAll(async () => {
    await tab?.close();
    await gateway?.stop();
    provider?.stop();
    origin.stop();
  });

  async function shot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    writeFileSync(`${SHOTS}/${name}.png`, await tab.screenshot());
  }

  const says = (text: string) => `document.body.textContent.includes(${JSON.stringify(text)})`;

  async function signIn(name: string): Promise<void> {
    await tab.until(`document.querySelector("input[name=name]")`);
    await tab.value(
      `document.querySelector("input[name=name]").value = "${name}", document.querySelector("button").click()`,
    );
  }

  test("leads to the page that was wanted, with its query, and signs out again", async () => {
    await tab.go(`${site}/orders/4711?sort=name&page=2#notes`);
    await signIn("alice");
    await tab.until(`location.pathname === "/orders/4711" && ${says("alice@example.com")}`);
    expect(await tab.value<string>("location.search")).toBe("?sort=name&page=2");
    expect(await tab.value<string>("document.cookie")).toBe("");

    // A script's request without a session is told so, and not sent to the provider.
    expect(await tab.value<number>(`fetch("/data", { credentials: "omit" }).then(({ status }) => status)`)).toBe(401);
    expect(await tab.value<number>(`fetch("/data").then(({ status }) => status)`)).toBe(200);

    await tab.go(`${site}/.edge/oidc/logout`);
    await tab.until(`document.querySelector("button[value=yes], button[type=submit]")`);
    await tab.value(`document.querySelector("button[value=yes], button[type=submit]").click()`);
    await tab.until(says("You are signed out"));
    expect(await tab.value<string>("location.pathname")).toBe("/.edge/oidc/logout");
    await shot("signed-out");
    expect(
      (await tab.accessible())
        .filter(({ role }) => role === "heading" || role === "link")
        .map(({ role, name }) => [role, name]),
    ).toEqual([
      ["heading", "You are signed out"],
      ["link", "Sign in again"],
    ]);
    await tab.value(`document.querySelector("a").click()`);
    await tab.until(`document.querySelector("input[name=name]")`);
    expect(tab.console.filter((line) => /Content.Security|violat/i.test(line))).toEqual([]);
  }, 60_000);

  test("says to a user who may not come in what to do", async () => {
    await tab.go(`${site}/boss`);
    await signIn("bob");
    await tab.until(says("your account may not see this page"));
    expect(await tab.value<string>("location.pathname")).toBe("/boss");
    await shot("no-entry");
    expect(await tab.value<string>(`document.querySelector("a").pathname`)).toBe("/.edge/oidc/logout");
    await tab.call("Emulation.setDeviceMetricsOverride", {
      width: 400,
      height: 700,
      deviceScaleFactor: 1,
      mobile: true,
    });
    expect(await tab.value<boolean>("document.documentElement.scrollWidth <= 400")).toBe(true);
    await shot("no-entry-narrow");
    await tab.call("Emulation.clearDeviceMetricsOverride");
  }, 60_000);

  test("that cannot be done is told of on a page", async () => {
    await tab.go(`${site}/.edge/oidc/callback?state=x`);
    await tab.until(says("This sign-in is over"));
    await shot("stale");
    await tab.go(`${site}/away`);
    await tab.until(says("The sign-in service does not respond"));
    expect(await tab.value<string>("document.title")).toBe("503 Signing in is not possible now");
    await shot("away");
  }, 60_000);
});
