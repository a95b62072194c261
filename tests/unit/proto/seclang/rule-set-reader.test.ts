import { describe, expect, test } from "bun:test";
import { compileRuleExpression, isExpressionFault } from "../../../../src/proto/expression/expression.ts";
import type { ChainedRule, RuleEntry } from "../../../../src/proto/seclang/rule-set.ts";
import { type RuleFiles, readRules } from "../../../../src/proto/seclang/rule-set-reader.ts";

function read(files: Readonly<Record<string, string>>) {
  const source: RuleFiles = {
    matching(pattern) {
      const expression = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
      return Object.keys(files).filter((name) => expression.test(name));
    },
    read: (name) => files[name] ?? new Error("no such file"),
  };
  const [first] = Object.keys(files);
  return readRules([first!], source, (expression) => {
    const made = compileRuleExpression(expression, { program: 1000, statesBytes: 65_536 });
    return { fault: isExpressionFault(made) ? made.fault : "", literals: null };
  });
}

function rulesOf(entries: readonly RuleEntry[]): ChainedRule[] {
  return entries.filter((entry): entry is ChainedRule => "id" in entry);
}

function rule(text: string): ChainedRule {
  const { set, faults } = read({ "a.conf": text });
  expect(faults).toEqual([]);
  return rulesOf(set.entries)[0]!;
}

describe("rules", () => {
  test("a rule has variables, an operator and actions", () => {
    const found = rule(
      `SecRule ARGS|!ARGS:q|&REQUEST_COOKIES|TX:'/^a|b/' "!@rx ^x\\"y" "id:7,phase:1,deny,status:429,t:none,t:lowercase,msg:'a, b',tag:one,tag:'two',severity:CRITICAL,logdata:'%{MATCHED_VAR}'"`,
    );
    expect(found).toMatchObject({
      ...{
        id: 7,
        phase: 1,
        disruptive: "deny",
        status: 429,
        msg: "a, b",
        tags: ["one", "two"],
        severity: 2,
        log: true,
      },
      place: "a.conf:1",
      links: [
        {
          targets: [
            { name: "ARGS", key: "", keyExpression: "", isCount: false },
            { name: "REQUEST_COOKIES", key: "", keyExpression: "", isCount: true },
            { name: "TX", key: "", keyExpression: "^a|b", isCount: false },
          ],
          excluded: [{ name: "ARGS", key: "q" }],
          operator: { name: "rx", negated: true, argument: '^x"y' },
          transformations: ["lowercase"],
        },
      ],
    });
  });

  test("a directive goes on after a backslash, over comments and blank lines", () => {
    const found = rule('SecRule ARGS \\\n  # not this\n\n  "@streq a" \\\n  "id:1,\\\n  deny"\n');
    expect(found).toMatchObject({ id: 1, disruptive: "deny", links: [{ operator: { name: "streq", argument: "a" } }] });
  });

  test("a text alone is an expression", () => {
    expect(rule('SecRule ARGS "^a" "id:1"').links[0]!.operator).toMatchObject({ name: "rx", argument: "^a" });
    expect(rule('SecRule ARGS "!^a" "id:1"').links[0]!.operator).toMatchObject({ name: "rx", negated: true });
  });

  test("rules of a chain are one entry", () => {
    const found = rule(
      'SecRule ARGS:a "@eq 1" "id:1,deny,chain"\nSecRule ARGS:b "@eq 2" "chain,setvar:tx.x=+1"\nSecRule ARGS:c "@eq 3" "capture"',
    );
    expect(found.links.map((link) => link.targets[0]!.key)).toEqual(["a", "b", "c"]);
    expect(found.links[1]!.setvars).toEqual([{ name: "x", value: "+1", removes: false }]);
  });

  test("what a rule does not say is said by SecDefaultAction of its phase", () => {
    const text = `SecDefaultAction "phase:2,nolog,deny,status:410"
      SecRule ARGS "a" "id:1,block"
      SecRule ARGS "a" "id:2,phase:1,block"
      SecRule ARGS "a" "id:3,pass,log"`;
    expect(rulesOf(read({ "a.conf": text }).set.entries)).toMatchObject([
      { disruptive: "deny", status: 410, log: false },
      { disruptive: "pass", log: true },
      { disruptive: "pass", log: true },
    ]);
  });

  test("rules are taken away and changed by number, tag and message", () => {
    const text = `SecRule ARGS "a" "id:1"
      SecRule ARGS "a" "id:2,tag:x"
      SecRule ARGS "a" "id:3,msg:'m'"
      SecRule ARGS "a" "id:4"
      SecRule ARGS "a" "id:15"
      SecRuleRemoveById 1 10-20
      SecRuleRemoveByTag x
      SecRuleRemoveByMsg m
      SecRuleUpdateTargetById 4 "!ARGS:q,REQUEST_URI"`;
    const { set, faults } = read({ "a.conf": text });
    expect(faults).toEqual([]);
    expect(rulesOf(set.entries)).toMatchObject([
      { id: 4, links: [{ targets: [{ name: "ARGS" }, { name: "REQUEST_URI" }], excluded: [{ key: "q" }] }] },
    ]);
  });

  test("files are included, and phrases read", () => {
    const { set, faults } = read({
      "a.conf": "SecRuleEngine DetectionOnly\nInclude r-*.conf\nSecMarker END",
      "r-1.conf": 'SecRule ARGS "@pmFromFile words.data" "id:1,skipAfter:END"',
      "r-2.conf": 'SecAction "id:2,nolog,pass,setvar:!tx.a"',
      "words.data": "# words\nalpha\n\nbeta\n",
    });
    expect(faults).toEqual([]);
    expect(set.engine).toBe("detection");
    expect(set.entries).toMatchObject([
      { id: 1, links: [{ operator: { name: "pm", lines: ["alpha", "beta"] } }] },
      { id: 2, links: [{ operator: null, setvars: [{ name: "a", removes: true }] }] },
      { marker: "END" },
    ]);
  });

  test("ctl changes the request", () => {
    const found = rule(
      'SecAction "id:1,pass,ctl:ruleEngine=Off,ctl:ruleRemoveById=5-9,ctl:ruleRemoveTargetByTag=x;ARGS:/^q/,ctl:requestBodyProcessor=JSON"',
    );
    expect(found.links[0]!.controls).toMatchObject([
      { what: "engine", engine: "off" },
      { what: "remove", rules: { by: "id", from: 5, to: 9 } },
      { what: "removeTarget", rules: { by: "tag", text: "x" }, target: { name: "ARGS", keyExpression: "^q" } },
      { what: "processor", processor: "JSON" },
    ]);
  });
});

