import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../../src/core/fault.ts";
import { compileRules } from "../../../../../src/features/waf/seclang/compiled-rules.ts";
import { RequestFacts } from "../../../../../src/features/waf/seclang/request-facts.ts";
import { type PhaseResult, runPhase } from "../../../../../src/features/waf/seclang/rule-engine.ts";
import { RuleFirewall, transactionOf } from "../../../../../src/features/waf/seclang/rule-firewall.ts";
import {
  MAX_RULE_VARIABLES,
  RULE_STEPS,
  RuleTransaction,
} from "../../../../../src/features/waf/seclang/rule-transaction.ts";
import { questionedExchange } from "../../../../../src/features/waf/waf-explanation.ts";
import { switchesOf } from "../../../../../src/features/waf/waf-inspector.ts";
import { Exchange } from "../../../../../src/message/exchange.ts";
import {
  compileRuleExpression,
  isExpressionFault,
  judgeRuleExpression,
  type MeasuredExpression,
} from "../../../../../src/proto/expression/expression.ts";
import { readRules } from "../../../../../src/proto/seclang/rule-set-reader.ts";
import { bodyReading } from "../../../../harness/waf-bodies.ts";
import { ENFORCE } from "../waf-settings.ts";

function run(rules: string, target: string, excluded = ""): PhaseResult & { readonly transaction: RuleTransaction } {
  const { set, faults } = readRules(["a.conf"], { matching: () => [], read: () => rules }, judgeRuleExpression);
  expect(faults).toEqual([]);
  const ex = questionedExchange({ method: "GET", target, headers: [], body: new Uint8Array(0) });
  if (!(ex instanceof Exchange)) throw new Error(`no request: ${target}`);
  const transaction = new RuleTransaction(new RequestFacts(ex), "on");
  const { phases } = compileRules(set, new Set());
  return { ...runPhase(phases[1]!, transaction, (id, name) => `${id} ${name}` === excluded), transaction };
}

describe("rules of a phase", () => {
  test("end with the first that denies", () => {
    const { ending, matches } = run(
      'SecRule ARGS:a "@streq 1" "id:1,phase:1,pass,msg:\'a is %{ARGS.a}\'"\nSecAction "id:2,phase:1,deny"\nSecAction "id:3,phase:1,deny"',
      "/?a=1",
    );
    expect(matches.map(({ rule, msg }) => [rule.id, msg])).toEqual([
      [1, "a is 1"],
      [2, ""],
    ]);
    expect(ending?.match.rule.id).toBe(2);
  });

  test("leave out what the configuration excludes", () => {
    const rule = 'SecRule ARGS "@streq 1" "id:7,phase:1,deny"';
    expect(run(rule, "/?a=1").ending).not.toBeNull();
    expect(run(rule, "/?a=1", "7 a").ending).toBeNull();
    expect(run(rule, "/?a=1&b=1", "7 a").ending?.match.variable).toBe("ARGS:b");
  });

  test("set no more variables than there may be", () => {
    const many = Array.from({ length: MAX_RULE_VARIABLES + 9 }, (_, i) => `setvar:tx.a${i}=1`).join();
    expect(run(`SecAction "id:1,phase:1,pass,${many}"`, "/").transaction.variables.size).toBe(MAX_RULE_VARIABLES);
  });

  test("stop when the steps of the request are spent", () => {
    const rules = Array.from(
      { length: 4000 },
      (_, i) => `SecRule QUERY_STRING "@within ${i}" "id:${i + 1},phase:1,deny"`,
    );
    const { isSpent, ending, transaction } = run(rules.join("\n"), `/?${"a".repeat(8000)}`);
    expect([isSpent, ending]).toEqual([true, null]);
    expect(transaction.steps).toBeLessThan(0);
    expect(run(rules.slice(0, 1000).join("\n"), `/?${"a".repeat(8000)}`).isSpent).toBe(false);
  });
});

describe("a stream of messages", () => {
  const rules = `SecRule ARGS_GET:a "@streq 1" "id:1,phase:1,pass,nolog,setvar:tx.head=+1"
SecRule ARGS_GET:a "@streq 1" "id:2,phase:2,pass,nolog,setvar:tx.score=+1,setvar:tx.%{ARGS_POST.json.n}=1,ctl:ruleRemoveById=9"
SecRule ARGS_POST:json.token "@streq x" "id:3,phase:2,allow,nolog"
SecRule TX:score "@gt 1" "id:4,phase:2,deny"
SecRule ARGS_POST:json.q "@streq bad" "id:5,phase:2,deny"`;

  function stream(): { readonly ex: Exchange; readonly judge: (body: string) => Fault } {
    const { set } = readRules(["a.conf"], { matching: () => [], read: () => rules }, judgeRuleExpression);
    const listener = { onInspected() {}, onIncident() {}, onBudgetExhausted() {}, onOverLimit() {} };
    const switches = switchesOf([], [], ENFORCE);
    const firewall = new RuleFirewall(set, { settings: ENFORCE, switches, listener, clock: { nowMs: 0 } });
    const headers = ["Content-Type: application/json"];
    const ex = questionedExchange({ method: "GET", target: "/?a=1", headers, body: new Uint8Array(0) }) as Exchange;
    expect(firewall.judgeHead(ex)).toBe(Fault.None);
    return { ex, judge: (body) => firewall.judgeBody(ex, bodyReading(ex.request.headers, Buffer.from(body)), true) };
  }

  test("is judged message by message: what rules set and count for one does not add up", () => {
    const { ex, judge } = stream();
    const transaction = transactionOf(ex)!;
    for (let i = 0; i < 20_000; i++) expect(judge(`{"n":"v${i}"}`)).toBe(Fault.None);
    // Of the head, and of the last message.
    expect([...transaction.variables]).toEqual([
      ["head", "1"],
      ["score", "1"],
      ["v19999", "1"],
    ]);
    expect(transaction.removedCount).toBe(1);
    expect(transaction.steps).toBeGreaterThan(RULE_STEPS / 2);
    expect(judge('{"q":"bad"}')).toBe(Fault.WafBlocked);
  });

  test("is not let pass as a whole for what one message says", () => {
    const { judge } = stream();
    expect(judge('{"token":"x","q":"bad"}')).toBe(Fault.None);
    expect(judge('{"q":"bad"}')).toBe(Fault.WafBlocked);
  });
});

function expression(source: string): MeasuredExpression {
  const made = compileRuleExpression(source, { program: 8192, statesBytes: 65_536 });
  if (isExpressionFault(made)) throw new Error(made.fault);
  return made;
}

describe("an expression of a rule", () => {
  test("is given up where it takes more steps than are left", () => {
    // What must be remembered is more than there is room for.
    const source = "a[ab]{14}c$";
    let seed = 7;
    const letter = (): string => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed > 1_073_741_824 ? "a" : "b";
    };
    const text = `c${Array.from({ length: 65_000 }, letter).join("")}b`;
    const [limited, made] = [expression(source), expression(source)];
    expect(limited.measure(text, 10)).toBeNull();
    expect(made.measure(text, RULE_STEPS)).toBe(false);
    expect(made.spent).toBeGreaterThan(10_000);
    // Both are as good as before.
    for (const one of [limited, made]) expect(one.measure(`a${"b".repeat(14)}c`, RULE_STEPS)).toBe(true);
  });

  test("matches bytes", () => {
    const made = expression("^[\\xc3]\\xa9$");
    expect(made.test(Buffer.from("é").toString("latin1"))).toBe(true);
    expect(made.test("\xe9")).toBe(false);
  });
});
