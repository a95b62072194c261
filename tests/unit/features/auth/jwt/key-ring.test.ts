import { expect, test } from "bun:test";
import { KeySets } from "../../../../../src/features/auth/jwt/key-ring.ts";
import { ALGORITHM_NAMES, type KeySetReading, readKeySet } from "../../../../../src/proto/jwt/key-set.ts";
import { issuerKey, keySetText } from "../../../../harness/token-issuer.ts";

function lab() {
  const asked: { id: string; answer: (pauseMs: number) => void }[] = [];
  const clock = { nowMs: 0 };
  const sets = new KeySets(
    (id, answer) => asked.push({ id, answer }),
    () => clock.nowMs,
  );
  return { asked, clock, sets, ring: sets.ringOf("a") };
}

test("one question for all who wait, and none while it is of no use", () => {
  const { asked, clock, ring } = lab();
  let heard = 0;
  for (let i = 0; i < 3; i++) expect(ring.refresh("c", () => heard++)).toBe("asked");
  expect([asked.map(({ id }) => id), heard]).toEqual([["a"], 0]);
  asked[0]!.answer(10_000);
  expect(heard).toBe(3);
  clock.nowMs = 9999;
  expect(ring.refresh("c", () => heard++)).toBe("early");
  clock.nowMs = 10_000;
  expect(ring.refresh("c", () => heard++)).toBe("asked");
  expect([asked.length, heard]).toEqual([2, 3]);
});

test("no more than a bounded number wait", () => {
  const { ring } = lab();
  for (let i = 0; i < 256; i++) expect(ring.refresh("c", () => {})).toBe("asked");
  expect(ring.refresh("c", () => {})).toBe("full");
  // One client has all of them: others have a place all the same, few each.
  for (let i = 0; i < 16; i++) expect(ring.refresh("other", () => {})).toBe("asked");
  expect(ring.refresh("other", () => {})).toBe("full");
  expect(ring.refresh("third", () => {})).toBe("asked");
});

test("newer keys are another generation, of their own source alone", () => {
  const { sets, ring } = lab();
  const other = sets.ringOf("b");
  const { keys } = readKeySet(keySetText(issuerKey("ES256", "one")), ALGORITHM_NAMES) as KeySetReading;
  expect([ring.keys, ring.generation]).toEqual([null, 0]);
  sets.take([{ id: "a", keys }]);
  expect([ring.keys?.length, ring.generation, other.keys, other.generation]).toEqual([1, 1, null, 0]);
  expect(sets.ringOf("a")).toBe(ring);
});
