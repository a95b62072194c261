// docs/internals/tools.md#documentation: the site that scripts/docs makes, served by the gateway, under a policy that lets in nothing from elsewhere.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SearchEntry, SearchIndex } from "../../src/cli/help/search/search-index.ts";
import { VERSION } from "../../src/core/version.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";
import { BrowserTab, CHROMIUM } from "./devtools.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-docs-"));
const versions = join(folder, "versions");
const site = join(versions, VERSION);
/** The release before, with one page. */
const OLD = "0.9.0";
let gateway: Gateway;
let pages: readonly string[] = [];

beforeAll(async () => {
  for (const name of ["0.8.0", OLD, "notes"]) {
    mkdirSync(join(versions, name), { recursive: true });
    writeFileSync(join(versions, name, "index.html"), `<title>${name}</title>`);
  }
  const command = [join(import.meta.dir, "../../scripts/docs"), "--versions", "--out", versions];
  const made = await runProcess(command, { timeout: 60_000 });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  pages = readdirSync(site).filter((name) => name.endsWith(".html"));
  const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:";
  gateway = await startGateway({
    routes: [
      {
        type: "static",
        prefix: "/docs",
        dir: versions,
        headers: { response: { set: { "Content-Security-Policy": policy } } },
      },
    ],
  });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("has a page for each file of docs, with one heading over it and every anchor once", () => {
  expect(pages.length).toBeGreaterThan(40);
  for (const name of pages) {
    const html = readFileSync(join(site, name), "utf8");
    expect([name, html.match(/<h1/g)?.length]).toEqual([name, 1]);
    const anchors = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect([name, anchors.filter((id, i) => anchors.indexOf(id) !== i)]).toEqual([name, []]);
  }
});

test("leads nowhere that is not there, and takes nothing from elsewhere", async () => {
  const wrong: string[] = [];
  const files = new Set(readdirSync(site));
  const texts = new Map(pages.map((name) => [name, readFileSync(join(site, name), "utf8")]));
  const anchors = new Map(
    [...texts].map(([name, html]) => [name, new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))]),
  );
  for (const [name, html] of texts) {
    for (const [, what, link] of html.matchAll(/<(?:a|img|script|link)[^>]*? (href|src)="([^"]*)"/g)) {
      const [path = "", anchor] = link!.split("#");
      if (what === "href" && /^https?:/.test(path)) continue;
      if (path === "data:,") continue;
      const target = path === "" ? name : path;
      const isThere = files.has(target) && (anchor === undefined || anchors.get(target)?.has(anchor) === true);
      if (!isThere) wrong.push(`${name}: ${link}`);
    }
  }
  expect(wrong).toEqual([]);
}, 30_000);

test("its search has pages of docs before the changelog, by what operators type", () => {
  const { entries, subjects } = JSON.parse(
    readFileSync(join(site, "search-index.js"), "utf8").replace(/^globalThis\.SEARCH_INDEX = |;\n$/g, ""),
  );
  const index = new SearchIndex<SearchEntry & { place: string }>(entries, subjects);
  const wanted = [
    ["gzip", "compression.html"],
    ["502", "troubleshooting.html#debug-a-502"],
    ["migrate from nginx", "migrate-nginx.html"],
    ["node app", "jobs.html#proxy-below-a-prefix"],
    ["sse", "recipes.html#server-sent-events"],
    ["next.js", "jobs.html#proxy-below-a-prefix"],
    ["cloudflare", "security.html#client-addresses"],
    ["soft purge", "cache.html#soft-purge"],
  ];
  expect(wanted.map(([words]) => [words, index.find(words!, 1)[0]?.entry.place])).toEqual(wanted);
});

test("has a folder for each version, the newest release as latest, and a list of them", () => {
  const list: { name: string; pages: string[] }[] = JSON.parse(
    readFileSync(join(versions, "versions.js"), "utf8").replace(/^globalThis\.SITE_VERSIONS = |;\n$/g, ""),
  );
  const isRelease = !VERSION.includes("-");
  expect(list.map(({ name }) => name)).toEqual(isRelease ? [VERSION, OLD, "0.8.0"] : [OLD, "0.8.0", VERSION]);
  expect(list.find(({ name }) => name === VERSION)!.pages).toContain("cache.html");
  expect(readFileSync(join(versions, "index.html"), "utf8")).toContain('url=latest/index.html"');
});

test("has charts of the tables of comparison and proof, drawn in the page", () => {
  const html = readFileSync(join(site, "benchmarks.html"), "utf8");
  expect(html.match(/<figure/g)?.length).toBeGreaterThan(20);
  expect(html).toContain('<rect class="own" width="100.0%" height="14" rx="2"/></svg><span>30</span>');
  expect(html).not.toMatch(/<img|https?:|NaN/);
});

if (CHROMIUM === null) console.log("skipped: the site in a browser needs chromium (Debian: apt install chromium)");
describe.skipIf(CHROMIUM === null)("in Chromium", () => {
  test("is searched by keyboard, and fits a phone", async () => {
    const tab = await BrowserTab.open(["--window-size=400,800"]);
    try {
      const top = `http://127.0.0.1:${gateway.port}/docs/${VERSION}`;
      await tab.go(`${top}/index.html`);
      await tab.until("document.readyState === 'complete' && !document.getElementById('search').hidden");
      await tab.call("Input.dispatchKeyEvent", { type: "keyDown", key: "/", text: "/" });
      await tab.until("document.activeElement.id === 'search'");
      await tab.call("Input.insertText", { text: "soft purge" });
      await tab.until("document.querySelector('#found a')?.textContent.includes('Soft purge')");
      await tab.value("document.querySelector('#found a').click()");
      await tab.until("location.pathname.endsWith('/cache.html') && location.hash === '#soft-purge'");
      await tab.until("document.readyState === 'complete'");
      for (const name of ["cache.html", "metrics.html", "benchmarks.html", "index.html"]) {
        await tab.go(`${top}/${name}`);
        await tab.until(`location.pathname.endsWith('${name}') && document.readyState === 'complete'`);
        expect(await tab.value<number>("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      }
      await tab.until("document.getElementById('versions').options.length === 3");
      expect(await tab.value<string>("document.querySelector('.older a')?.getAttribute('href') ?? ''")).toBe(
        VERSION.includes("-") ? "../latest/index.html" : "",
      );
      await tab.value(
        `(() => { const choice = document.getElementById("versions"); choice.value = "${OLD}"; choice.dispatchEvent(new Event("change")); })()`,
      );
      await tab.until(`location.pathname.endsWith('/${OLD}/index.html')`);
      expect(tab.console).toEqual([]);
    } finally {
      await tab.close();
    }
  }, 60_000);
});