describe("a fault has its place and its cure", () => {
  test.each([
    ['SecRul ARGS "a" "id:1"', 1, 1, "the directive SecRul is not supported"],
    ['SecRule ARGZ "a" "id:1"', 1, 9, "the variable ARGZ is not supported"],
    ['SecRule ARGS|RESPONSE_BODY "a" "id:1"', 1, 14, "response bodies are not looked at"],
    ['SecRule REQUEST_URI:x "a" "id:1"', 1, 20, "nothing can be chosen of it"],
    ['SecRule XML:/a/b "a" "id:1"', 1, 13, "XPath is not supported"],
    ['SecRule ARGS "@geoLookup" "id:1"', 1, 15, "deny_countries"],
    ['SecRule ARGS "@rx (?<=a)b" "id:1"', 1, 19, "looks around itself"],
    ['SecRule ARGS "@rx (a)\\1" "id:1"', 1, 19, "refers back to a group"],
    ['SecRule ARGS "@rx (" "id:1"', 1, 19, "this expression cannot be used"],
    ['SecRule ARGS:/(/ "a" "id:1"', 1, 15, "this expression cannot be used"],
    ['SecRule ARGS "@eq a" "id:1"', 1, 19, "whole number"],
    ['SecRule ARGS "@validateByteRange 9-300" "id:1"', 1, 34, "bytes and ranges"],
    ['SecRule REMOTE_ADDR "@ipMatch 10.0.0.0/8,here" "id:1"', 1, 42, 'found "here"'],
    ['SecRule ARGS "@pmFromFile gone" "id:1"', 1, 27, "cannot be read: no such file"],
    ['SecRule ARGS "@streq %{time_hour}" "id:1"', 1, 22, "the macro %{time_hour} is not supported"],
    ['SecRule ARGS "a" "phase:2"', 1, 1, "needs a number of its own"],
    ['SecRule ARGS "a" "id:1,phase:5"', 1, 24, "phase 5 is not supported"],
    ['SecRule ARGS "a" "id:1,phase:9"', 1, 24, "a phase from 1 to 4"],
    ['SecRule ARGS "a" "id:1,t:rot13"', 1, 24, "the transformation rot13"],
    ['SecRule ARGS "a" "id:1,deni"', 1, 24, "the action deni is not supported"],
    ['SecRule ARGS "a" "id:1,initcol:ip=%{REMOTE_ADDR}"', 1, 24, "rate_limit"],
    ['SecRule ARGS "a" "id:1,setvar:ip.x=1"', 1, 24, "the collection ip is not supported"],
    ['SecRule ARGS "a" "id:1,ctl:auditEngine=Off"', 1, 24, "there is no audit log"],
    ['SecRule ARGS "a" "id:1,severity:BAD"', 1, 24, "expected a severity"],
    ['SecRule ARGS "a" "id:1,redirect:javascript:x"', 1, 24, "where the redirect leads"],
    ['SecRule ARGS "a" "id:1,status:99"', 1, 24, "from 200 to 599"],
    ['SecRule ARGS "a" "id:1,msg:\'x"', 1, 28, "is not closed"],
    ['SecRule ARGS "a', 1, 14, "is not closed"],
    ['SecRule ARGS "a" "id:1" "b"', 1, 26, "one argument too many"],
    ["SecRule ARGS", 1, 13, "expected variables, an operator and actions"],
    ['SecRule ARGS "a" \\\n   "id:1,\\\n   phase:7"', 3, 4, "a phase from 1 to 4"],
    ['SecRule ARGS "a" "id:1"\nSecRule ARGS "b" "id:1"', 2, 19, "a rule 1 already, at a.conf:1"],
    ['SecRule ARGS "a" "id:1,chain"\nSecRule ARGS "b" "deny"', 2, 19, "only the first rule of a chain"],
    ['SecRule ARGS "a" "id:1,chain"', 1, 1, "the chain ends here"],
    ['SecRule ARGS "a" "id:1,skipAfter:X"', 1, 1, 'no SecMarker is called "X"'],
    ['SecRule ARGS "a" \\', 1, 1, "the file ends within this directive"],
    ["Include gone.conf", 1, 9, 'no file "gone.conf"'],
    ["Include a.conf", 1, 9, "include each other"],
    ["SecRuleEngine Maybe", 1, 15, "On, DetectionOnly or Off"],
    ['SecDefaultAction "phase:2,log"', 1, 19, "expected deny, pass"],
    ["SecRequestBodyAccess On", 1, 1, "max_inspect_body_size"],
  ])("%s", (text, line, col, message) => {
    const { faults } = read({ "a.conf": text });
    expect(faults[0]).toMatchObject({ file: "a.conf", line, col });
    expect(faults[0]!.message).toContain(message);
  });

  test("a faulty chain is one fault, and the rules after it are read", () => {
    const text = 'SecRule GEO "a" "id:1,chain"\nSecRule ARGS "b" "chain"\nSecRule ARGS "c"\nSecRule ARGS "d" "id:2"';
    const { set, faults } = read({ "a.conf": text });
    expect(faults).toHaveLength(1);
    expect(rulesOf(set.entries).map(({ id }) => id)).toEqual([2]);
  });

  test("a file that is not there is a fault of its own", () => {
    const source: RuleFiles = { matching: () => [], read: () => new Error("no such file") };
    expect(readRules(["x.conf"], source, () => ({ fault: "", literals: null })).faults).toEqual([
      { file: "x.conf", line: 1, col: 1, message: "this file cannot be read: no such file" },
    ]);
  });
});
