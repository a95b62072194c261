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

  test("of Caddy, Traefik and HAProxy, for which a target in absolute form is a host and a path", () => {
    const caddy = { logger: "http.log.access", request: { method: "GET", host: "h.test", uri: "/a?b" }, status: 200 };
    const traefik = { RequestMethod: "GET", RequestAddr: "h.test", RequestPath: "/a?b", DownstreamStatus: 200 };
    for (const line of [caddy, traefik])
      expect(readRecorded(JSON.stringify(line))).toEqual({ ...REQUEST, host: "h.test" });
    expect(readRecorded('{"level":"info","logger":"tls","msg":"certificate"}')).toBe("event");
    expect(readRecorded('{"logger":"http.log.access","request":{"method":"GET"}}')).toBe("unreadable");
    const haproxy = (target: string): string =>
      `Feb  6 12:14:14 lb haproxy[1]: 192.0.2.1:33317 [06/Feb/2026:12:14:14.655] in~ app/one 10/0/30/69/+109 200 +2750 - - ---- 1/1/1/1/0 0/0 {agent} {} "GET ${target} HTTP/1.1"`;
    expect(readRecorded(haproxy("/a?b"))).toEqual(REQUEST);
    expect(readRecorded(haproxy("https://h.test/a?b"))).toEqual({ ...REQUEST, host: "h.test" });
    expect(readRecorded(haproxy("https://h.test?b"))).toMatchObject({ uri: "/?b" });
    for (const target of ["ftp://h.test/", "https://u@h.test/", "@h.test/", ":80/"])
      expect(readRecorded(haproxy(target))).toBe("unreadable");
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
