import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { BROWSER_FLAGS } from "./browser-flags.ts";
import { BROWSER_SITE, FILM_SECONDS, silentFilm } from "./browser-site.ts";

const BROWSER = Bun.which("chromium");
if (BROWSER === null) console.log("skipped: a page in a browser needs chromium (Debian: apt install chromium)");

describe.skipIf(BROWSER === null)("a browser opens a deep link of a single-page application", () => {
  const profile = mkdtempSync(join(tmpdir(), "edge-browser-"));
  let gateway: Gateway;
  let browser: Bun.Subprocess;

  beforeAll(async () => {
    gateway = await startGateway({
      config: { server: { access_log: { enabled: true } } },
      routes: [{ type: "static", prefix: "/app", dir: "site", spa: true }],
      files: BROWSER_SITE,
    });
    writeFileSync(join(gateway.folder, "site", "film.wav"), silentFilm());
    browser = Bun.spawn({
      cmd: [
        BROWSER!,
        ...BROWSER_FLAGS,
        `--user-data-dir=${profile}`,
        `http://127.0.0.1:${gateway.port}/app/orders/4711`,
      ],
      stdio: ["ignore", "ignore", "ignore"],
    });
  }, 60_000);

  afterAll(async () => {
    browser.kill("SIGKILL");
    await browser.exited;
    await gateway.stop();
    rmSync(profile, { recursive: true, force: true });
  });

  const saw = async (what: string): Promise<string> => {
    const line = await gateway.logs.until(what, (entry) => pathOf(entry).startsWith(`/app/report/${what}-`), 30_000);
    return pathOf(line).slice("/app/report/".length);
  };

  test("the page, its module and what that imports", async () => {
    expect(await saw("view")).toBe("view-view-of--app-orders-4711");
  }, 60_000);

  test("its style sheet", async () => {
    expect(await saw("style")).toBe("style--1-2-3-");
  }, 60_000);

  test("a missing asset is a 404, not the page again", async () => {
    expect(await saw("missing")).toBe("missing-404");
  }, 60_000);

  test("its data", async () => {
    expect(await saw("data")).toBe("data-42");
  }, 60_000);

  test("a film is played from near its end, by ranges", async () => {
    expect(await saw("film")).toBe(`film-${FILM_SECONDS * 0.9}`);
    await gateway.log("a range", (line) => pathOf(line) === "/app/film.wav" && line.status === 206);
  }, 60_000);
});

function pathOf(line: LogLine): string {
  return typeof line.path === "string" ? line.path : "";
}
