// docs/compression.md#files: files of a static mount, with the cache and without.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { decoded, sampleJson } from "../harness/decoding.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";

const BODY = sampleJson(5000);
const ROUTE = { type: "static", prefix: "/files", dir: "files" };

describe.each([true, false])("files, with the cache: %j", async (isCached) => {
  const gateway = await startGateway({
    config: { server: { compression: {}, cache: { enabled: isCached } } },
    routes: [ROUTE, { ...ROUTE, prefix: "/tagged", headers: { response: { set: { ETag: '"v1"' } } } }],
    files: { "files/none.txt": "" },
  });
  afterAll(() => gateway.stop());
  const folder = join(gateway.folder, "files");
  const get = (path: string, lines: readonly string[]) => gateway.once(request(`GET ${path}`, lines));
  const accepting = (encoding: string) => [`Accept-Encoding: ${encoding}`];
  const hit = isCached ? "HIT" : null;
  const miss = isCached ? "MISS" : null;
  const outcome = ({ status, fields, body }: Reply) => [
    status,
    fields.get("x-cache"),
    fields.get("content-encoding"),
    decoded(fields.get("content-encoding"), body).equals(BODY),
  ];

  test("that are small are compressed once and kept, and follow the disk", async () => {
    writeFileSync(join(folder, "a.json"), BODY);
    const first = await get("/files/a.json", accepting("br"));
    expect(outcome(first)).toEqual([200, miss, "br", true]);
    expect(outcome(await get("/files/a.json", accepting("br")))).toEqual([200, hit, "br", true]);
    expect(first.fields.get("etag")).toStartWith('W/"');
    const condition = await get("/files/a.json", [...accepting("br"), `If-None-Match: ${first.fields.get("etag")}`]);
    expect([condition.status, condition.fields.get("etag")]).toEqual([304, first.fields.get("etag")]);
    writeFileSync(join(folder, "a.json"), sampleJson(6000, 9));
    await eventually(async () => {
      const changed = await get("/files/a.json", accepting("br"));
      expect(decoded("br", changed.body).equals(sampleJson(6000, 9))).toBe(true);
    });
  });

  test("go out plain to clients that take nothing else, and where they are short or of another type", async () => {
    writeFileSync(join(folder, "p.json"), BODY);
    writeFileSync(join(folder, "short.json"), "{}");
    writeFileSync(join(folder, "p.png"), BODY);
    for (const lines of [[], accepting("identity"), accepting("deflate")]) {
      const reply = await get("/files/p.json", lines);
      expect([outcome(reply).slice(2), reply.fields.get("vary")]).toEqual([[null, true], "Accept-Encoding"]);
      expect(reply.fields.get("etag")).toStartWith('"');
    }
    for (const [name, vary] of [
      ["short.json", "Accept-Encoding"],
      ["p.png", null],
    ] as const) {
      const reply = await get(`/files/${name}`, accepting("gzip"));
      expect([reply.status, reply.fields.get("content-encoding"), reply.fields.get("vary")]).toEqual([200, null, vary]);
    }
  });

  test("that lie there compressed win, in an encoding that the client takes", async () => {
    writeFileSync(join(folder, "b.json"), BODY);
    writeFileSync(join(folder, "b.json.gz"), gzipSync(BODY));
    const both = await get("/files/b.json", accepting("zstd, br, gzip"));
    expect([outcome(both)[2], both.body.equals(gzipSync(BODY)), both.fields.get("etag")?.startsWith('"')]).toEqual([
      "gzip",
      true,
      true,
    ]);
    expect(outcome(await get("/files/b.json", accepting("br")))[2]).toBe("br");
  });

  test("ranges are those of the file", async () => {
    writeFileSync(join(folder, "c.json"), BODY);
    await get("/files/c.json", accepting("gzip"));
    const part = await get("/files/c.json", [...accepting("gzip"), "Range: bytes=10-19"]);
    expect([part.status, part.body.equals(BODY.subarray(10, 20)), part.fields.get("vary")]).toEqual([
      206,
      true,
      "Accept-Encoding",
    ]);
  });

  test("that are large are compressed as they are read", async () => {
    for (const size of [200_000, 3_000_000]) {
      const large = sampleJson(size, 11);
      writeFileSync(join(folder, `${size}.json`), large);
      const reply = await get(`/files/${size}.json`, accepting("zstd"));
      expect(reply.fields.get("content-encoding")).toBe("zstd");
      expect(decoded("zstd", reply.body).equals(large)).toBe(true);
      const headOnly = await gateway.once(request(`HEAD /files/${size}.json`, accepting("zstd")));
      const again = await get(`/files/${size}.json`, accepting("zstd"));
      for (const name of ["content-encoding", "content-length", "etag", "vary"])
        expect([name, headOnly.fields.get(name)]).toEqual([name, again.fields.get(name)]);
      expect(headOnly.fields.get("content-length")).toBe(String(reply.body.length));
    }
  });

  test.each([70_000, 200_000, 1_000_000])(
    "of %d bytes are compressed once for each encoding, and follow the disk",
    async (size) => {
      const path = `/files/kept-${size}.json`;
      const versions = [sampleJson(size, 3), sampleJson(size, 4)];
      for (const content of versions) {
        writeFileSync(join(folder, `kept-${size}.json`), content);
        for (const coding of ["zstd", "br", "gzip"]) {
          const first = await eventually(async () => {
            const reply = await get(path, accepting(coding));
            expect(decoded(coding, reply.body).equals(content)).toBe(true);
            return reply;
          });
          // What was kept has a length, and is the same to the last byte.
          for (let i = 0; i < 3; i++) {
            const again = await get(path, accepting(coding));
            expect([again.fields.get("content-length"), again.fields.get("content-encoding")]).toEqual([
              String(first.body.length),
              coding,
            ]);
            expect(again.body.equals(first.body)).toBe(true);
          }
        }
      }
      expect((await get(path, [])).body.equals(versions[1]!)).toBe(true);
      const part = await get(path, [...accepting("gzip"), "Range: bytes=0-9"]);
      expect([part.status, part.body.equals(versions[1]!.subarray(0, 10))]).toEqual([206, true]);
    },
  );

  test("kept forms are by the file and not by a tag that the configuration sets", async () => {
    const [one, two] = [sampleJson(100_000, 5), sampleJson(100_000, 6)];
    writeFileSync(join(folder, "one.json"), one);
    writeFileSync(join(folder, "two.json"), two);
    for (let i = 0; i < 2; i++) {
      expect(decoded("gzip", (await get("/tagged/one.json", accepting("gzip"))).body).equals(one)).toBe(true);
      expect(decoded("gzip", (await get("/tagged/two.json", accepting("gzip"))).body).equals(two)).toBe(true);
    }
  });

  test("a client that leaves in the middle of a kept form, and one that reads it slowly", async () => {
    const content = sampleJson(3_500_000, 8);
    writeFileSync(join(folder, "slow.json"), content);
    await get("/files/slow.json", accepting("gzip"));
    for (let i = 0; i < 5; i++) {
      const client = await gateway.connect();
      client.send(request("GET /files/slow.json", accepting("gzip")));
      await Bun.sleep(5);
      client.reset();
    }
    const slow = await gateway.connect();
    slow.send(request("GET /files/slow.json", accepting("gzip")));
    await Bun.sleep(100);
    slow.send(request("GET /files/slow.json", accepting("gzip")));
    for (let i = 0; i < 2; i++) expect(decoded("gzip", (await slow.reply()).body).equals(content)).toBe(true);
    slow.close();
  });
});
