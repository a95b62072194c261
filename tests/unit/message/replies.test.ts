import { describe, expect, test } from "bun:test";
import { Clock } from "../../../src/core/clock.ts";
import { ExtraFields } from "../../../src/message/extra-fields.ts";
import { PrebuiltResponse } from "../../../src/message/prebuilt-response.ts";
import { Framing, Method, ResponseHead } from "../../../src/message/request-head.ts";
import { encodePrebuilt, Persistence, prebuiltBound } from "../../../src/proto/h1/response-encoder.ts";

const clock = new Clock(() => Date.UTC(1994, 10, 6, 8, 49, 37));
const EXTRA = new ExtraFields([["X-Extra", "yes"]]);

function encoded(
  reply: PrebuiltResponse,
  extra: ExtraFields | null,
  withBody: boolean,
  persistence: Persistence,
): string {
  reply.date(clock.dateBytes, clock.second);
  const bound = prebuiltBound(reply, extra);
  const out = Buffer.alloc(bound + 8, "#");
  const end = encodePrebuilt(out, 4, reply, extra, withBody, persistence);
  expect(end - 4).toBeLessThanOrEqual(bound);
  expect([out.latin1Slice(0, 4), out.latin1Slice(end, end + 1)]).toEqual(["####", "#"]);
  return out.latin1Slice(4, end);
}

describe("a prebuilt reply", () => {
  const reply = new PrebuiltResponse(200, [["X-A", "b"]], "body");
  const head =
    "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: edge\r\nX-A: b\r\nContent-Length: 4\r\n";

  test.each([
    ["as it is", null, true, Persistence.Silent, `${head}\r\nbody`],
    ["for HEAD", null, false, Persistence.Silent, `${head}\r\n`],
    ["closing", null, true, Persistence.Close, `${head}Connection: close\r\n\r\nbody`],
    ["for HEAD, closing", null, false, Persistence.Close, `${head}Connection: close\r\n\r\n`],
    ["for HTTP/1.0", null, true, Persistence.KeepAlive, `${head}Connection: keep-alive\r\n\r\nbody`],
    ["with more fields", EXTRA, true, Persistence.Silent, `${head}X-Extra: yes\r\n\r\nbody`],
    ["with more fields, closing", EXTRA, false, Persistence.Close, `${head}X-Extra: yes\r\nConnection: close\r\n\r\n`],
  ])("%s", (_name, extra, withBody, persistence, expected) => {
    expect(encoded(reply, extra, withBody, persistence)).toBe(expected);
  });

  test("without a body says so, but for 204", () => {
    expect(encoded(new PrebuiltResponse(200, [], ""), null, true, Persistence.Silent)).toContain(
      "Content-Length: 0\r\n",
    );
    expect(encoded(new PrebuiltResponse(204, [], ""), null, true, Persistence.Silent)).not.toContain("Content-Length");
  });

  test("counts bytes, not characters", () => {
    const text = encoded(new PrebuiltResponse(200, [], "é€"), null, true, Persistence.Silent);
    expect(text).toContain("Content-Length: 5\r\n");
    expect(Buffer.from(text.slice(-5), "latin1").toString("utf8")).toBe("é€");
  });

  test("gets the date of each second", () => {
    const later = new Clock(() => Date.UTC(1994, 10, 6, 8, 49, 38));
    encoded(reply, null, true, Persistence.Silent);
    reply.date(later.dateBytes, later.second);
    expect(reply.image.toString()).toContain("08:49:38 GMT");
    expect(encoded(reply, null, true, Persistence.Silent)).toContain("08:49:37 GMT");
  });
});

describe("extra fields", () => {
  test("are joined in order, and once for each pair", () => {
    const other = new ExtraFields([
      ["X-B", "c"],
      ["X-C", "caf\xe9"],
    ]);
    const both = EXTRA.with(other);
    expect(both.lines.toString("latin1")).toBe("X-Extra: yes\r\nX-B: c\r\nX-C: caf\xe9\r\n");
    expect(EXTRA.with(other)).toBe(both);
    expect(other.with(EXTRA).fields.map(([name]) => name)).toEqual(["X-B", "X-C", "X-Extra"]);
  });

  test("of a configuration that a reload has replaced are let go of", async () => {
    const joined = () => new WeakRef(EXTRA.with(new ExtraFields([["X-Frame-Options", "DENY"]])));
    const all = Array.from({ length: 1000 }, joined);
    await Bun.sleep(1);
    Bun.gc(true);
    // What looks like an address on the stack is one to the collector.
    expect(all.filter((each) => each.deref() !== undefined).length).toBeLessThan(100);
  });
});

test("no body follows the response to HEAD, 204 and 304", () => {
  for (const method of [Method.Get, Method.Head, Method.Post])
    for (const status of [200, 204, 304, 404])
      for (const framing of [Framing.None, Framing.Length, Framing.Chunked, Framing.UntilClose]) {
        const head = new ResponseHead();
        Object.assign(head, { status, framing, contentLength: framing === Framing.Length ? 5 : 0 });
        const mayHaveOne = method !== Method.Head && (status === 200 || status === 404);
        expect(head.settleBody(method)).toBe(mayHaveOne && framing !== Framing.None);
        expect([
          mayHaveOne ? framing : Framing.None,
          framing === Framing.Length && !mayHaveOne && status !== 204,
        ]).toEqual([head.framing, head.lengthWithoutBody]);
      }
});
