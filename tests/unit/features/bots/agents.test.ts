import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRAPER_NAMES } from "../../../../src/features/bots/agent-names.ts";
import { AgentReader, anyOf } from "../../../../src/features/bots/agents.ts";
import { FALSE_CRAWLER, SIGNALS } from "../../../../src/features/bots/signals.ts";
import browsers from "../../../vectors/bots/browsers.json";

const reader = new AgentReader(null);
const CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

describe("user agents", () => {
  test("of browsers name an engine, and no scraper or crawler", () => {
    for (const { name, fields } of browsers) {
      const agent = fields.find(([field]) => field === "user-agent")![1]!;
      const { claimsBrowser, hasEngine, isScraper, crawler } = reader.read(agent);
      expect([name, claimsBrowser === hasEngine, isScraper, crawler]).toEqual([name, true, false, null]);
    }
  });

  const RECENT: readonly (readonly [string, boolean])[] = [
    [CHROME, true],
    [CHROME.replace("131", "79"), false],
    ["Mozilla/5.0 (Windows NT 10.0; rv:89.0) Gecko/20100101 Firefox/89.0", false],
    ["Mozilla/5.0 (Windows NT 10.0; rv:90.0) Gecko/20100101 Firefox/90.0", true],
    ["Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.3 Safari/605.1.15", false],
    ["Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.4 Safari/605.1.15", true],
    ["Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.6778.73 Mobile Safari/604.1", false],
    ["curl/8.5.0", false],
  ];
  test.each(RECENT)("%s: sends Sec-Fetch-Mode: %p", (agent, sends) => {
    expect(reader.read(agent).sendsFetchMetadata).toBe(sends);
  });

  test("on the list are found in any case, those that robots.txt alone knows are not", () => {
    for (const name of SCRAPER_NAMES) expect(reader.read(`x ${name.toUpperCase()}/1`).isScraper).toBe(true);
    expect(SCRAPER_NAMES).not.toContain("Google-Extended");
    for (const agent of ["curl/8.5.0", "python-requests/2.31.0", "Go-http-client/2.0", "okhttp/4.12.0", CHROME])
      expect(reader.read(agent).isScraper).toBe(false);
  });

  test("with signs of expressions in names are texts", () => {
    const own = new AgentReader(["a.c(", "[x]*"]);
    expect(own.read("my A.C( bot").isScraper).toBe(true);
    expect(own.read("abc(").isScraper).toBe(false);
    expect(own.read("[X]*").isScraper).toBe(true);
    expect(anyOf([])).toBe(null);
    expect(new AgentReader([]).read("Scrapy").isScraper).toBe(false);
  });

  test("name crawlers as their operators do", () => {
    expect(reader.read("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)").crawler).toBe(
      "googlebot",
    );
    expect(reader.read("Googlebot-Image/1.0").crawler).toBe("googlebot");
    expect(reader.read("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com)").crawler).toBe("slurp");
    expect(reader.read("Mozilla/5.0 (compatible; YandexBot/3.0)").crawler).toBe("yandexbot");
    expect(reader.read(CHROME).crawler).toBe(null);
  });

  test("of whatever length cost little, and are remembered in part", () => {
    const own = new AgentReader(null);
    const began = performance.now();
    for (const part of ["Gecko/ Version/1.1 ", "Gecko/ Firefox/", "SemrushBo PhantomJ Headless ", "Chrome/1 "]) {
      for (let i = 0; i < 500; i++) own.read(`${i} ${part.repeat(1000).slice(0, 8000)}`);
    }
    expect(performance.now() - began).toBeLessThan(1000);
    expect(own.read(`${"x".repeat(512)}Scrapy`)).toBe(own.read(`${"x".repeat(512)}other`));
  });

  test("are remembered, the oldest forgotten first", () => {
    const own = new AgentReader(null);
    const first = own.read("a0");
    for (let i = 1; i < 1024; i++) own.read(`a${i}`);
    expect(own.read("a0")).toBe(first);
    own.read("a1024");
    expect(own.read("a0")).not.toBe(first);
  });
});

test("docs/bots.md says of every signal what it is and why", () => {
  const page = readFileSync(join(import.meta.dir, "../../../../docs/bots.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| .{9,} \| .{9,} \|$/gm)].map(([, name]) => name);
  expect(rows).toEqual([...SIGNALS.map(({ name }) => name), FALSE_CRAWLER]);
});
