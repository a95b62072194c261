import { expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { FaultDetail } from "../../../../src/core/fault-detail.ts";
import { AuthorityChoice, MAX_EGRESS_ORIGINS } from "../../../../src/features/sidecar/authority-choice.ts";
import type { Exchange, Upstream } from "../../../../src/message/exchange.ts";
import { anyExchange } from "../balance/balance-fake.ts";

/** Origins by their key, and how often each was made. */
function fakeOrigins() {
  const made: string[] = [];
  const forgotten: string[] = [];
  const known = new Map<string, Upstream>();
  const tally: string[] = [];
  const choice = new AuthorityChoice(
    {
      originOf: (scheme, authority) => {
        if (authority === "bad") return Fault.BadHost;
        const key = `${scheme}://${authority.toLowerCase()}`;
        const found = known.get(key) ?? ({ label: key } as Upstream);
        if (!known.has(key)) made.push(key);
        known.set(key, found);
        return found;
      },
      isOwn: () => false,
      forget: ({ label }) => {
        forgotten.push(label);
        known.delete(label);
      },
    },
    { upstreamAnswered: (label, status) => tally.push(`${label} ${status}`) },
    { nowMs: 5 },
  );
  return { choice, made, forgotten, tally };
}

const to = (authority: string): Exchange => {
  const ex = anyExchange();
  ex.request.authority = () => authority;
  return ex;
};

test("an origin is made once, however many requests name it at one time and however they spell it", () => {
  const { choice, made } = fakeOrigins();
  const targets = Array.from({ length: 500 }, (_, i) => choice.choose(to(i % 2 === 0 ? "a.test" : "A.TEST"))!);
  expect(made).toEqual(["http://a.test"]);
  expect(new Set(targets.map((target) => target.upstream)).size).toBe(1);
});

test("requests that name nobody, or nobody who can be, are told apart", () => {
  const { choice } = fakeOrigins();
  expect([choice.faultOf(to("")), choice.faultOf(to("bad")), choice.faultOf(to("a.test"))]).toEqual([
    Fault.MissingHost,
    Fault.BadHost,
    Fault.None,
  ]);
  expect(choice.choose(to("bad"))).toBeNull();
});

test("of too many origins the one that was asked for longest ago is forgotten", () => {
  const { choice, made, forgotten } = fakeOrigins();
  for (let i = 0; i < MAX_EGRESS_ORIGINS; i++) choice.choose(to(`h${i}.test`));
  choice.choose(to("h0.test"));
  choice.choose(to("one-more.test"));
  expect(forgotten).toEqual(["http://h1.test"]);
  choice.choose(to("h1.test"));
  expect([made.length, forgotten]).toEqual([MAX_EGRESS_ORIGINS + 2, ["http://h1.test", "http://h2.test"]]);
});

test("each attempt is counted once, by how it ended", () => {
  const { choice, tally } = fakeOrigins();
  const answered = to("a.test");
  const target = choice.choose(answered)!;
  target.onAnswer(answered, 204);
  target.onOver(answered);
  const failed = to("a.test");
  choice.choose(failed)!.onFailure(failed, {
    fault: Fault.UpstreamTimeout,
    detail: FaultDetail.FirstByteTimeout,
    sent: true,
    bodyTaken: false,
    answered: false,
    reused: false,
  });
  const left = to("a.test");
  choice.choose(left)!.onOver(left);
  expect(tally).toEqual(["http://a.test 204", "http://a.test 504", "http://a.test 499"]);
});
