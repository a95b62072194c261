import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";

if (CHROMIUM === null) console.log("skipped: the task of docs/bots.md in a browser needs chromium");

/** As Chromium says without "Headless", which is on the list of scrapers. */
const AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
/** Of the gateway's own machine, where SubtleCrypto is there in clear text too, and of another, where it is not. */
const [OWN_HOST, OTHER_HOST] = ["localhost", "shop.test"];
const PAGE = `<!doctype html><html lang="en"><title>shop</title><h1>The shop</h1><script>window.shop=true</script>`;
/** That the page says so. Its scripts are texts of it, too. */
const state = (words: string) => `document.getElementById("state")?.textContent.includes(${JSON.stringify(words)})`;
/** A folder to put screenshots in, to be looked at. */
const SHOTS = process.env.EDGE_SCREENSHOTS;

describe.skipIf(CHROMIUM === null)("the task, in a browser", () => {
  const origin = EchoOrigin.start();
  const tlsPort = freePort();
  let gateway: Gateway;
  let tab: BrowserTab;

  beforeAll(async () => {
    origin.otherwise((call) => call.reply("200 OK", ["Content-Type: text/html"], PAGE));
    const { cert, key } = await makeCertificate();
    gateway = await startGateway({
      config: {
        server: {
          access_log: { enabled: true },
          tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
          bots: { challenge: "all" },
        },
      },
      routes: [
        upstream("/", origin),
        { ...upstream("/hard", origin), bots: { difficulty: 23 } },
        { ...upstream("/ordinary", origin), bots: { challenge: "suspicious" } },
        { type: "static", prefix: "/form", dir: "form", bots: false },
      ],
      files: {
        "a.pem": cert,
        "a.key": key,
        "form/index.html": `<!doctype html><form method="post" action="/sent"><input name="a" value="b"><button>Go</button></form>`,
      },
    });
    const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
    tab = await BrowserTab.open([
      `--user-agent=${AGENT}`,
      `--host-resolver-rules=MAP ${OWN_HOST} 127.0.0.1,MAP ${OTHER_HOST} 127.0.0.1`,
      `--ignore-certificate-errors-spki-list=${createHash("sha256").update(spki).digest("base64")}`,
    ]);
  }, 60_000);

  afterAll(async () => {
    await tab?.close();
    await gateway?.stop();
    origin.stop();
  });

  async function forget(): Promise<void> {
    await tab.call("Network.clearBrowserCookies");
    tab.console.length = 0;
  }

  async function shot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    writeFileSync(`${SHOTS}/${name}.png`, await tab.screenshot());
  }

  const PLACES = [
    ["TLS, with SubtleCrypto", () => `https://${OWN_HOST}:${tlsPort}`, true],
    ["clear text of another host, without SubtleCrypto", () => `http://${OTHER_HOST}:${gateway.port}`, false],
  ] as const;

  test.each(PLACES)(
    "is solved over %s, and the page that was wanted comes",
    async (what, base, isSecure) => {
      const timesMs: number[] = [];
      for (let i = 0; i < 5; i++) {
        await forget();
        await tab.go("about:blank");
        const began = performance.now();
        await tab.go(`${base()}/wanted/page?a=b&c=//evil.test#part`);
        await tab.until("window.shop && document.readyState === 'complete'");
        timesMs.push(Math.round(performance.now() - began));
        expect(await tab.value<string>("location.href")).toBe(`${base()}/wanted/page?a=b&c=//evil.test#part`);
        expect(await tab.value<string>("document.cookie")).toBe("");
      }
      console.log(`${what}: solved and loaded in ${timesMs.join(", ")} ms`);
      expect(await tab.value<boolean>("isSecureContext")).toBe(isSecure);
      const { cookies } = (await tab.call("Network.getCookies")) as { cookies: Record<string, unknown>[] };
      expect(cookies).toMatchObject([
        { name: "edge_pass", httpOnly: true, secure: isSecure, sameSite: "Lax", path: "/", session: false },
      ]);
      expect(timesMs.sort((a, b) => a - b)[2]).toBeLessThan(2000);
      // The 403 itself is reported; a violation of the policy would be, too.
      expect(tab.console.filter((line) => !/status of 403/.test(line))).toEqual([]);
      const before = await gateway.metric("gateway_bot_challenges_total");
      await tab.go(`${base()}/another`);
      await tab.until("window.shop && location.pathname === '/another'");
      expect(await gateway.metric("gateway_bot_challenges_total")).toBe(before);
    },
    60_000,
  );

  test("says what happens to people who see it and to those who hear it", async () => {
    await forget();
    await tab.go(`https://${OWN_HOST}:${tlsPort}/hard/a`);
    await tab.until(
      "document.querySelector('progress:not([hidden])') && document.getElementById('state').textContent.includes('moment')",
    );
    await tab.until("document.querySelector('progress').value > 0");
    const heard = await tab.accessible();
    expect(heard.find(({ role }) => role === "RootWebArea")!.name).toBe("Checking your browser");
    expect(heard.map(({ role }) => role)).toEqual(expect.arrayContaining(["main", "heading", "paragraph", "status"]));
    const bar = heard.find(({ role }) => role === "progressbar" || role === "ProgressIndicator")!;
    expect(bar.name).toBe("Progress of the check");
    expect(heard.map(({ name }) => name).join(" ")).toContain("Calculating. This takes a moment.");
    for (const [scheme, width] of [
      ["light", 1440],
      ["light", 400],
      ["dark", 1440],
      ["dark", 400],
    ] as const) {
      await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const size = { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 };
      await tab.call("Emulation.setDeviceMetricsOverride", size);
      await shot(`${scheme}-${width}`);
      expect(await tab.value<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    }
    await tab.call("Emulation.clearDeviceMetricsOverride");
    await tab.call("Emulation.setEmulatedMedia", { features: [] });
  }, 60_000);

  test("says without JavaScript what to do", async () => {
    await forget();
    await tab.call("Emulation.setScriptExecutionDisabled", { value: true });
    await tab.go(`https://${OWN_HOST}:${tlsPort}/a`);
    await Bun.sleep(500);
    const heard = (await tab.accessible()).map(({ name }) => name).join(" ");
    await shot("without-javascript");
    await tab.call("Emulation.setScriptExecutionDisabled", { value: false });
    expect(heard).toContain("needs JavaScript, which is switched off here");
    expect(heard).toContain("tell the support of this site the request ID");
    expect(heard).not.toContain("Calculating");
  }, 60_000);

  test("keeps nothing of what a form sends, and says to reload", async () => {
    await forget();
    await tab.go(`https://${OWN_HOST}:${tlsPort}/form/`);
    await tab.until("document.forms[0]");
    await tab.value("document.forms[0].submit()");
    await tab.until(state("Nothing was sent yet"));
    await shot("form");
    await tab.call("Page.reload");
    await tab.until("window.shop && location.pathname === '/sent'");
  }, 60_000);

  test("does not go in circles where its result does not count", async () => {
    await forget();
    const url = `https://${OWN_HOST}:${tlsPort}/a`;
    await tab.call("Network.setCookie", { url, name: "edge_solution", value: "abcdef.16.aaaaaaaaaaaaaaaaaaaaaa.1" });
    await tab.go(url);
    await tab.until("document.querySelector('button:not([hidden])')");
    await shot("again");
    expect(await tab.value<string>("document.getElementById('state').textContent")).toContain("did not count");
    await tab.value("document.querySelector('button').click()");
    await tab.until("window.shop");
  }, 60_000);

  test("says so where cookies are blocked", async () => {
    await forget();
    await tab.call("Page.addScriptToEvaluateOnNewDocument", {
      source:
        "if (location.pathname === '/blocked') Object.defineProperty(document, 'cookie', { get: () => '', set() {} })",
    });
    await tab.go(`https://${OWN_HOST}:${tlsPort}/blocked`);
    await tab.until(state("keeps no cookies"));
  }, 60_000);

  test("is not asked of an ordinary browser where only the suspicious are", async () => {
    for (const base of [`https://${OWN_HOST}:${tlsPort}`, `http://${OTHER_HOST}:${gateway.port}`]) {
      await forget();
      await tab.go(`${base}/ordinary/a`);
      await tab.until("window.shop");
      const status =
        "(await fetch('/ordinary/b')).status + (await fetch('/ordinary/c', {method: 'POST', body: 'x'})).status";
      expect(await tab.value<number>(`(async () => ${status})()`)).toBe(400);
    }
    const challenged = gateway.logs.json.filter(
      (line) => line.event === "bot_challenge" && String(line.path).startsWith("/ordinary"),
    );
    expect(challenged).toEqual([]);
  }, 60_000);
});
