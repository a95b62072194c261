import { afterAll, describe, expect, test } from "bun:test";
import { unlinkSync } from "node:fs";
import { ask, get, TestSite } from "./test-site.ts";

const site = new TestSite();
afterAll(() => site.dispose());
site.write("app.js", "plain-plain");
site.write("app.js.br", "br");
site.write("app.js.zst", "zstd");
site.write("app.js.gz", "gzipped");
site.write("alone.js", "alone");
site.write("big.js", Buffer.alloc(200_000, "x"));
site.write("big.js.gz", Buffer.alloc(150_000, "z"));
site.write("dir/index.html", "index");
site.write("dir/index.html.br", "br-index");
site.writeOutside("app.css.br", "secret");
site.write("app.css", "css");
site.link("app.css.br", "../outside/app.css.br");
site.write("odd.js", "odd");
site.write("odd.js.br/file", "");

describe("a file that is in gzip by itself", () => {
  site.write("drawing.svgz", "gzipped svg");
  site.write("UPPER.SVGZ", "gzipped svg");
  site.write("twice.svgz", "gzipped svg");
  site.write("twice.svgz.br", "br of it");

  test.each(["/drawing.svgz", "/UPPER.SVGZ"])("%s says so, whatever the client accepts", (path) => {
    for (const accepts of ["gzip", "identity", "br"]) {
      const sink = get(site.mount(), path, { "Accept-Encoding": accepts });
      expect([sink.status, sink.text, sink.field("Content-Type")]).toEqual([200, "gzipped svg", "image/svg+xml"]);
      expect([sink.field("Content-Encoding"), sink.field("Vary")]).toEqual(["gzip", null]);
    }
  });

  test("its sibling is in both codings", () => {
    const sink = get(site.mount(), "/twice.svgz", { "Accept-Encoding": "br" });
    expect([sink.text, sink.field("Content-Encoding")]).toEqual(["br of it", "gzip, br"]);
  });
});

describe("precompressed siblings", () => {
  for (const [accepts, coding, body] of [
    ["br", "br", "br"],
    ["zstd", "zstd", "zstd"],
    ["gzip", "gzip", "gzipped"],
    ["gzip, br;q=0.5", "gzip", "gzipped"],
    ["gzip, deflate, br, zstd", "br", "br"],
    ["deflate", null, "plain-plain"],
    ["", null, "plain-plain"],
  ] as const) {
    test(`Accept-Encoding: ${accepts}`, () => {
      const handler = site.mount();
      for (let time = 0; time < 2; time++) {
        const sink = get(handler, "/app.js", { "Accept-Encoding": accepts });
        expect([sink.status, sink.text, sink.length]).toEqual([200, body, body.length]);
        expect(sink.field("Content-Encoding")).toBe(coding);
        expect(sink.field("Content-Type")).toBe("application/javascript");
        expect(sink.field("Vary")).toBe("Accept-Encoding");
        expect(sink.wasFixed).toBe(true);
      }
    });
  }

  test("every variant has its own tag, and only its own matches", () => {
    const handler = site.mount();
    const tags = ["br", "zstd", "gzip", "x"].map((accepts) =>
      get(handler, "/app.js", { "Accept-Encoding": accepts }).field("ETag"),
    );
    expect(new Set(tags).size).toBe(4);
    const same = { "Accept-Encoding": "br", "If-None-Match": tags[0]! };
    expect(get(handler, "/app.js", same).status).toBe(304);
    expect(get(handler, "/app.js", { "If-None-Match": tags[0]! }).status).toBe(200);
  });

  test("ranges are of the variant", () => {
    const sink = get(site.mount(), "/app.js", { "Accept-Encoding": "gzip", Range: "bytes=1-3" });
    expect([sink.status, sink.text, sink.field("Content-Range")]).toEqual([206, "zip", "bytes 1-3/7"]);
    expect(sink.field("Content-Encoding")).toBe("gzip");
  });

  test("HEAD", () => {
    const sink = ask(site.mount(), "HEAD", "/app.js", { "Accept-Encoding": "gzip" });
    expect([sink.length, sink.field("Content-Encoding"), sink.text]).toEqual([7, "gzip", ""]);
  });

  test("large variants are streamed", () => {
    const zipped = get(site.mount(), "/big.js", { "Accept-Encoding": "gzip" });
    expect([zipped.sent.length, zipped.field("Content-Encoding")]).toEqual([150_000, "gzip"]);
    const plain = get(site.mount(), "/big.js");
    expect([plain.sent.length, plain.field("Content-Encoding")]).toEqual([200_000, null]);
    expect(plain.field("Vary")).toBe("Accept-Encoding");
  });

  test("an index has siblings too", () => {
    expect(get(site.mount(), "/dir/", { "Accept-Encoding": "br" }).text).toBe("br-index");
  });

  test("a file without siblings does not vary", () => {
    const sink = get(site.mount(), "/alone.js", { "Accept-Encoding": "br" });
    expect([sink.text, sink.field("Vary")]).toEqual(["alone", null]);
  });

  test("a sibling that leads outside, or is no file, is none", () => {
    for (const [path, body] of [
      ["/app.css", "css"],
      ["/odd.js", "odd"],
    ] as const) {
      const sink = get(site.mount(), path, { "Accept-Encoding": "br" });
      expect([sink.text, sink.field("Content-Encoding"), sink.field("Vary")]).toEqual([body, null, null]);
    }
  });

  test("a sibling asked for by name is a file like others", () => {
    const sink = get(site.mount(), "/app.js.gz");
    expect([sink.text, sink.field("Content-Type"), sink.field("Content-Encoding")]).toEqual([
      "gzipped",
      "application/gzip",
      null,
    ]);
  });

  test("siblings that come and go are seen", () => {
    const handler = site.mount();
    expect(get(handler, "/alone.js", { "Accept-Encoding": "zstd" }).text).toBe("alone");
    const path = site.write("alone.js.zst", "zst");
    site.wait(1000);
    expect(get(handler, "/alone.js", { "Accept-Encoding": "zstd" }).text).toBe("zst");
    expect(get(handler, "/alone.js").field("Vary")).toBe("Accept-Encoding");
    unlinkSync(path);
    site.wait(1000);
    expect(get(handler, "/alone.js", { "Accept-Encoding": "zstd" }).text).toBe("alone");
    expect(get(handler, "/alone.js").field("Vary")).toBeNull();
  });
});
