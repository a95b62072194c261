import { afterAll, expect, test } from "bun:test";
import { faultRow } from "../../../../src/core/fault-rows.ts";
import vectors from "../../../vectors/files/fallbacks.json";
import { ask, get, TestSite } from "./test-site.ts";

const site = new TestSite();
afterAll(() => site.dispose());
site.write("index.html", "shell");
site.write("404.html", "lost");
site.write("app.js", "js");
site.write("assets/logo.svg", "svg");
site.write("docs/index.html", "docs");
site.write(".env", "secret");
site.writeOutside("secret", "secret");
site.link("out", "../outside/secret");
site.link("outdir", "../outside");

for (const row of vectors.rows) {
  test(row.name, () => {
    const handler = site.mount(row.mount);
    // The second time the fallback may come from the cache: it must be the same.
    for (let time = 0; time < 2; time++) {
      const sink = ask(
        handler,
        row.method ?? "GET",
        row.target,
        row.accept === undefined ? {} : { Accept: row.accept },
      );
      expect(sink.fault === null ? null : faultRow(sink.fault).label).toBe(row.fault ?? null);
      if (row.status !== undefined) expect(sink.status).toBe(row.status);
      if (row.body !== undefined) expect(sink.text).toBe(row.body);
      if (row.cache !== undefined) expect(sink.field("Cache-Control")).toBe(row.cache);
    }
  });
}

test("a single-page answer can be asked for by tag, and in part", () => {
  const handler = site.mount({ spa: true });
  const tag = get(handler, "/x").field("ETag")!;
  const again = get(handler, "/y", { "If-None-Match": tag });
  expect([again.status, again.field("Cache-Control")]).toEqual([304, "no-cache"]);
  expect(get(handler, "/y", { Range: "bytes=1-2" }).text).toBe("he");
});

test("a page for missing files has no validators and takes no conditions", () => {
  const handler = site.mount({ fallback: "404.html" });
  const sink = get(handler, "/x", { "If-None-Match": "*", Range: "bytes=0-1", "If-Match": '"x"' });
  expect([sink.status, sink.text]).toEqual([404, "lost"]);
  for (const name of ["ETag", "Last-Modified", "Accept-Ranges"]) expect(sink.field(name)).toBeNull();
});

test("the fallback may be precompressed", () => {
  site.write("404.html.gz", "zipped");
  site.wait(1000);
  const sink = get(site.mount({ fallback: "404.html" }), "/x", { "Accept-Encoding": "gzip" });
  expect([sink.status, sink.text, sink.field("Content-Encoding")]).toEqual([404, "zipped", "gzip"]);
});
