import { describe, expect, test } from "bun:test";
import { AnyMethod } from "../../../../src/features/auth/any-method.ts";
import type { AuthMethod } from "../../../../src/features/auth/auth-phase.ts";
import {
  DENIED,
  FORBIDDEN,
  type Judgement,
  letIn,
  NO_ROOM,
  type Refusal,
  refusedWith,
} from "../../../../src/features/auth/judgement.ts";
import { NO_IDENTITY_PARTS } from "../../../../src/message/client-peer.ts";
import { Exchange } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";
import { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";

const IN: Judgement = letIn({ ...NO_IDENTITY_PARTS, user: "al", hidesCredentials: false });

function answered(status: number): Judgement {
  return refusedWith(new PrebuiltResponse(status, [["X-Of", String(status)]], ""));
}

/** Judges at once, or when it is told to. */
class Scripted implements AuthMethod {
  readonly name = "scripted";
  readonly left: Exchange[] = [];
  asked = 0;
  later: ((judgement: Judgement) => void) | null = null;

  constructor(
    private readonly judgement: Judgement | null,
    readonly challenge = "",
  ) {}

  judge(_ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    this.asked++;
    this.later = later;
    return this.judgement;
  }

  onLeft(ex: Exchange): void {
    this.left.push(ex);
  }
}

const never = (): void => {
  throw new Error("there was a judgement already");
};
const judged = (...all: readonly Judgement[]): Refusal | null =>
  new AnyMethod(all.map((one, i) => new Scripted(one, `C${i}`))).judge(
    new Exchange(IDLE_PORTS),
    never,
  ) as Refusal | null;

describe("several methods", () => {
  test("the first that lets in does, and the others are not asked", () => {
    const methods = [new Scripted(DENIED), new Scripted(IN), new Scripted(IN)];
    expect(new AnyMethod(methods).judge(new Exchange(IDLE_PORTS), never)).toBe(IN);
    expect(methods.map(({ asked }) => asked)).toEqual([1, 1, 0]);
  });

  test("where none does, the refusal is one that helps", () => {
    expect(judged(DENIED, FORBIDDEN, DENIED)).toMatchObject({ status: 401, challenge: "C0\nC2" });
    expect(judged(DENIED, NO_ROOM)?.status).toBe(503);
    expect(judged(FORBIDDEN, FORBIDDEN)?.status).toBe(403);
    expect(judged({ kind: "refused", status: 429, retryAfterS: 7 }, DENIED)).toMatchObject({
      status: 429,
      retryAfterS: 7,
    });
    expect(judged(answered(403), DENIED, answered(302))?.response?.status).toBe(302);
  });

  test("a 401 of a method's own has the challenges of the others", () => {
    expect(judged(DENIED, answered(401))?.response?.fields).toEqual([
      ["X-Of", "401"],
      ["WWW-Authenticate", "C0"],
      ["WWW-Authenticate", "C1"],
    ]);
  });

  test("at a path of a method's own it alone is asked", () => {
    const own: Judgement = { kind: "own", response: new PrebuiltResponse(200, [], "") };
    const [before, owner] = [new Scripted(IN), new Scripted(own)];
    const any = new AnyMethod([before, Object.assign(owner, { owns: () => true }), new Scripted(IN)]);
    expect(any.judge(new Exchange(IDLE_PORTS), never)).toBe(own);
    expect([before.asked, owner.asked]).toEqual([0, 1]);
  });

  test("and a client that leaves there takes its question back", () => {
    const ex = new Exchange(IDLE_PORTS);
    const [before, owner] = [new Scripted(DENIED), new Scripted(null)];
    const any = new AnyMethod([before, Object.assign(owner, { owns: () => true })]);
    expect(any.judge(ex, never)).toBeNull();
    any.onLeft(ex);
    expect([before.left, owner.left]).toEqual([[], [ex]]);
  });

  test("one that takes its time is waited for, and the next is asked then", () => {
    const ex = new Exchange(IDLE_PORTS);
    const [slow, next] = [new Scripted(null), new Scripted(null)];
    const found: Judgement[] = [];
    expect(new AnyMethod([slow, next]).judge(ex, (one) => found.push(one))).toBeNull();
    slow.later!(DENIED);
    expect([next.asked, found]).toEqual([1, []]);
    next.later!(IN);
    expect(found).toEqual([IN]);
  });

  test("a client that leaves takes back what is asked now, and a late judgement is no other request's", () => {
    const ex = new Exchange(IDLE_PORTS);
    const [first, slow] = [new Scripted(DENIED), new Scripted(null)];
    const any = new AnyMethod([first, slow]);
    any.judge(ex, never);
    const late = slow.later!;
    any.onLeft(ex);
    expect([first.left, slow.left]).toEqual([[], [ex]]);
    const found: Judgement[] = [];
    any.judge(ex, (one) => found.push(one));
    late(IN);
    expect(found).toEqual([]);
    slow.later!(DENIED);
    expect(found).toMatchObject([{ status: 401 }]);
  });
});
