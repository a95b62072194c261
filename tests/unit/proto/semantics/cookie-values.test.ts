import { expect, test } from "bun:test";
import fc from "fast-check";
import { CookieValues } from "../../../../src/proto/semantics/cookie-values.ts";
import { anyExchange } from "../../features/balance/balance-fake.ts";

/** The values of the cookies named sid, found in the plainest way. */
function plainly(fields: readonly string[]): string[] {
  return fields
    .flatMap((field) => field.split(";"))
    .filter((pair) => pair.includes("="))
    .map((pair) => [pair.split("=", 1)[0]!, pair.slice(pair.indexOf("=") + 1)] as const)
    .filter(([name]) => name.trim() === "sid")
    .map(([, value]) => value.trim());
}

test("the cookies with a name are those that plain splitting finds, in their order", () => {
  const piece = fc.constantFrom("sid=", "sid", "a=b", "; ", ";", " ", "x", "=", "\t", '"', "SID=1", "sid=sid=1");
  const field = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("").trim());
  fc.assert(
    fc.property(fc.array(field, { maxLength: 4 }), (fields) => {
      const { headers } = anyExchange({ headers: fields.map((value) => ["Cookie", value] as const) }).request;
      const values = new CookieValues("sid");
      const found: string[] = [];
      // A second time: nothing of the first is left.
      for (let round = 0; round < 2; round++) {
        found.length = 0;
        values.begin(headers);
        while (values.next())
          found.push(Buffer.from(headers.bytes.subarray(values.from, values.to)).toString("latin1"));
        expect(values.next()).toBe(false);
      }
      expect(found).toEqual(plainly(fields));
    }),
    { numRuns: 2000 },
  );
});
