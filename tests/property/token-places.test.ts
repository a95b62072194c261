import { expect, test } from "bun:test";
import fc from "fast-check";
import { TokenFound, TokenPlaces } from "../../src/features/auth/jwt/token-places.ts";
import type { RequestHead } from "../../src/message/request-head.ts";
import { parsedHead } from "../unit/features/forward/forward-exchange.ts";

// Tokens are found and taken off where they are, and nothing else is touched. docs/authentication.md#tokens
const RUNS = 3000;
const pairs = (separator: string, names: readonly string[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...names), fc.constantFrom("", "=", "=A.b-_c", "=x", "=a=b", "==", "=%41")), {
      maxLength: 6,
    })
    .map((all) => all.map(([name, value]) => name + value).join(separator));
const query = pairs("&", ["t", "tt", "%74", "%54", "+t", "", "a", "T", "t%00"]);
const cookies = fc
  .tuple(fc.constantFrom("; ", ";", " ; "), fc.integer({ min: 1, max: 3 }))
  .chain(([separator, fields]) => fc.array(pairs(separator, ["t", "tt", "a", "T"]), { maxLength: fields }));

function headOf(target: string, fields: readonly string[]): RequestHead {
  const bytes = Buffer.from(
    `GET ${target} HTTP/1.1\r\nHost: a\r\n${fields.map((one) => `${one}\r\n`).join("")}X-After: b\r\n\r\n`,
  );
  const head = parsedHead(bytes);
  if (head === null) throw new Error(`no request: ${target}`);
  return head;
}

function fieldsOf({ headers }: RequestHead): string[] {
  return Array.from({ length: headers.count }, (_, i) => `${headers.nameText(i)}: ${headers.valueText(i)}`);
}

test("in the query", () => {
  fc.assert(
    fc.property(query, fc.constantFrom("", "#f?t=A"), fc.boolean(), (text, fragment, isAbsolute) => {
      const path = `${isAbsolute ? "http://a" : ""}/p`;
      const all = text.split("&");
      const named = all.filter((one) => ["t", "%74"].includes(one.split("=")[0]!));
      const held = named
        .map((one) => one.slice(one.indexOf("=") + 1))
        .filter((value, i) => named[i]!.includes("=") && value !== "");
      const places = new TokenPlaces(["query:t"], false);
      const head = headOf(`${path}?${text}${fragment}`, []);
      const found = places.find(head);
      expect(found).toBe(
        held.length === 0 ? TokenFound.Nothing : held.length === 1 ? TokenFound.Token : TokenFound.Several,
      );
      if (found === TokenFound.Token)
        expect(Buffer.from(places.bytes).latin1Slice(places.from, places.to)).toBe(held[0]!);
      places.takeOff(head);
      const left = all.filter((one) => !named.includes(one)).join("&");
      const shown = head.text(head.pathTo, head.queryTo);
      expect(named.length === 0 || left !== "" ? shown : shown.replace("?", "")).toBe(
        named.length === 0 ? `?${text}` : left === "" ? "" : `?${left}`,
      );
      expect(head.text(head.queryTo, head.targetTo)).toBe(fragment);
      expect(fieldsOf(head)).toEqual(["Host: a", "X-After: b"]);
    }),
    { numRuns: RUNS },
  );
});

test("in cookies", () => {
  fc.assert(
    fc.property(cookies, (fields) => {
      const places = new TokenPlaces(["cookie:t"], false);
      const head = headOf(
        "/",
        fields.map((one) => `Cookie: ${one}`),
      );
      const split = (text: string) =>
        text
          .split(";")
          .map((one) => one.trim())
          .filter((one) => one !== "");
      const all = fields.flatMap(split);
      const held = all.filter((one) => one.startsWith("t=") && one !== "t=");
      expect(places.find(head)).toBe(
        held.length === 0 ? TokenFound.Nothing : held.length === 1 ? TokenFound.Token : TokenFound.Several,
      );
      places.takeOff(head);
      const left = fieldsOf(head)
        .filter((one) => one.startsWith("Cookie:"))
        .flatMap((one) => split(one.slice(7)));
      expect(left).toEqual(all.filter((one) => !one.startsWith("t=")));
      expect(fieldsOf(head).filter((one) => !one.startsWith("Cookie:"))).toEqual(["Host: a", "X-After: b"]);
      expect(places.find(head)).toBe(TokenFound.Nothing);
    }),
    { numRuns: RUNS },
  );
});
