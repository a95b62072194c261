import { describe, expect, test } from "bun:test";
import { readRecorded } from "../../../../src/tools/replay/recorded-request.ts";
import { differences, differsFromLog, FIELDS_THAT_MATTER } from "../../../../src/tools/replay/response-difference.ts";

const REQUEST = { method: "GET", uri: "/a?b", host: "", status: 200 };

describe("lines", () => {
  test("of the three formats", () => {
    expect(readRecorded('192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET /a?b HTTP/1.1" 200 12')).toEqual(REQUEST);
    expect(readRecorded('192.0.2.1 - al [x] "HEAD /a HTTP/2.0" 404 0 "-" "curl \\"x\\""')).toMatchObject({
      method: "HEAD",
      status: 404,
    });
    expect(readRecorded('shop.example.com:443 192.0.2.1 - - [x] "GET / HTTP/1.1" 200 1 "-" "-"')).toMatchObject({
      host: "shop.example.com",
    });
    expect(
      readRecorded('{"event":"access","method":"GET","path":"/a","query":"b","host":"h.test","status":200}'),
    ).toEqual({ ...REQUEST, host: "h.test" });
    expect(readRecorded('{"event":"start"}')).toBe("event");
  });

  test("that are no request, or may change something, are left out", () => {
    for (const line of [
      "",
      "garbage",
      "{",
      '{"event":"access"}',
      '1 - - [x] "\\x16\\x03" 400 0',
      '1 - - [x] "GET a b c" 200 0',
    ])
      expect(readRecorded(line)).toBe("unreadable");
    expect(readRecorded('1 - - [x] "POST /a HTTP/1.1" 200 1')).toBe("method");
    expect(readRecorded('{"method":"GET","path":"/a b","status":200}')).toBe("unreadable");
    expect(readRecorded('{"method":"GET","path":"/","host":"a\\r\\nb","status":200}')).toBe("unreadable");
  });
});

describe("responses", () => {
  const plan = { fields: FIELDS_THAT_MATTER, hasErrorBodies: false };
  const response = (more: object): never =>
    ({ status: 200, fields: {}, hash: "h", bytes: 1, failure: "", ...more }) as never;
  const differ = (a: object, b: object, request = REQUEST): string[] =>
    differences(request, [response(a), response(b)], plan).map(({ what }) => what);

  test("differ in status, fields that matter and bodies", () => {
    expect(differ({}, {})).toEqual([]);
    expect(differ({ status: 404 }, {})).toEqual(["status"]);
    expect(differ({ hash: "x" }, {})).toEqual(["body"]);
    expect(differ({ fields: { "cache-control": "no-store" } }, {})).toEqual(["cache-control"]);
    expect(differ({ failure: "ECONNRESET" }, {})).toEqual(["failure"]);
  });

  test("do not differ in what is each server's own, or is only written otherwise", () => {
    expect(differ({ fields: { date: "a", server: "b", etag: "c", "x-request-id": "d" } }, {})).toEqual([]);
    expect(
      differ({ fields: { "content-type": "text/html; charset=utf-8" } }, { fields: { "content-type": "text/html" } }),
    ).toEqual([]);
    expect(
      differ(
        { fields: { "content-type": "text/html; charset=utf-8" } },
        { fields: { "content-type": "text/html;charset=latin1" } },
      ),
    ).toEqual(["content-type"]);
    expect(differ({ fields: { vary: "A, B" } }, { fields: { vary: "b\na" } })).toEqual([]);
    expect(
      differ(
        { status: 301, fields: { location: "http://127.0.0.1:80/x" } },
        { status: 301, fields: { location: "/x" } },
      ),
    ).toEqual([]);
    expect(
      differ(
        { status: 301, fields: { location: "https://else.example/x" } },
        { status: 301, fields: { location: "/x" } },
      ),
    ).toEqual(["location"]);
    expect(differ({ status: 404, hash: "x" }, { status: 404 })).toEqual([]);
    expect(differ({ fields: { "set-cookie": "a=1; Path=/" } }, { fields: { "set-cookie": "a=2" } })).toEqual([]);
  });

  test("the log's status counts where it can", () => {
    const from = (status: number, got: number): number =>
      differsFromLog({ ...REQUEST, status }, response({ status: got })).length;
    expect([from(200, 200), from(304, 200), from(499, 200), from(0, 500), from(200, 404), from(304, 500)]).toEqual([
      0, 0, 0, 0, 1, 1,
    ]);
  });
});
