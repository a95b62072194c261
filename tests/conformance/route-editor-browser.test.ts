// docs/dashboard.md#routes-of-the-api, in a browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";

if (CHROMIUM === null) console.log("skipped: docs/dashboard.md#routes-of-the-api needs chromium");

/** A folder to put screenshots in, to be looked at. */
const SHOTS = process.env.EDGE_SCREENSHOTS;
const TOKEN = "token-of-operators";

describe.skipIf(CHROMIUM === null)("routes of the API, in a browser", () => {
  const port = freePort();
  const page = `http://127.0.0.1:${port}/internal/`;
  let gateway: Gateway;
  let tab: BrowserTab;

  beforeAll(async () => {
    gateway = await startGateway({
      port,
      config: { internal_api: { token: TOKEN } },
      routes: [{ type: "respond", prefix: "/file", body: "file" }],
    });
    tab = await BrowserTab.open();
    await tab.go(page);
    await tab.until("document.querySelector('#login').open");
    await tab.value(
      `(document.querySelector('#token').value = '${TOKEN}', document.querySelector('#login-form').requestSubmit(), 1)`,
    );
    await tab.until("!document.querySelector('#editor').hidden");
    tab.console.length = 0;
  }, 60_000);

  afterAll(async () => {
    await tab?.close();
    await gateway?.stop();
  });

  const click = (selector: string) => tab.value(`(document.querySelector(${JSON.stringify(selector)}).click(), 1)`);
  const fill = (id: string, value: string) =>
    tab.value(
      `(() => { const e = document.querySelector('#${id}'); e.value = ${JSON.stringify(value)}; e.dispatchEvent(new Event('change')); return 1; })()`,
    );
  const says = (words: string) =>
    tab.until(`document.querySelector('#route-says').textContent.includes(${JSON.stringify(words)})`);
  const rows = () =>
    tab.value<string[]>("[...document.querySelectorAll('#api-routes tbody tr')].map((row) => row.innerText)");
  const closed = () => tab.until("!document.querySelector('#route').open && !document.querySelector('#confirm').open");

  async function shot(name: string): Promise<void> {
    for (const width of SHOTS === undefined ? [] : [1440, 400]) {
      await tab.call("Emulation.setDeviceMetricsOverride", {
        width,
        height: 900,
        deviceScaleFactor: 1,
        mobile: width < 500,
      });
      expect(await tab.value<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      mkdirSync(SHOTS!, { recursive: true });
      writeFileSync(`${SHOTS}/${name}-${width}.png`, await tab.screenshot());
    }
  }

  async function text(path: string): Promise<string> {
    const response = await gateway.once(request(`GET ${path}`, ["Host: a.test"]));
    return response.status === 200 ? response.text : String(response.status);
  }
  const api = (line: string, fields: readonly string[], body = "") =>
    gateway.once(
      request(
        line,
        ["Host: localhost", `Authorization: Bearer ${TOKEN}`, `Content-Length: ${body.length}`, ...fields],
        body,
      ),
    );

  test("adds a route, and shows the faults of one with their lines", async () => {
    await click("#route-add");
    await fill("route-name", "hello");
    await fill("route-type", "respond");
    await fill("route-prefix", "/hello");
    await fill("route-body", 'say "hi" {uri}\n');
    await shot("form");
    await click("#route-check");
    await says("In order.");
    expect(await text("/hello")).toBe("404");
    await click("#route-save");
    await closed();
    expect(await text("/hello")).toBe('say "hi" /hello');
    await eventually(async () => expect((await rows()).join()).toContain("hello"));

    // Faults of the dry run have their line, and nothing is changed.
    await click("#route-add");
    await fill("route-name", "bad");
    await click("#route-text-mode");
    await fill("route-yaml", "type: respond\nprefix: /bad\nbdy: x\n<img src=x onerror=window.xss=1>: 1\n");
    await click("#route-save");
    await says("bad:3:1");
    expect(await tab.value<number>("document.querySelectorAll('#route-faults li').length")).toBeGreaterThan(0);
    await click("#route-faults button");
    expect(await tab.value<number>("document.querySelector('#route-yaml').selectionStart")).toBe(27);
    await shot("faults");
    // The name of a route that is there already takes no new one.
    await fill("route-name", "hello");
    await fill("route-yaml", "{type: respond, prefix: /other, body: x}");
    await click("#route-save");
    await says("is there already");
    await click("#route-cancel");
  }, 60_000);

  test("shows the change of another operator, and loses none", async () => {
    // Another operator changes the route while it is open.
    await click("[aria-label='Edit hello']");
    await tab.until("document.querySelector('#route').open && document.querySelector('#route-name').value === 'hello'");
    await api("PUT /internal/api/config/routes/hello", [], "{type: respond, prefix: /hello, body: theirs}");
    await fill("route-body", "mine");
    await click("#route-save");
    await says("changed by another operator");
    expect(await text("/hello")).toBe("theirs");
    await shot("conflict");
    await click("#route-again");
    await tab.until("document.querySelector('#route-body').value === 'theirs'");
    await fill("route-body", "both");
    await click("#route-save");
    await closed();
    expect(await text("/hello")).toBe("both");
  }, 60_000);

  test("sets weights and deletes; each change is an audit line", async () => {
    await api(
      "PUT /internal/api/config/routes/shop",
      [],
      "{type: upstream, prefix: /shop, targets: [{url: http://127.0.0.1:9}, {url: http://127.0.0.1:19, weight: 3}]}",
    );
    await tab.until("document.querySelector(\"[aria-label='Weights of shop']\") !== null");
    await tab.value("(document.querySelector('#editor').scrollIntoView(), 1)");
    await shot("list");
    await click("[aria-label='Weights of shop']");
    await tab.until("document.querySelector('#confirm').open");
    await tab.value("(document.querySelector('#confirm-more input').value = '0', 1)");
    await shot("weights");
    await click("#confirm-yes");
    await closed();
    expect((await api("GET /internal/api/config/routes/shop", ["Accept: application/json"])).text).toContain(
      '"weight":0',
    );
    await click("[aria-label='Delete shop']");
    await tab.until("document.querySelector('#confirm').open");
    await click("#confirm-yes");
    await closed();
    await eventually(async () => expect((await rows()).join()).not.toContain("shop"));
    const audits = gateway.logs.json.filter(
      ({ event, action }) => event === "audit" && String(action).startsWith("route_"),
    );
    expect(audits.map(({ action, ok, by }) => `${action} ${ok} ${by}`)).toEqual([
      "route_put true token",
      "route_put false token",
      "route_put true token",
      "route_put true token",
      "route_put true token",
      "route_weights true token",
      "route_delete true token",
    ]);
    expect(await tab.value("window.xss ?? 0")).toBe(0);
    // Refusals are the only lines of the console: 422 and 412.
    expect(tab.console.filter((line) => !/4(?:12|22)/.test(line))).toEqual([]);
  }, 90_000);

  test("a page of another origin, and a form, change nothing", async () => {
    const put = "PUT /internal/api/config/routes/csrf";
    const body = "{type: respond, prefix: /csrf, body: x}";
    const statuses = [];
    for (const fields of [
      ["Origin: https://evil.example", "Content-Type: application/yaml"],
      ["Sec-Fetch-Site: cross-site", "Content-Type: application/json"],
      ["Origin: http://localhost", "Content-Type: text/plain"],
    ])
      statuses.push((await api(put, fields, body)).status);
    expect(statuses).toEqual([403, 403, 415]);
    expect(await text("/csrf")).toBe("404");
  });
});
