import { describe, expect, test } from "bun:test";
import {
  Comparison,
  MAX_COMPARED_BYTES,
  type MirrorDifference,
  ResponseDigest,
} from "../../../../src/features/mirror/comparison.ts";
import { MIRROR_FAILURES, MIRROR_REST_MS, MirrorChoice } from "../../../../src/features/mirror/mirror-choice.ts";
import type { Upstream } from "../../../../src/message/exchange.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

/** A digest of a body that came in pieces of this size. */
function digest(status: number, body: Buffer, size = body.length): ResponseDigest {
  const found = new ResponseDigest();
  found.status = status;
  for (let at = 0; at < body.length; at += size) found.add(body, at, Math.min(body.length, at + size));
  return found;
}

function differences(real: ResponseDigest, mirrors: ResponseDigest): MirrorDifference[] {
  return [true, false].map((isFirst) => {
    const found: MirrorDifference[] = [];
    const comparison = new Comparison((difference) => found.push(difference));
    // Whichever is complete first.
    if (isFirst) comparison.complete(mirrors, true);
    comparison.complete(real, false);
    if (!isFirst) comparison.complete(mirrors, true);
    return found[0]!;
  });
}

describe("two responses", () => {
  const body = Buffer.alloc(10_000, "abcdefg");
  const none = [undefined, undefined] as unknown as MirrorDifference[];

  test("with one status and body are the same, in whatever pieces and order they come", () => {
    for (const size of [1, 7, 4096]) expect(differences(digest(200, body), digest(200, body, size))).toEqual(none);
    expect(differences(digest(204, Buffer.alloc(0)), digest(204, Buffer.alloc(0)))).toEqual(none);
  });

  test("differ by a byte, a length or a status", () => {
    const other = Buffer.from(body);
    other[9999] = 0;
    const bodies = { status: 200, mirrorStatus: 200, isBodySame: false };
    expect(differences(digest(200, body), digest(200, other))).toEqual([bodies, bodies]);
    expect(differences(digest(200, body), digest(200, body.subarray(1)))).toEqual([bodies, bodies]);
    const statuses = { status: 200, mirrorStatus: 500, isBodySame: true };
    expect(differences(digest(200, body), digest(500, body))).toEqual([statuses, statuses]);
  });

  test("are the same where what differs is beyond the first MiB", () => {
    const long = Buffer.alloc(MAX_COMPARED_BYTES + 10, "x");
    const other = Buffer.from(long);
    other[MAX_COMPARED_BYTES] = 0;
    expect(differences(digest(200, long, 60_000), digest(200, other, 65_536))).toEqual(none);
    other[MAX_COMPARED_BYTES - 1] = 0;
    expect(differences(digest(200, long), digest(200, other, 65_536))[0]).toMatchObject({ isBodySame: false });
  });
});

describe("a mirror", () => {
  const failure = (choice: MirrorChoice): boolean => {
    const { ex } = fakeExchange({});
    const isSent = choice.choose(ex) !== null;
    if (isSent) choice.onFailure(ex);
    return isSent;
  };

  test("rests after failures in a row, and is then tried by one request", () => {
    const turn = { nowMs: 1000 };
    let sent = 0;
    const choice = new MirrorChoice({} as Upstream, "/base", turn, {
      onSent: () => void sent++,
      isDrained: () => false,
    });
    for (let i = 0; i < MIRROR_FAILURES; i++) expect(failure(choice)).toBe(true);
    expect([choice.isOut(), failure(choice), sent]).toEqual([true, false, MIRROR_FAILURES]);
    turn.nowMs += MIRROR_REST_MS;
    expect(choice.isOut()).toBe(false);
    const { ex } = fakeExchange({});
    expect(choice.choose(ex)).toBe(choice);
    expect(failure(choice)).toBe(false);
    choice.onAnswer(ex);
    expect([choice.isOut(), failure(choice), failure(choice)]).toEqual([false, true, true]);
  });

  test("that is drained gets nothing, and goes on where it was", () => {
    let isDrained = true;
    const choice = new MirrorChoice({} as Upstream, "", { nowMs: 0 }, { onSent() {}, isDrained: () => isDrained });
    const { ex } = fakeExchange({});
    expect([choice.isOut(), choice.choose(ex)]).toEqual([true, null]);
    isDrained = false;
    expect([choice.isOut(), choice.choose(ex)]).toEqual([false, choice]);
  });

  test("that answers now and then is never left out", () => {
    const choice = new MirrorChoice({} as Upstream, "", { nowMs: 0 }, { onSent() {}, isDrained: () => false });
    for (let i = 0; i < 40; i++) {
      const { ex } = fakeExchange({});
      expect(choice.choose(ex)).toBe(choice);
      if (i % MIRROR_FAILURES === 0) choice.onAnswer(ex);
      else choice.onFailure(ex);
    }
  });
});
