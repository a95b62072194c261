import { expect, test } from "bun:test";
import type { Judgement } from "../../../../../src/features/auth/judgement.ts";
import { JwtMethod } from "../../../../../src/features/auth/jwt/jwt-method.ts";
import { KeySets } from "../../../../../src/features/auth/jwt/key-ring.ts";
import { Exchange } from "../../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../../src/message/idle-ports.ts";
import { ALGORITHM_NAMES, type KeySetReading, readKeySet } from "../../../../../src/proto/jwt/key-set.ts";
import { issuerKey, keySetText, token, usualClaims } from "../../../../harness/token-issuer.ts";

const first = issuerKey("ES256", "one");
const second = issuerKey("ES256", "two");
const slow = issuerKey("ES512", "slow");

/** A method whose keys come when the test says so. */
function lab() {
  const clock = { nowMs: Date.now() };
  const answers: ((pauseMs: number) => void)[] = [];
  const sets = new KeySets(
    (_, answer) => answers.push(answer),
    () => clock.nowMs,
  );
  const rules = {
    realm: "x",
    places: ["header"],
    algorithms: ALGORITHM_NAMES,
    issuers: [],
    audiences: [],
    leewayMs: 1000,
    claims: [],
    fields: [],
    keepsToken: false,
  };
  const method = new JwtMethod(rules, { keys: sets.ringOf("a"), clock });
  const use = (...keys: readonly ReturnType<typeof issuerKey>[]): void =>
    sets.take([{ id: "a", keys: (readKeySet(keySetText(...keys), ALGORITHM_NAMES) as KeySetReading).keys }]);
  return { clock, answers, method, use };
}

function withToken(value: string): Exchange {
  const ex = new Exchange(IDLE_PORTS);
  ex.request.headers.resetOwn();
  ex.request.headers.add("Authorization", `Bearer ${value}`);
  return ex;
}

/** 200 for one that lets in, else the status of the refusal. */
function statusOf(judgement: Judgement | null | undefined): number {
  return judgement?.kind === "refused" ? judgement.status : judgement?.kind === "in" ? 200 : 0;
}

const never = (): void => {
  throw new Error("called");
};

test("a token is known until it ends, the keys change, or another one has its place", () => {
  const { clock, method, use } = lab();
  const value = token(first, usualClaims({ exp: Math.floor(clock.nowMs / 1000) + 60 }));
  use(first);
  const judged = () => method.judge(withToken(value), never);
  const found = judged();
  expect(found).toMatchObject({ kind: "in", identity: { user: "alice" } });
  expect(judged()).toBe(found);
  clock.nowMs += 62_000;
  expect(judged()).toMatchObject({ status: 401, reason: "expired" });
  clock.nowMs -= 62_000;
  use(first, second);
  const again = judged();
  expect([statusOf(again), again === found]).toEqual([200, false]);
  use(second);
  clock.nowMs += 1;
  expect(method.judge(withToken(value), never)).toBeNull();
});

test("without keys, requests wait for them; those that have left are not told", () => {
  const { answers, method, use } = lab();
  const told: (Judgement | null)[] = [];
  const [a, b] = [withToken(token(first)), withToken(token(first))];
  expect(method.judge(a, (found) => told.push(found))).toBeNull();
  expect(method.judge(b, never)).toBeNull();
  method.onLeft(b);
  // Another request has the exchange now.
  expect(method.judge(b, (found) => told.push(found))).toBeNull();
  expect(answers).toHaveLength(1);
  use(first);
  answers[0]!(10_000);
  expect(told.map(statusOf)).toEqual([200, 200]);
});

test("where the keys do not come: 503 without any, 401 for a key that is not there; then no question for a while", () => {
  const { answers, clock, method, use } = lab();
  const told: (Judgement | null)[] = [];
  const ask = (value: string) => method.judge(withToken(value), (found) => told.push(found));
  expect(ask(token(first))).toBeNull();
  answers[0]!(10_000);
  expect(told).toMatchObject([{ status: 503, reason: "keys_unavailable" }]);
  expect(ask(token(first))).toMatchObject({ status: 503 });
  use(first);
  expect(ask(token(second))).toMatchObject({ status: 401, reason: "unknown_key" });
  clock.nowMs += 10_000;
  expect(ask(token(second))).toBeNull();
  answers[1]!(10_000);
  expect(told[1]).toMatchObject({ status: 401, reason: "unknown_key" });
});

test("more than a bounded number do not wait", () => {
  const { method } = lab();
  for (let i = 0; i < 256; i++) expect(method.judge(withToken(token(first)), never)).toBeNull();
  expect(method.judge(withToken(token(first)), never)).toMatchObject({ status: 503, reason: "no_room" });
});

test("slow signatures are verified off the event loop, within a bounded queue", async () => {
  const { method, use } = lab();
  use(slow);
  const statuses: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  let refused = 0;
  for (let i = 0; i < 70; i++) {
    const value = i % 2 === 0 ? token(slow, usualClaims({ jti: i })) : `${token(slow).slice(0, -8)}AAAAAAAA`;
    const found = method.judge(withToken(value), (judgement) => {
      statuses.push(statusOf(judgement));
      if (statuses.length === waiting) resolve();
    });
    if (found === null) waiting++;
    else {
      expect(found).toMatchObject({ status: 503, reason: "no_room" });
      refused++;
    }
  }
  expect([waiting, refused]).toEqual([66, 4]);
  await promise;
  expect([statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 401).length]).toEqual([
    33, 33,
  ]);
});

test("a token that is too long is not read, and costs the same at any length", () => {
  const { method, use } = lab();
  use(first);
  for (const length of [16_385, 100_000, 1_000_000])
    expect(method.judge(withToken("A".repeat(length)), never)).toMatchObject({ status: 401, reason: "too_long" });
  const [header, payload, end] = token(first, usualClaims({ pad: "x".repeat(11_000) })).split(".") as [
    string,
    string,
    string,
  ];
  expect(statusOf(method.judge(withToken(`${header}.${payload}.${end}`), never))).toBe(200);
});
