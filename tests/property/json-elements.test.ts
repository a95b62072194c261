import { expect, test } from "bun:test";
import fc from "fast-check";
import { elementSpans } from "../../src/proto/grpc/json-elements.ts";

test("the elements of an array are found whatever is in their strings and between them", () => {
  const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
  fc.assert(
    fc.property(fc.array(fc.json({ maxDepth: 3 })), blank, (elements, space) => {
      const text = `${space}[${elements.map((one) => `${space}${one}${space}`).join(",")}${space}]${space}`;
      expect(pieces(text).map((one) => JSON.parse(one))).toEqual(elements.map((one) => JSON.parse(one)));
    }),
  );
});

test("what is no array is one", () => {
  for (const text of ['{"a":[1,2]}', ' "[1,2]"', "1", ""]) expect(pieces(text)).toEqual([text]);
});

function pieces(text: string): string[] {
  const bytes = Buffer.from(text);
  const spans = elementSpans(bytes);
  const found: string[] = [];
  for (let i = 0; i < spans.length; i += 2) found.push(bytes.toString("utf8", spans[i], spans[i + 1]));
  return found;
}
