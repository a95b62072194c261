import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { HeaderId } from "../../../../src/message/header-block.ts";
import { Framing, RequestHead } from "../../../../src/message/request-head.ts";
import { isForbiddenTrailer } from "../../../../src/proto/h1/trailer-names.ts";
import { RequestHeadReader } from "../../../../src/proto/h2/request-head-reader.ts";
import { TrailerReader } from "../../../../src/proto/h2/trailer-reader.ts";
import { FieldDictionary, type FieldRecord } from "../../../../src/proto/h3/field-dictionary.ts";
import { LineBuffer } from "../../../../src/proto/hpack/line-buffer.ts";

const GET: FieldRecord = { ":method": "GET", ":scheme": "https", ":authority": "a.test", ":path": "/x" };

function read(fields: FieldRecord, isEnd = true): { fault: Fault; head: RequestHead } {
  const reader = new RequestHeadReader({
    maxListBytes: 4096,
    maxFields: 100,
    refusesUnknownPseudo: false,
    allowsConnectProtocol: false,
  });
  const dictionary = new FieldDictionary();
  const head = new RequestHead();
  dictionary.begin(fields);
  return { fault: reader.read(dictionary, new LineBuffer(), head, isEnd), head };
}

describe("a head of HTTP/3", () => {
  test("is one like any other: raw target, host, fields in order, several of one name", () => {
    const { fault, head } = read({ ...GET, ":path": "/a/../b/%2e%2e/c?q=1", "x-a": ["1", "2"], "x-b": "caf\xe9" });
    expect(fault).toBe(Fault.None);
    expect(head.target()).toBe("/a/../b/%2e%2e/c?q=1");
    const fields = Array.from({ length: head.headers.count }, (_, i) => [
      head.headers.nameText(i),
      head.headers.valueText(i),
    ]);
    expect(fields).toEqual([
      ["host", "a.test"],
      ["x-a", "1"],
      ["x-a", "2"],
      ["x-b", "caf\xe9"],
    ]);
    expect(head.framing).toBe(Framing.None);
  });

  test("with a body of unknown length is what a chunked one is in HTTP/1.1", () => {
    expect(read({ ...GET, ":method": "POST" }, false).head.framing).toBe(Framing.Chunked);
    const declared = read({ ...GET, ":method": "POST", "content-length": "5" }, false).head;
    expect([declared.framing, declared.contentLength]).toEqual([Framing.Length, 5]);
  });

  test("a name that is a whole number does not stand before the pseudo-headers", () => {
    const { fault, head } = read({ ...GET, "123": "n" });
    expect(fault).toBe(Fault.None);
    expect(head.headers.nameText(head.headers.count - 1)).toBe("123");
  });

  test.each<[string, FieldRecord, Fault]>([
    ["transfer-encoding", { ...GET, "transfer-encoding": "chunked" }, Fault.ConnectionField],
    ["connection", { ...GET, connection: "x" }, Fault.ConnectionField],
    ["upgrade", { ...GET, upgrade: "websocket" }, Fault.ConnectionField],
    ["TE other than trailers", { ...GET, te: "gzip" }, Fault.ConnectionField],
    ["two lengths", { ...GET, "content-length": ["1", "1"] }, Fault.DuplicateContentLength],
    ["a length with nothing behind it", { ...GET, "content-length": "1" }, Fault.LengthMismatch],
    ["CR in a value", { ...GET, "x-a": "a\rb" }, Fault.BadFieldValue],
    ["LF in a value", { ...GET, "x-a": "a\nb" }, Fault.BadFieldValue],
    ["NUL in a value", { ...GET, "x-a": "a\0b" }, Fault.BadFieldValue],
    ["an upper-case name", { ...GET, "X-A": "1" }, Fault.BadFieldName],
    ["a space in a name", { ...GET, "x a": "1" }, Fault.BadFieldName],
    ["an empty name", { ...GET, "": "1" }, Fault.BadFieldName],
    ["two paths", { ...GET, ":path": ["/a", "/b"] }, Fault.BadPseudoHeader],
    ["no path", { ":method": "GET", ":scheme": "https", ":authority": "a" }, Fault.BadPseudoHeader],
    ["no method", { ":path": "/", ":scheme": "https", ":authority": "a" }, Fault.BadPseudoHeader],
    ["no scheme", { ":method": "GET", ":path": "/", ":authority": "a" }, Fault.BadPseudoHeader],
    ["a pseudo-header behind a field", { "x-a": "1", ...GET }, Fault.BadPseudoHeader],
    ["a status", { ...GET, ":status": "200" }, Fault.BadPseudoHeader],
    ["a space in the path", { ...GET, ":path": "/a b" }, Fault.BadTarget],
    ["a byte beyond ASCII in the path", { ...GET, ":path": "/caf\xe9" }, Fault.BadTarget],
    ["another host than the authority", { ...GET, host: "b.test" }, Fault.AuthorityMismatch],
    ["more than the list may hold", { ...GET, "x-a": "a".repeat(4096) }, Fault.HeadTooLarge],
  ])("%s is refused", (_name, fields, fault) => {
    expect(read(fields).fault).toBe(fault);
  });

  test("an unknown pseudo-header is dropped", () => {
    const { fault, head } = read({ ...GET, ":foo": "bar", "x-a": "1" });
    expect(fault).toBe(Fault.None);
    expect(head.headers.find(HeaderId.Host)).toBe(0);
    expect(head.headers.count).toBe(2);
  });
});

test("trailers are judged as in HTTP/2", () => {
  const reader = new TrailerReader(isForbiddenTrailer);
  const dictionary = new FieldDictionary();
  dictionary.begin({ "x-sum": "1" });
  expect(reader.read(dictionary, new LineBuffer())).toBe(Fault.None);
  expect(reader.trailers?.valueText(0)).toBe("1");
  const first = reader.trailers;
  dictionary.begin({ "x-sum": "2" });
  expect(reader.read(dictionary, new LineBuffer())).toBe(Fault.None);
  // One block serves all messages.
  expect([reader.trailers === first, first?.count, first?.valueText(0)]).toEqual([true, 1, "2"]);
  for (const name of ["content-length", "authorization", "x_forwarded_for", "if-match", "via"]) {
    dictionary.begin({ [name]: "1" });
    expect(reader.read(dictionary, new LineBuffer())).toBe(Fault.ForbiddenTrailer);
  }
});
