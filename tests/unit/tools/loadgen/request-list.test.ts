import { describe, expect, test } from "bun:test";
import { type LoadTarget, parseTarget } from "../../../../src/tools/loadgen/load-target.ts";
import { requestBytes } from "../../../../src/tools/loadgen/request-bytes.ts";
import { readRequests } from "../../../../src/tools/loadgen/request-list.ts";

// docs/tools.md#requests-from-a-file

describe("a file of requests", () => {
  test("has words or objects, one a line", () => {
    const text = [
      "# what people ask for",
      "GET /a?b=c",
      "/d",
      "",
      'POST /e {"x": 1}',
      '{"path": "/f", "headers": {"X-Team": "blue"}}',
      '{"method": "PUT", "path": "/g", "body": {"y": 2}}',
    ].join("\r\n");
    expect(readRequests(text)).toEqual([
      { method: "GET", path: "/a?b=c", fields: [], body: "" },
      { method: "GET", path: "/d", fields: [], body: "" },
      { method: "POST", path: "/e", fields: [], body: '{"x": 1}' },
      { method: "GET", path: "/f", fields: [["X-Team", "blue"]], body: "" },
      { method: "PUT", path: "/g", fields: [], body: '{"y":2}' },
    ]);
  });

  test("may have the version of a request line behind its path, which is no body", () => {
    expect(readRequests("GET /a HTTP/1.1\nPOST /b HTTP/2\nPOST /c HTTP of old")).toEqual([
      { method: "GET", path: "/a", fields: [], body: "" },
      { method: "POST", path: "/b", fields: [], body: "" },
      { method: "POST", path: "/c", fields: [], body: "HTTP of old" },
    ]);
  });

  test("may be an access log, whose requests that change nothing are sent", () => {
    const text = [
      '{"time":"2026-11-24T00:00:00.000Z","event":"listening","port":8080}',
      '{"time":"2026-11-24T00:00:00.000Z","event":"access","method":"GET","host":"a.example","path":"/a","query":"b=c","status":200}',
      '{"time":"2026-11-24T00:00:00.000Z","event":"access","method":"POST","host":"a.example","path":"/d","status":200}',
      '192.0.2.1 - - [24/Nov/2026:00:00:00 +0000] "GET /e HTTP/1.1" 200 12 "-" "curl"',
      '192.0.2.1 - - [24/Nov/2026:00:00:00 +0000] "DELETE /f HTTP/1.1" 200 12',
    ].join("\n");
    expect(readRequests(text)).toEqual([
      { method: "GET", path: "/a?b=c", fields: [], body: "" },
      { method: "GET", path: "/e", fields: [], body: "" },
    ]);
    expect(readRequests('{"method": "DELETE", "path": "/x", "heads": {}}')).toContain('"heads" is none of');
  });

  test.each([
    ["# nothing", "there is no request in it"],
    ["GET a", 'line 1: expected a path such as /a?b=c, found "a"'],
    ["\nG@T /", 'line 2: expected a method such as GET or POST, found "G@T"'],
    ["CONNECT /", "expected a method"],
    ['{"path": "/", "header": {}}', '"header" is none of method, path, headers, body'],
    ['{"path": "/"', "expected an object of JSON on one line"],
    ['{"path": 1}', "expected texts as method and path"],
    ['{"path": "/", "headers": {"Host": "x"}}', '"Host" is written by the generator itself'],
    ['{"path": "/", "headers": {"X-A": "1\\r\\nX-B: 2"}}', "is no field with a value on one line"],
  ])("%j is refused with its line", (text, fault) => {
    expect(readRequests(text)).toContain(fault);
  });

  test("becomes requests of HTTP/1.1, with the fields of the file in the place of the usual ones", () => {
    const target = parseTarget("http://gw.test/") as LoadTarget;
    const bytes = requestBytes(target, { method: "POST", path: "/a", fields: [["Accept", "text/html"]], body: "{}" });
    expect(bytes.toString()).toBe(
      "POST /a HTTP/1.1\r\nHost: gw.test\r\nuser-agent: edge-loadgen\r\ncontent-type: application/json\r\n" +
        "Accept: text/html\r\nContent-Length: 2\r\n\r\n{}",
    );
  });
});
