import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { faultRow } from "../../../../src/core/fault-rows.ts";
import type { FileHandler } from "../../../../src/features/files/file-handler.ts";
import pathVectors from "../../../vectors/files/paths.json";
import type { FakeSink } from "./fake-sink.ts";
import { ask, get, TestSite, trial } from "./test-site.ts";

function faultLabel(sink: FakeSink): string | null {
  return sink.fault === null ? null : faultRow(sink.fault).label;
}

describe("paths on a mount", () => {
  const site = new TestSite();
  let handler: FileHandler;

  beforeAll(() => {
    for (const name of ["a.txt", "app.js", "a b.txt", "100%.txt", "a;b.txt", "a\\b.txt", "docs/index.html"]) {
      site.write(name, name);
    }
    for (const name of [".env", ".git/config", ".well-known/security.txt", "docs/.hidden/x.txt", "..x", "x..y"]) {
      site.write(name, name);
    }
    site.write("empty/file", "");
    site.write("grüße.txt", "umlaut");
    writeFileSync(Buffer.concat([Buffer.from(`${site.dir}/`), Buffer.from([0xff])]), "raw");
    handler = site.mount({ prefix: "/static" });
  });
  afterAll(() => site.dispose());

  for (const row of pathVectors.rows) {
    // The second time the answer may come from the cache: it must be the same.
    for (const time of ["first", "second"]) {
      test(`${row.name}, ${time} time`, () => {
        const target = row.target.replace("LONG_NAME", "x".repeat(300)).replace("LONG_PATH", "x/".repeat(3000));
        const { ex, sink } = trial("GET", target, {}, row.canonical);
        handler.handle(ex);
        expect(faultLabel(sink)).toBe(row.fault ?? null);
        if (row.status !== undefined) expect(sink.status).toBe(row.status);
        if (row.body !== undefined) expect(sink.text).toBe(row.body);
        if (row.location !== undefined) expect(sink.field("Location")).toBe(row.location);
        expect(sink.ended).toBe(row.fault === undefined);
      });
    }
  }
});

describe("answers", () => {
  const site = new TestSite();
  afterAll(() => site.dispose());
  site.write("app.js", "js");
  site.write("empty.txt", "");
  site.write("dir/index.html", "index");

  test("a file has its fields", () => {
    const sink = get(site.mount(), "/app.js");
    expect(sink.status).toBe(200);
    expect(sink.field("Content-Type")).toBe("application/javascript");
    expect(sink.field("X-Content-Type-Options")).toBe("nosniff");
    expect(sink.field("ETag")).toMatch(/^"[0-9a-f]+"$/);
    expect(sink.field("Last-Modified")).toBe("Mon, 01 Jun 2026 11:00:00 GMT");
    expect(sink.field("Accept-Ranges")).toBe("bytes");
    expect(sink.field("Cache-Control")).toBeNull();
    expect(sink.field("Vary")).toBeNull();
    expect(sink.field("Content-Encoding")).toBeNull();
    expect(sink.length).toBe(2);
    expect(sink.text).toBe("js");
  });

  test("text has a charset", () => {
    expect(get(site.mount(), "/dir/").field("Content-Type")).toBe("text/html; charset=utf-8");
  });

  test("cache_control is sent with files and not with redirects", () => {
    const handler = site.mount({ cacheControl: "public, max-age=60" });
    expect(get(handler, "/app.js").field("Cache-Control")).toBe("public, max-age=60");
    expect(get(handler, "/dir").field("Cache-Control")).toBeNull();
    expect(get(handler, "/nope").field("Cache-Control")).toBeNull();
  });

  test("an empty file", () => {
    const sink = get(site.mount(), "/empty.txt");
    expect([sink.status, sink.length, sink.text, sink.ended]).toEqual([200, 0, "", true]);
  });

  test("HEAD says the same without a body", () => {
    const [head, full] = [ask(site.mount(), "HEAD", "/app.js"), get(site.mount(), "/app.js")];
    expect(head.fields).toEqual(full.fields);
    expect([head.status, head.length, head.text, head.ended]).toEqual([200, 2, "", true]);
  });

  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"]) {
    test(`${method} is refused, file or no file`, () => {
      for (const target of ["/app.js", "/nope", "/%00"]) {
        const { ex, sink } = trial(method, target);
        site.mount().handle(ex);
        expect(faultLabel(sink)).toBe("method_not_allowed");
        expect(ex.detail).toBe("GET, HEAD");
      }
    });
  }

  test("404 has the house's JSON and no path", () => {
    const sink = get(site.mount(), "/nope");
    expect(sink.field("Content-Type")).toBe("application/json");
    expect(JSON.parse(sink.text)).toEqual({ error: "404 Not Found", message: "no such file" });
  });

  test("two mounts of one cache do not mix", () => {
    const other = new TestSite();
    other.write("app.js", "other");
    const [one, two] = [site.mount(), site.mount({ dir: other.dir })];
    expect(get(one, "/app.js").text).toBe("js");
    expect(get(two, "/app.js").text).toBe("other");
    expect(get(one, "/app.js").text).toBe("js");
    other.dispose();
  });

  test("an exact route serves the file of its whole path", () => {
    expect(get(site.mount({ prefix: "" }), "/app.js").text).toBe("js");
  });

  test("a root directory that appears later is served then", () => {
    const dir = `${site.dir}/later`;
    const handler = site.mount({ dir });
    expect(get(handler, "/x.txt").status).toBe(404);
    site.write("later/x.txt", "now");
    expect(get(handler, "/x.txt").text).toBe("now");
  });

  for (const prefix of ["/größe", "/gr%C3%B6%c3%9fe", "/größe/"]) {
    test(`a mount at ${prefix}`, () => {
      const handler = site.mount({ prefix });
      expect(get(handler, "/gr%C3%B6%C3%9Fe/app.js").text).toBe("js");
      expect(get(handler, "/gr%C3%B6%C3%9Fe").field("Location")).toBe("/gr%C3%B6%C3%9Fe/");
    });
  }
});

describe("redirects stay on this host", () => {
  const site = new TestSite();
  afterAll(() => site.dispose());
  site.write("evil.test/x/index.html", "");
  site.write("\\evil.test/index.html", "");
  test("/\\evil.test, which is /evil.test in canonical form", () => {
    const { ex, sink } = trial("GET", "/\\evil.test");
    site.mount().handle(ex);
    expect([sink.status, sink.field("Location")]).toEqual([301, "/evil.test/"]);
  });
  site.write("a\r\nSet-Cookie: b=c/index.html", "");

  for (const [target, location] of [
    ["//evil.test", "/evil.test/"],
    ["///evil.test/x", "/evil.test/x/"],
    ["/%2fevil.test", "/evil.test/"],
    ["/%5cevil.test", "/%5Cevil.test/"],
    ["/a%0d%0aSet-Cookie:%20b=c", "/a%0D%0ASet-Cookie:%20b=c/"],
  ] as const) {
    for (const canonical of [undefined, target]) {
      test(`${target}${canonical === undefined ? "" : ", not canonicalised"}`, () => {
        const { ex, sink } = trial("GET", target, {}, canonical);
        site.mount().handle(ex);
        expect([sink.status, sink.field("Location"), sink.length]).toEqual([301, location, 0]);
      });
    }
  }
});
