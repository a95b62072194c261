import { expect, test } from "bun:test";
import {
  CREDENTIAL_MEMORY_MS,
  MAX_PASSWORD_CHECKS,
  MAX_REMEMBERED_CREDENTIALS,
  MAX_WAITING_PASSWORDS,
  Passwords,
} from "../../../../src/features/auth/passwords.ts";

const ANYONE = { network: "192.0.2.", client: "192.0.2.1" };

function lab() {
  const checks: { readonly password: string; readonly end: (isGood: boolean) => void }[] = [];
  const clock = { nowMs: 1000 };
  const passwords = new Passwords((password) => new Promise((end) => checks.push({ password, end })), clock);
  const outcomes: (boolean | null)[] = [];
  const verify = (password: string) =>
    passwords.verify({ password, hashes: ["hash"] }, ANYONE, (isGood) => outcomes.push(isGood));
  return { checks, clock, passwords, outcomes, verify };
}

const settled = () => Bun.sleep(0);

test("a few are checked at the same time, some wait, the rest have no room", async () => {
  const { checks, outcomes, verify } = lab();
  for (let i = 0; i < MAX_PASSWORD_CHECKS + MAX_WAITING_PASSWORDS + 3; i++) verify(`${i}`);
  expect(checks.length).toBe(MAX_PASSWORD_CHECKS);
  expect(outcomes).toEqual([null, null, null]);
  for (let i = 0; i < MAX_PASSWORD_CHECKS + MAX_WAITING_PASSWORDS; i++) {
    checks[i]!.end(i % 2 === 0);
    await settled();
  }
  expect(checks.map(({ password }) => Number(password))).toEqual(checks.map((_, i) => i));
  expect(outcomes.filter((one) => one === true).length).toBe((MAX_PASSWORD_CHECKS + MAX_WAITING_PASSWORDS) / 2);
});

test("a good password is remembered with its hash for a while, a wrong one never", async () => {
  const { checks, clock, passwords, verify } = lab();
  verify("good");
  verify("bad");
  checks[0]!.end(true);
  checks[1]!.end(false);
  await settled();
  expect(passwords.knows("good", "hash")).toBe(true);
  expect(passwords.knows("good", "another")).toBe(false);
  expect(passwords.knows("bad", "hash")).toBe(false);
  clock.nowMs += CREDENTIAL_MEMORY_MS;
  expect(passwords.knows("good", "hash")).toBe(false);
});

test("what is remembered is bounded: the oldest goes", async () => {
  const passwords = new Passwords(() => Promise.resolve(true), { nowMs: 0 });
  for (let i = 0; i <= MAX_REMEMBERED_CREDENTIALS; i++) {
    passwords.verify({ password: `${i}`, hashes: ["hash"] }, ANYONE, () => {});
    await settled();
  }
  expect(passwords.knows("0", "hash")).toBe(false);
  expect(passwords.knows("1", "hash")).toBe(true);
  expect(passwords.knows(`${MAX_REMEMBERED_CREDENTIALS}`, "hash")).toBe(true);
});

test("a check that fails counts as a wrong password, and the next one goes on", async () => {
  const outcomes: (boolean | null)[] = [];
  const passwords = new Passwords(() => Promise.reject(new Error("unknown algorithm")), { nowMs: 0 });
  for (let i = 0; i < MAX_PASSWORD_CHECKS + 1; i++)
    passwords.verify({ password: "x", hashes: ["hash"] }, ANYONE, (isGood) => outcomes.push(isGood));
  await Bun.sleep(1);
  expect(outcomes).toEqual(new Array(MAX_PASSWORD_CHECKS + 1).fill(false));
});

test("whose a field is, is remembered for as long as its password, in a bounded number", async () => {
  const { checks, clock, passwords, verify } = lab();
  verify("good");
  checks[0]!.end(true);
  await settled();
  const untilMs = passwords.knownUntil("good", "hash");
  expect(untilMs).toBe(clock.nowMs + CREDENTIAL_MEMORY_MS);
  const field = (text: string) => Buffer.from(`Basic ${text}`);
  passwords.noteShown(field("abc"), { name: "alice", hash: "hash", untilMs });
  expect(passwords.shown(field("abc"))).toMatchObject({ name: "alice", hash: "hash" });
  expect(passwords.shown(field("abC"))).toBeNull();
  clock.nowMs = untilMs;
  expect(passwords.shown(field("abc"))).toBeNull();
  for (let i = 0; i <= MAX_REMEMBERED_CREDENTIALS; i++)
    passwords.noteShown(field(`${i}`), { name: "alice", hash: "hash", untilMs: untilMs + 1 });
  expect(passwords.shown(field("0"))).toBeNull();
  expect(passwords.shown(field("1"))).not.toBeNull();
});

test("a password that does not fit is checked with the other kinds of hash, for the time that this takes", async () => {
  const asked: string[] = [];
  const passwords = new Passwords((_, hash) => Promise.resolve(asked.push(hash) === 3), { nowMs: 0 });
  const outcome = await new Promise((listener) =>
    passwords.verify({ password: "x", hashes: ["own", "a", "b", "c"] }, ANYONE, listener),
  );
  expect([outcome, asked]).toEqual([false, ["own", "a", "b", "c"]]);
  expect(passwords.knows("x", "b")).toBe(false);
});
