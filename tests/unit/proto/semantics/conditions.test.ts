import { afterAll, describe, expect, test } from "bun:test";
import { utimesSync } from "node:fs";
import { httpDateText } from "../../../../src/proto/semantics/http-date.ts";
import vectors from "../../../vectors/files/conditions.json";
import { ask, type Fields, get, NOW_MS, TestSite } from "../../features/files/test-site.ts";

const LARGE_BYTES = 300_000;
const site = new TestSite();
afterAll(() => site.dispose());
site.write("ten", "0123456789");
site.write("large", Buffer.alloc(LARGE_BYTES, "0123456789"));

/** Puts the file's validators where a vector names them. */
function filled(fields: (typeof vectors.rows)[number]["fields"], path: string): [string, string][] {
  const sink = ask(site.mount(), "HEAD", path);
  const tag = sink.field("ETag")!;
  const seconds = NOW_MS / 1000 - 3600;
  expect(sink.field("Last-Modified")).toBe(httpDateText(seconds));
  const list = Array.isArray(fields) ? (fields as [string, string][]) : Object.entries(fields);
  return list.map(([name, value]) => [
    name,
    value!
      .replace("$TAG", tag)
      .replace("$BARE", tag.slice(1, -1))
      .replace("$DATE", httpDateText(seconds))
      .replace("$BEFORE", httpDateText(seconds - 1))
      .replace("$AFTER", httpDateText(seconds + 1)),
  ]);
}

for (const path of ["/ten", "/large"]) {
  describe(`conditions on ${path}`, () => {
    for (const row of vectors.rows) {
      test(row.name, () => {
        const method = row.method ?? "GET";
        const sink = ask(site.mount(), method, path, filled(row.fields, path));
        expect(sink.status).toBe(row.status);
        expect(sink.ended).toBe(true);
        const size = path === "/ten" ? 10 : LARGE_BYTES;
        if (method === "HEAD" || row.status === 304) expect(sink.text).toBe("");
        else if (row.body !== undefined) expect(sink.text).toBe(row.body);
        else if (row.status === 200) expect(sink.sent.length).toBe(size);
        if (row.status === 200) expect(sink.length).toBe(size);
      });
    }
  });
}

describe("partial answers", () => {
  for (const [path, size] of [
    ["/ten", 10],
    ["/large", LARGE_BYTES],
  ] as const) {
    test(`the fields of a 206 on ${path}`, () => {
      const sink = get(site.mount({ cacheControl: "no-store" }), path, { Range: "bytes=2-4" });
      expect([sink.status, sink.length, sink.text]).toEqual([206, 3, "234"]);
      expect(sink.field("Content-Range")).toBe(`bytes 2-4/${size}`);
      for (const name of ["ETag", "Last-Modified", "Content-Type", "Cache-Control", "X-Content-Type-Options"]) {
        expect(sink.field(name)).not.toBeNull();
      }
    });

    test(`a suffix of ${path}`, () => {
      const sink = get(site.mount(), path, { Range: "bytes=-4" });
      expect([sink.status, sink.text]).toEqual([206, "6789"]);
      expect(sink.field("Content-Range")).toBe(`bytes ${size - 4}-${size - 1}/${size}`);
    });

    test(`416 on ${path}`, () => {
      const sink = get(site.mount(), path, { Range: `bytes=${size}-` });
      expect([sink.status, sink.field("Content-Range")]).toEqual([416, `bytes */${size}`]);
      expect(sink.field("ETag")).toBeNull();
    });

    test(`several ranges of ${path} get the whole`, () => {
      const sink = get(site.mount(), path, { Range: "bytes=0-1,4-5" });
      expect([sink.status, sink.sent.length]).toEqual([200, size]);
    });
  }

  test("a range over several pieces", () => {
    const sink = get(site.mount(), "/large", { Range: "bytes=5-262150" });
    expect(sink.sent.equals(Buffer.alloc(LARGE_BYTES, "0123456789").subarray(5, 262151))).toBe(true);
    expect(sink.pieces).toBeGreaterThan(1);
  });
});

describe("validators", () => {
  test("a 304 has tag, Vary and Cache-Control and nothing of the content", () => {
    site.write("v.txt", "v");
    site.write("v.txt.br", "w");
    const handler = site.mount({ cacheControl: "no-cache" });
    const tag = get(handler, "/v.txt").field("ETag")!;
    const sink = get(handler, "/v.txt", { "If-None-Match": tag });
    expect(sink.fields).toEqual([
      ["ETag", tag],
      ["Vary", "Accept-Encoding"],
      ["Cache-Control", "no-cache"],
    ]);
    expect([sink.length, sink.withoutBody]).toEqual([-1, true]);
  });

  test("a change of content, of time or of file changes the tag", () => {
    const tags = new Set<string>();
    const note = () => tags.add(get(site.mount(), "/t.txt").field("ETag")!);
    const path = site.write("t.txt", "one");
    note();
    site.write("t.txt", "two!");
    note();
    utimesSync(path, NOW_MS / 1000 - 50.5, NOW_MS / 1000 - 50.5);
    note();
    utimesSync(path, NOW_MS / 1000 - 50.25, NOW_MS / 1000 - 50.25);
    note();
    expect(tags.size).toBe(4);
  });

  test("a time in the future is not sent", () => {
    site.write("future.txt", "x", -86_400);
    const sink = get(site.mount(), "/future.txt");
    expect(sink.field("Last-Modified")).toBe(httpDateText(NOW_MS / 1000));
  });

  test("a date within the last second is too weak for If-Range", () => {
    site.write("fresh.txt", "0123", 0);
    const fields = (): Fields => ({ "If-Range": httpDateText(NOW_MS / 1000), Range: "bytes=0-1" });
    expect(get(site.mount(), "/fresh.txt", fields()).status).toBe(200);
    site.wait(1000);
    expect(get(site.mount(), "/fresh.txt", fields()).status).toBe(206);
  });
});
