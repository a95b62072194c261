import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../src/core/bytes.ts";
import {
  HEADER_ID_COUNT,
  HeaderId,
  headerIdFromName,
  headerIdOf,
  headerName,
} from "../../../src/message/header-block.ts";
import {
  isIdempotent,
  METHOD_COUNT,
  Method,
  methodFromName,
  methodName,
  methodOf,
} from "../../../src/message/request-head.ts";

const KNOWN = Array.from({ length: HEADER_ID_COUNT - 2 }, (_, i) => (i + 1) as HeaderId);

describe("field names", () => {
  test("are found in any case", () => {
    for (const id of KNOWN) {
      const name = headerName(id);
      for (const spelling of [name, name.toLowerCase(), name.toUpperCase()])
        expect(headerIdFromName(spelling)).toBe(id);
    }
  });

  test("one letter off are others", () => {
    for (const id of KNOWN) {
      const name = headerName(id);
      for (const wrong of [`${name}s `, `x${name.slice(1)}_`, name.slice(0, -1), `${name}\0`, ` ${name}`]) {
        const found = headerIdFromName(wrong);
        expect(found === HeaderId.Other || headerName(found).toLowerCase() === wrong.toLowerCase()).toBe(true);
      }
    }
  });

  test("of other lengths are others", () => {
    expect(headerIdFromName("")).toBe(HeaderId.Other);
    for (const length of [1, 31, 32, 33, 100, 8000]) expect(headerIdFromName("q".repeat(length))).toBe(HeaderId.Other);
  });

  test("may stand anywhere in the bytes", () => {
    const bytes = latin1("xxHostyy");
    expect(headerIdOf(bytes, 2, 6)).toBe(HeaderId.Host);
    expect(headerIdOf(bytes, 1, 6)).toBe(HeaderId.Other);
  });

  test("that frame or address a message stand together: Connection cannot name them away", () => {
    const protectedIds = [HeaderId.Host, HeaderId.Connection, HeaderId.ContentLength, HeaderId.TransferEncoding];
    expect(protectedIds).toEqual([1, 2, 3, 4] as HeaderId[]);
  });
});

describe("methods", () => {
  const all = Array.from({ length: METHOD_COUNT - 1 }, (_, i) => (i + 1) as Method);

  test("are found by their exact names, and nothing else is", () => {
    for (const method of all) {
      const name = methodName(method);
      expect(methodFromName(name)).toBe(method);
      for (const other of [name.toLowerCase(), `${name}X`, name.slice(1), ` ${name}`]) {
        expect(methodFromName(other)).toBe(Method.Other);
      }
    }
    expect(methodOf(latin1("xGETx"), 1, 4)).toBe(Method.Get);
    expect(methodName(Method.Other)).toBe("OTHER");
    expect(methodFromName("")).toBe(Method.Other);
  });

  // RFC 9110 §9.2.2. An unknown method may do anything.
  test("are idempotent or not", () => {
    const idempotent = all.filter(isIdempotent).map(methodName);
    expect(idempotent).toEqual(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]);
    expect(isIdempotent(Method.Other)).toBe(false);
  });
});
