import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SessionCookies, setCookie, takeCookiesOff } from "../../../../../src/features/auth/oidc/session-cookies.ts";
import { RequestHead } from "../../../../../src/message/request-head.ts";

// docs/security.md#sessions
const TAG = "0123456789";
const cookies = new SessionCookies(TAG);
const pieces = fc.constantFrom(
  `edge-oidc-${TAG}`,
  `__Host-edge-oidc-${TAG}`,
  `edge-oidc-${TAG}-abc`,
  "edge-oidc-",
  "__Host-",
  "xedge-oidc-y",
  "=",
  "=",
  ";",
  "; ",
  ";",
  " ",
  "\t",
  "a",
  '"',
);
const field = fc.array(pieces, { maxLength: 14 }).map((all) => all.join("").trim());

function headWith(fields: readonly string[]): RequestHead {
  const head = new RequestHead();
  head.headers.resetOwn();
  head.headers.add("Host", "shop.test");
  for (const value of fields) head.headers.add("Cookie", value);
  head.headers.add("X-Last", "1");
  return head;
}

function pairsOf(fields: readonly string[]): string[] {
  return fields.flatMap((text) => text.split(";")).map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ""));
}

function cookieFields({ headers }: RequestHead): string[] {
  const all = Array.from({ length: headers.count }, (_, i) => [headers.nameText(i), headers.valueText(i)] as const);
  expect([all[0], all.at(-1)]).toEqual([
    ["Host", "shop.test"],
    ["X-Last", "1"],
  ]);
  return all.filter(([name]) => name === "Cookie").map(([, value]) => value);
}

describe("cookies of sessions", () => {
  test("are found by their names, whole and at their places", () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 3 }), fc.boolean(), (fields, isSecure) => {
        const base = cookies.nameOf(isSecure);
        const wanted = pairsOf(fields).flatMap((pair) => {
          const name = pair.includes("=") ? pair.slice(0, pair.indexOf("=")) : "";
          const isOwn = name === base || name.startsWith(`${base}-`);
          return isOwn ? [{ name, value: pair.slice(name.length + 1) }] : [];
        });
        expect(cookies.find(headWith(fields).headers, isSecure)).toEqual(wanted);
      }),
      { numRuns: 3000 },
    );
  });

  test("are taken off, and all others stay in their order", () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 3 }), (fields) => {
        const head = headWith(fields);
        takeCookiesOff(head);
        const left = cookieFields(head);
        const isOwn = (pair: string) => /^(__Host-)?edge-oidc-/.test(pair);
        expect(pairsOf(left).filter(isOwn)).toEqual([]);
        const plain = (all: readonly string[]) => pairsOf(all).filter((pair) => pair !== "" && !isOwn(pair));
        expect(plain(left)).toEqual(plain(fields));
        // Fields without one of ours stay as they came.
        for (const text of fields) if (text !== "" && !pairsOf([text]).some(isOwn)) expect(left).toContain(text);
      }),
      { numRuns: 3000 },
    );
  });

  test("are set for the whole host, out of the reach of scripts and other sites", () => {
    expect(setCookie(cookies.nameOf(true), "v", 60)).toBe(
      `__Host-edge-oidc-${TAG}=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(setCookie(cookies.nameOf(false, "id"), "", 0)).toBe(
      `edge-oidc-${TAG}-id=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`,
    );
  });
});
