import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { loadgen } from "../harness/load-run.ts";
import { request } from "../harness/raw-client.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";

if (CHROMIUM === null) console.log("skipped: docs/dashboard.md in a browser needs chromium");

/** A folder to put screenshots in, to be looked at. */
const SHOTS = process.env.EDGE_SCREENSHOTS;
const MAX_TRANSFER_BYTES = 150_000;
/** What would run where a text became markup. */
const HOSTILE = [
  "<img src=x onerror=window.xss=1>",
  "<script>window.xss=1</script>",
  "\"'><svg onload=window.xss=1>",
  "javascript:window.xss=1",
  "{{constructor.constructor('window.xss=1')()}}",
];
/** The name of a file, which may be that of a module. */
const ODD_MODULE = "\"'<img src=x onerror=window.xss=1>\u202e.ts";
/** The cell of a row that begins with this name, in the column with this head. */
const cell = (place: string, name: string, head: string) => `(() => {
  const table = document.querySelector("#${place} table");
  const at = [...table.tHead.rows[0].cells].findIndex((one) => one.textContent === ${JSON.stringify(head)});
  return [...table.tBodies[0].rows].find((row) => row.querySelector("th").textContent === ${JSON.stringify(name)})?.cells[at].textContent;
})()`;

describe.skipIf(CHROMIUM === null)("the dashboard, in a browser", () => {
  const origin = EchoOrigin.start();
  const options = {
    port: freePort(),
    config: {
      server: {
        workers: 2,
        access_log: { enabled: true },
        cache: { enabled: true, cookies: "bypass" },
        waf: { enabled: true, mode: "enforce" },
      },
    },
    routes: [
      upstream("/shop", origin, { cache: false }),
      upstream("/api", origin, { cache: false, hooks: "./hooks/api.ts" }),
      { type: "function", prefix: "/fn", module: `./functions/${ODD_MODULE}`, cache: false },
    ],
    files: {
      "hooks/api.ts": "export default { onRequest() {} };\n",
      [`functions/${ODD_MODULE}`]:
        "export default { fetch(request) { if (request.url.endsWith('/exit')) process.exit(); if (request.url.endsWith('/throw')) throw new Error('x'); return new Response('ok'); } };\n",
    },
  };
  const page = `http://127.0.0.1:${options.port}/internal/`;
  let gateway: Gateway;
  let tab: BrowserTab;

  beforeAll(async () => {
    gateway = await startGateway(options);
    tab = await BrowserTab.open();
  }, 60_000);

  afterAll(async () => {
    await tab?.close();
    await gateway?.stop();
    origin.stop();
  });

  async function open(query = ""): Promise<void> {
    tab.console.length = 0;
    await tab.go("about:blank");
    await tab.go(`${page}${query}`);
    await tab.until("document.body?.classList.contains('drawn')");
  }

  async function press(key: string, modifiers = 0): Promise<void> {
    const text = key === "Enter" ? { text: "\r" } : {};
    const code = { Tab: 9, Enter: 13, Escape: 27, ArrowLeft: 37 }[key];
    const what = { key, code: key, windowsVirtualKeyCode: code, modifiers, ...text };
    await tab.call("Input.dispatchKeyEvent", { type: "keyDown", ...what });
    await tab.call("Input.dispatchKeyEvent", { type: "keyUp", ...what });
  }

  /** Moves with the Tab key until this element has the focus. */
  async function tabTo(selector: string): Promise<void> {
    for (let i = 0; i < 80; i++) {
      if (await tab.value<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return;
      await press("Tab");
    }
    throw new Error(`the Tab key does not lead to ${selector}`);
  }

  async function shot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    writeFileSync(`${SHOTS}/${name}.png`, await tab.screenshot());
  }

  test("is one small file, and its policy has no violation", async () => {
    await open();
    await tab.until("document.querySelector('#connection').textContent === 'Live'");
    const transfers = await tab.value<{ name: string; bytes: number }[]>(
      "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).map(({ name, transferSize }) => ({ name, bytes: transferSize }))",
    );
    expect(transfers.filter(({ name }) => !name.startsWith(page))).toEqual([]);
    const all = transfers.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(all).toBeLessThan(MAX_TRANSFER_BYTES);
    const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
    await tab.until(paint);
    console.log(`dashboard: ${all} bytes, first paint after ${Math.round(await tab.value<number>(paint))} ms`);
    const reply = await gateway.once(request("GET /internal/"));
    const policy = reply.fields.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain("unsafe");
    expect(tab.console).toEqual([]);
  }, 60_000);

  test("shows the counts of /metrics and of the load generator", async () => {
    await open();
    const { report } = await loadgen(`http://127.0.0.1:${options.port}/shop/echo`, [
      "-d",
      "3s",
      "-rate",
      "300",
      "-a",
      "0",
    ]);
    const counted = await gateway.metric("gateway_requests_total", { path: "/shop" });
    const shown = async () =>
      Number((await tab.value<string>(cell("routes", "/shop", "Since start"))).replaceAll(",", ""));
    await eventually(async () => expect(await shown()).toBe(counted), 20_000);
    const asked = report.benign_stream.total_requests;
    expect(asked).toBeGreaterThan(500);
    expect(Math.abs(counted - asked)).toBeLessThanOrEqual(asked / 100);
    await tab.until(`Number(${cell("routes", "/shop", "p99")}.replace(/[^0-9.]/g, "")) > 0`);
    expect(tab.console).toEqual([]);
  }, 90_000);

  test("filters, order and time survive a reload", async () => {
    await open();
    await tab.value(`(() => {
      const type = (id, value) => { const field = document.getElementById(id); field.value = value; field.dispatchEvent(new Event("input")); field.dispatchEvent(new Event("change")); };
      type("route-filter", "shop"); type("log-text", "echo"); type("log-status", "2"); type("log-slow", "0");
      [...document.querySelectorAll("#routes thead button")].find((one) => one.textContent === "p99").click();
      [...document.querySelectorAll("#window button")].find((one) => one.textContent === "15 min").click();
    })()`);
    await tab.call("Page.reload");
    await tab.until(
      "document.body?.classList.contains('drawn') && document.getElementById('route-filter').value === 'shop'",
    );
    expect(await tab.value<string>("new URLSearchParams(location.search).toString()")).toBe(
      "route=shop&text=echo&status=2&slow=0&sort=p99&window=15",
    );
    expect(await tab.value<string>("document.querySelector('#routes [aria-sort]').textContent")).toBe("p99");
    expect(await tab.value<string>("document.querySelector('#window [aria-pressed=true]').textContent")).toBe("15 min");
    expect(await tab.value<string>("document.getElementById('log-status').value")).toBe("2");
    const labels = "[...document.querySelectorAll('#routes tbody th')].map((one) => one.textContent)";
    expect(await tab.value<string[]>(labels)).toEqual(["/shop"]);
  }, 60_000);

  test("what clients send stays text", async () => {
    await open();
    for (const text of HOSTILE) {
      await gateway.once(
        request(`GET /shop/${text.replaceAll(" ", "/")}?q=1'%20OR%20'1'='1`, [`User-Agent: ${text}`, "Host: gw.test"]),
      );
      await gateway.once(request(`GET /shop/${encodeURIComponent(text)}`, [`User-Agent: ${text}`]));
    }

    await tab.until(
      "document.querySelector('#attackers tbody tr') && document.querySelectorAll('#hits tbody tr').length > 2",
    );
    await tab.until("document.getElementById('tail').textContent.includes('onerror=window.xss=1')");
    const elements =
      "document.querySelectorAll('main img, main script, main iframe, main object, main [onerror], main [onload]').length";
    expect(await tab.value<number>(elements)).toBe(0);
    expect(await tab.value<boolean>("window.xss === undefined")).toBe(true);
    expect(await tab.value<string>("document.querySelector('#hits code').textContent")).toMatch(
      /^- \{rule: [A-Z]+-\d+, path: "\//,
    );
    expect(tab.console).toEqual([]);
  }, 60_000);

  test("modules of functions and hooks have rows, and their names are text", async () => {
    await open();
    const shown = (name: string, head: string) => tab.value<string>(cell("modules", name, head));
    const odd = ODD_MODULE.replace("\u202e", "\ufffd");
    await gateway.once(request("GET /fn/throw"));
    await gateway.once(request("GET /fn/exit"));
    await eventually(async () => {
      for (const path of ["/fn/x", "/fn/x", "/fn/throw", "/api/x"]) await gateway.once(request(`GET ${path}`));
      expect(Number(await shown(odd, "Calls/s"))).toBeGreaterThan(0);
      expect(await shown(odd, "Failed")).toMatch(/^[1-9][\d.]* %$/);
      expect(await shown(odd, "p99")).toMatch(/ ms$/);
      expect([await shown(odd, "Restarts"), await shown(odd, "Waiting")]).toEqual(["1", "0"]);
      expect(await shown("api.ts", "p99")).toMatch(/ ms$/);
    }, 20_000);
    await tab.until("document.getElementById('functions-say').textContent === 'All 2 modules have their threads.'");
    expect(await tab.value<number>("document.querySelectorAll('main img').length")).toBe(0);
    expect(await tab.value<boolean>("window.xss === undefined")).toBe(true);
    expect(tab.console).toEqual([]);
  }, 60_000);

  test("an action is done with the keyboard alone, after a question", async () => {
    await open();
    const generation = () => tab.value<string>("document.getElementById('facts').textContent");
    expect(await generation()).toEndWith("generation 1");
    await tabTo("#open-actions");
    await press("Enter");
    await tab.until("document.getElementById('actions').open");
    await tabTo("#action-list button");
    await press("Enter");
    await tab.until("document.getElementById('confirm').open");
    await shot("confirm");
    expect(await tab.value<string>("document.activeElement.id")).toBe("confirm-no");
    await press("Enter");
    await tab.until("!document.getElementById('confirm').open");
    expect(gateway.logs.json.filter(({ event }) => event === "config_reload")).toEqual([]);
    await press("Enter");
    await tab.until("document.getElementById('confirm').open");
    await tabTo("#confirm-yes");
    await press("Enter");
    await tab.until("document.getElementById('toast').textContent === 'Reloaded: generation 2 is in use.'");
    await tab.until("document.getElementById('facts').textContent.endsWith('generation 2')");
    await press("Escape");
    await tab.until("!document.getElementById('actions').open && document.activeElement.id === 'open-actions'");
    await tab.until("document.querySelector('#changes').textContent.includes('Configuration reloaded')");
  }, 60_000);

  test("a target is drained and used again", async () => {
    await open();
    const press = (id: string) => tab.value(`document.querySelector(${JSON.stringify(id)}).click()`);
    for (const state of ["drained", "in use"]) {
      await press("#targets button");
      await tab.until("document.getElementById('confirm').open");
      await press("#confirm-yes");
      await tab.until(`document.querySelector("#targets .badge").textContent === "${state}"`);
    }
    expect(gateway.logs.json.filter(({ event }) => event === "audit").map(({ action }) => action)).toEqual(
      expect.arrayContaining(["reload", "drain", "undrain"]),
    );
  }, 60_000);

  test("a purge is done and told of; what cannot be done says why", async () => {
    await open();
    const click = (selector: string) => tab.value(`document.querySelector(${JSON.stringify(selector)}).click()`);
    await click("#open-actions");
    await click("#action-list fieldset:nth-child(3) button");
    await click("#confirm-yes");
    await tab.until("document.getElementById('toast').textContent === 'Purged: 0 responses.'");
    await tab.until("document.getElementById('timeline').textContent.includes('Operator: purge')");
    const file = `${gateway.folder}/routes.yaml`;
    const before = readFileSync(file);
    writeFileSync(file, "- {type: nonsense}\n");
    await click("#action-list fieldset:nth-child(1) button");
    await click("#confirm-yes");
    await tab.until("document.getElementById('confirm-fault').textContent.includes('routes.yaml:1')");
    expect(await tab.value<boolean>("document.getElementById('confirm').open")).toBe(true);
    writeFileSync(file, before);
    await click("#confirm-yes");
    await tab.until("document.getElementById('toast').textContent.startsWith('Reloaded')");
  }, 60_000);

  test("assistive technology finds landmarks, names, and charts in words", async () => {
    await open();
    await tab.until("document.querySelector('.chart svg').getAttribute('aria-label').includes('on average')");
    const found = await tab.accessible();
    const named = (role: string) => found.filter((node) => node.role === role).map(({ name }) => name);
    expect(named("RootWebArea")).toEqual([expect.stringMatching(/^edge · /)]);
    expect([named("banner").length, named("main").length]).toEqual([1, 1]);
    expect(named("navigation")).toEqual(["Sections"]);
    const sections = [
      "Overview",
      "Routes",
      "Upstreams",
      "Functions",
      "Attacks",
      "Changes",
      "System",
      "Requests",
      "Configuration",
    ];
    expect(named("region")).toEqual(expect.arrayContaining(sections));
    expect(named("heading")).toEqual(expect.arrayContaining([...sections, "Requests a second", "Latency", "Workers"]));
    expect(named("columnheader")).toEqual(
      expect.arrayContaining(["Route", "p99", "Target", "State", "Line that excludes it"]),
    );
    expect(named("button")).toEqual(expect.arrayContaining(["Actions", "5 min", `Drain ${origin.url}`, "Pause"]));
    expect(named("searchbox")).toEqual(expect.arrayContaining(["Filter routes", "Text in the request"]));
    const charts = found.filter(
      ({ role, name }) => (role === "image" || role === "img") && name.includes("on average"),
    );
    expect(charts.map(({ name }) => name.split(".")[0])).toEqual(["Requests a second", "Latency"]);
    // A live region that says each number would never be silent.
    expect(
      await tab.value<number>("document.querySelectorAll('main [aria-live], main [role=status], main output').length"),
    ).toBe(0);
  }, 60_000);

  test("fits 400, 800 and 1440 pixels, light and dark", async () => {
    await open();
    for (const [scheme, width] of [
      ["light", 1440],
      ["light", 800],
      ["light", 400],
      ["dark", 1440],
      ["dark", 400],
    ] as const) {
      await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 };
      await tab.call("Emulation.setDeviceMetricsOverride", size);
      await shot(`${scheme}-${width}`);
      await tab.value("document.getElementById('functions').scrollIntoView()");
      await shot(`functions-${scheme}-${width}`);
      await tab.value("scrollTo(0, 0)");
      expect(await tab.value<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      const ground = await tab.value<string>("getComputedStyle(document.body).backgroundColor");
      const [light] = /\d+/.exec(ground)!;
      expect(Number(light) > 128).toBe(scheme === "light");
    }
    await tab.call("Emulation.clearDeviceMetricsOverride");
    await tab.call("Emulation.setEmulatedMedia", { features: [] });
  }, 60_000);

  test("says when the gateway is away, and goes on by itself when it is back", async () => {
    await open();
    await gateway.stop();
    await tab.until("document.getElementById('connection').textContent === 'Reconnecting'");
    await tab.until("document.querySelector('.answer strong').textContent === 'No connection'");
    gateway = await startGateway(options);
    await tab.until("document.getElementById('connection').textContent === 'Live'", 30_000);
    await tab.until("document.getElementById('facts').textContent.endsWith('generation 1')");
  }, 90_000);

  test("asks for the token where there is one, and shows the configuration without it", async () => {
    const locked = await startGateway({
      ...options,
      port: freePort(),
      config: { internal_api: { token: "open-sesame-17" } },
    });
    await tab.go(`http://127.0.0.1:${locked.port}/internal/`);
    await tab.until("document.getElementById('login')?.open");
    const give = (token: string) =>
      tab.value(
        `document.getElementById("token").value = "${token}"; document.getElementById("login-form").requestSubmit();`,
      );
    await give("wrong");
    await tab.until("!document.getElementById('login-fault').hidden");
    await give("open-sesame-17");
    await tab.until(
      "document.getElementById('connection').textContent === 'Live' && !document.getElementById('login').open",
    );
    await tab.value("document.getElementById('config-load').click()");
    await tab.until("document.getElementById('config').textContent.includes('internal_api:')");
    expect(await tab.value<string>("document.getElementById('config').textContent")).not.toContain("open-sesame-17");
    await locked.stop();
  }, 60_000);
});
