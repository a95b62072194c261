import { expect, test } from "bun:test";
import fc from "fast-check";
import { BotTokens } from "../../src/features/bots/bot-tokens.ts";
import { sign, solve } from "../harness/bot-solver.ts";
import { fakeExchange } from "../unit/features/telemetry/exchange-fake.ts";

const SECRET = "a secret of the fleet";
const AGENT = "Mozilla/5.0 Gecko/20100101";
const NOW_S = 1_790_000_000;
const OWN = { issuedS: NOW_S, bits: 8, network: "127.0.0", host: "a.test", agent: AGENT };
const TERMS = { difficulty: 8, ttlMs: 3_600_000 };
const PASS = sign(SECRET, { ...OWN, purpose: "pass" });
const SOLUTION = solve(sign(SECRET, { ...OWN, purpose: "task" }));
const tokens = new BotTokens(SECRET);

function standing(cookie: string): string {
  const headers = [
    ["Host", "a.test"],
    ["User-Agent", AGENT],
    ["Cookie", cookie],
  ] as const;
  const { ex } = fakeExchange({ headers });
  return tokens.judge(ex, TERMS, NOW_S * 1000).is;
}

const cookieText = fc.stringMatching(/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{0,80}$/);

test("a pass and a solution of the gateway's own count", () => {
  expect(standing(`edge_pass=${PASS}`)).toBe("passed");
  expect(standing(`edge_solution=${SOLUTION}`)).toBe("solved");
});

test("what differs from them in one place does not", () => {
  const changed = fc.record({
    whole: fc.constantFrom(PASS, SOLUTION.slice(0, SOLUTION.lastIndexOf("."))),
    at: fc.nat(200),
    put: fc.constantFrom(..."abcxyzABCXYZ0123456789-_.~= "),
    cut: fc.nat(1),
  });
  fc.assert(
    fc.property(changed, ({ whole, at, put, cut }) => {
      const place = at % whole.length;
      const text = `${whole.slice(0, place)}${put}${whole.slice(place + cut)}`.trim();
      fc.pre(text !== whole);
      expect(standing(`edge_pass=${text}`)).toBe("refused");
      const solution = `${text}${SOLUTION.slice(SOLUTION.lastIndexOf("."))}`;
      expect(standing(`edge_solution=${solution}`)).toBe("refused");
    }),
  );
});

test("no other text does, and none is too much", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("edge_pass", "edge_solution", "a"), cookieText), { maxLength: 20 }),
      (all) => {
        expect(standing(all.map(([name, value]) => `${name}=${value}`).join("; "))).toBe("refused");
      },
    ),
  );
});
