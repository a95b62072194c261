import { describe, expect, test } from "bun:test";
import { type HeaderStep, RequestEdits, ResponseEdits } from "../../../../src/features/forward/header-edits.ts";
import { HeaderId, headerIdFromName } from "../../../../src/message/header-block.ts";
import { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";
import { ResponseHead } from "../../../../src/message/request-head.ts";
import { requestEdits, responseEdits } from "../../../../src/routes/header-operations.ts";

const NONE = { set: [], add: [], remove: [] };
const pair = (name: string, value: string) => ({ name, value });

function editHead(edits: Parameters<typeof requestEdits>[0], lines: readonly string[]): string[] {
  const head = Buffer.from(`GET /x: HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`, "latin1");
  const change = requestEdits(edits)!;
  const out = Buffer.alloc(7 + head.length + change.addedBytes, "#");
  head.copy(out, 7);
  const end = change.apply(out, 7, 7 + head.length);
  const text = out.latin1Slice(7, end);
  expect(text).toStartWith("GET /x: HTTP/1.1\r\n");
  expect(text).toEndWith("\r\n\r\n");
  expect(out.latin1Slice(0, 7)).toBe("#######");
  return text.split("\r\n").slice(1, -2);
}

describe("edits of a request's head", () => {
  const lines = ["Host: a", "X-A: 1", "x-a: 2", "X-AB: 3", "B: X-A: 9"];

  test.each([
    ["removes all of a name", { ...NONE, remove: ["x-a"] }, ["Host: a", "X-AB: 3", "B: X-A: 9"]],
    ["removes the first and the last", { ...NONE, remove: ["host", "b"] }, ["X-A: 1", "x-a: 2", "X-AB: 3"]],
    ["removes everything", { ...NONE, remove: ["host", "x-a", "x-ab", "b"] }, []],
    ["sets in place of all", { ...NONE, set: [pair("X-a", "n")] }, ["Host: a", "X-AB: 3", "B: X-A: 9", "X-a: n"]],
    ["sets what was not there", { ...NONE, set: [pair("N", "")] }, [...lines, "N: "]],
    ["adds beside what is there", { ...NONE, add: [pair("X-A", "3")] }, [...lines, "X-A: 3"]],
    [
      "removes, sets, then adds",
      { set: [pair("B", "s")], add: [pair("B", "a"), pair("X-A", "a")], remove: ["x-a"] },
      ["Host: a", "X-AB: 3", "B: s", "B: a", "X-A: a"],
    ],
  ])("%s", (_name, edits, expected) => {
    expect(editHead(edits, lines)).toEqual(expected);
  });

  test("are none where the route has none", () => {
    expect([requestEdits(NONE), responseEdits(NONE)]).toEqual([null, null]);
  });
});

describe("edits of an answer", () => {
  const edits = responseEdits({
    remove: ["server", "x-b"],
    set: [pair("Cache-Control", "no-store")],
    add: [pair("X-A", "2")],
  })!;
  const fields = [
    ["Server", "x"],
    ["X-B", "1"],
    ["x-a", "1"],
    ["cache-control", "public"],
    ["x-B", "2"],
    ["X-Bc", "3"],
  ] as const;
  const expected = ["x-a: 1", "X-Bc: 3", "Cache-Control: no-store", "X-A: 2"];

  test("change a head that was received", () => {
    const reply = new ResponseHead();
    const bytes = Buffer.from(fields.map(([name, value]) => `${name}: ${value}\r\n`).join(""), "latin1");
    reply.headers.reset(bytes);
    let at = 0;
    for (const [name, value] of fields) {
      const valueAt = at + name.length + 2;
      reply.headers.push(headerIdFromName(name), at, at + name.length, valueAt, valueAt + value.length);
      at = valueAt + value.length + 2;
    }
    edits.apply(reply);
    const { headers } = reply;
    const shown = Array.from({ length: headers.count }, (_, i) => `${headers.nameText(i)}: ${headers.valueText(i)}`);
    expect(shown).toEqual(expected);
    expect(headers.find(HeaderId.CacheControl)).toBe(2);
  });

  test("change a prebuilt reply, once", () => {
    const reply = new PrebuiltResponse(200, fields, "body");
    const edited = edits.ofFixed(reply);
    expect(edited.fields.map(([name, value]) => `${name}: ${value}`)).toEqual(expected);
    expect([edited.status, edited.body.toString()]).toEqual([200, "body"]);
    expect(edits.ofFixed(reply)).toBe(edited);
  });

  test("leave the gateway's request id out, but do not change it", () => {
    const reply = new ResponseHead();
    reply.requestIdEnd = 20;
    reply.shownIdEnd = 20;
    responseEdits({ ...NONE, set: [pair("X-Request-Id", "mine")] })!.apply(reply);
    expect([reply.requestIdEnd, reply.shownIdEnd]).toEqual([20, 20]);
    responseEdits({ ...NONE, remove: ["x-request-id"] })!.apply(reply);
    // The log still names the request by it.
    expect([reply.requestIdEnd, reply.shownIdEnd]).toEqual([20, 0]);
  });
});

describe("a step of an operation", () => {
  const step: HeaderStep = {
    addedBytes: 6,
    request: (out, _start, end) => end - 2 + out.latin1Write("Z: z\r\n\r\n", end - 2),
    held: () => {},
    response: (headers) => headers.add("Z", String(headers.count)),
    fixed: (before) => [...before, ["Z", String(before.length)]],
  };
  const plan = { gone: ["a"], added: [pair("B", "b")], steps: [step] };

  test("comes last, and has its bytes", () => {
    const head = "GET / HTTP/1.1\r\nA: a\r\nHost: h\r\n\r\n";
    const change = new RequestEdits(plan);
    expect(change.addedBytes).toBe(6 + 6);
    const out = Buffer.alloc(head.length + change.addedBytes);
    out.latin1Write(head);
    const end = change.apply(out, 0, head.length);
    expect(out.latin1Slice(0, end)).toBe("GET / HTTP/1.1\r\nHost: h\r\nB: b\r\nZ: z\r\n\r\n");
  });

  test("sees the fields of a response that the operations have left", () => {
    const change = new ResponseEdits(plan);
    const reply = new ResponseHead();
    for (const name of ["A", "C"]) reply.headers.add(name, "1");
    change.apply(reply);
    expect([reply.headers.count, reply.headers.valueText(2)]).toEqual([3, "2"]);
    const fixed = change.ofFixed(new PrebuiltResponse(200, [["A", "1"]], ""));
    expect(fixed.fields).toEqual([
      ["B", "b"],
      ["Z", "1"],
    ]);
  });
});
