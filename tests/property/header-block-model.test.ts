import { expect, test } from "bun:test";
import fc from "fast-check";
import { HeaderBlock, headerIdFromName } from "../../src/message/header-block.ts";
import { headOf } from "../unit/features/forward/forward-exchange.ts";

type Pair = readonly [name: string, value: string];
type Step =
  | { readonly kind: "add" | "addBytes"; readonly pair: Pair }
  | { readonly kind: "removeWhere"; readonly gone: readonly boolean[] }
  | { readonly kind: "removeAll"; readonly name: string }
  | { readonly kind: "setValueOf" | "rewriteAll"; readonly pair: Pair }
  | { readonly kind: "reset" | "resetOwn" };

const name = fc.constantFrom(
  "X-A",
  "x-a",
  "Host",
  "Content-Type",
  "Set-Cookie",
  "A",
  "X-A-Rather-Long-Name-Of-A-Field",
);
const value = fc.oneof(
  fc.constantFrom("", "b", "caf\xe9", "a, b"),
  fc.integer({ min: 0, max: 3000 }).map((length) => "v".repeat(length)),
);
const pair: fc.Arbitrary<Pair> = fc.tuple(name, value);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("add" as const, "addBytes" as const), pair }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("removeWhere" as const),
      gone: fc.array(fc.boolean(), { maxLength: 8 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("removeAll" as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("setValueOf" as const, "rewriteAll" as const), pair }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("reset" as const, "resetOwn" as const) }) },
);

const PARSED: readonly Pair[] = [
  ["Host", "a.test"],
  ["X-Long", "v".repeat(1100)],
  ["X-A", "b"],
  ["X-Empty", ""],
];

function pairsOf(block: HeaderBlock): Pair[] {
  return Array.from({ length: block.count }, (_, i) => [block.nameText(i), block.valueText(i)]);
}

function take(block: HeaderBlock, model: Pair[], next: Step, source: HeaderBlock): void {
  switch (next.kind) {
    case "add":
      block.add(...next.pair);
      model.push(next.pair);
      break;
    case "addBytes": {
      const [fieldName, text] = next.pair;
      const bytes = Buffer.from(`#${fieldName}: ${text}#`, "latin1");
      const valueFrom = 1 + fieldName.length + 2;
      block.addBytes(bytes, 1, 1 + fieldName.length, valueFrom, valueFrom + text.length);
      bytes.fill(0);
      model.push(next.pair);
      break;
    }
    case "removeWhere": {
      const kept = model.filter((_, i) => next.gone[i] !== true);
      block.removeWhere((_, i) => next.gone[i] === true);
      model.splice(0, model.length, ...kept);
      break;
    }
    case "removeAll": {
      const id = headerIdFromName(next.name);
      block.removeAll(id);
      model.splice(0, model.length, ...model.filter(([other]) => headerIdFromName(other) !== id));
      break;
    }
    case "setValueOf": {
      const id = headerIdFromName(next.pair[0]);
      const first = model.findIndex(([other]) => headerIdFromName(other) === id);
      block.setValueOf(id, next.pair[1]);
      const kept = model.filter(([other], i) => headerIdFromName(other) !== id || i === first);
      model.splice(0, model.length, ...kept.map((one, i): Pair => (i === first ? [one[0], next.pair[1]] : one)));
      break;
    }
    case "rewriteAll": {
      // Empty values go, all others get the new one.
      const id = headerIdFromName(next.pair[0]);
      block.rewriteAll(id, (old) => (old === "" ? null : next.pair[1]));
      const kept = model.filter(([other, old]) => headerIdFromName(other) !== id || old !== "");
      const changed = kept.map((one): Pair => (headerIdFromName(one[0]) === id ? [one[0], next.pair[1]] : one));
      model.splice(0, model.length, ...changed);
      break;
    }
    case "reset":
      // As at the start of the next request: a head is parsed into the block.
      block.reset(source.bytes);
      for (let i = 0; i < source.count; i++) {
        block.push(source.ids[i]!, source.nameFrom(i), source.nameTo(i), source.valueFrom(i), source.valueTo(i));
      }
      model.splice(0, model.length, ...PARSED);
      break;
    case "resetOwn":
      block.resetOwn();
      model.length = 0;
  }
}

test("a block holds what a list of pairs would hold, parsed or made, whatever is added and taken out", () => {
  const lines = PARSED.map(([fieldName, text]) => `${fieldName}: ${text}\r\n`).join("");
  const original = `GET / HTTP/1.1\r\n${lines}\r\n`;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const source = headOf(original).headers;
      const block = new HeaderBlock();
      const model: Pair[] = [];
      block.resetOwn();
      for (const next of steps) {
        take(block, model, next, source);
        expect(pairsOf(block)).toEqual(model);
        for (const [i, [fieldName, text]] of model.entries()) {
          const id = headerIdFromName(fieldName);
          expect(block.ids[i]).toBe(id);
          const first = model.findIndex(([other]) => headerIdFromName(other) === id);
          expect(block.find(id)).toBe(first);
          expect(block.valueOf(id)).toBe(model[first]![1]);
          expect(block.valueEquals(i, Buffer.from(text.toLowerCase(), "latin1"))).toBe(true);
        }
        // The received bytes belong to the connection: nothing is written into them.
        expect(Buffer.from(source.bytes).toString("latin1")).toBe(original);
      }
    }),
    { numRuns: 800 },
  );
});
