import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TRANSFORMATION_OF } from "../../src/features/waf/seclang/transformations.ts";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { judgeRuleExpression } from "../../src/proto/expression/expression.ts";
import { readRules } from "../../src/proto/seclang/rule-set-reader.ts";
import { ruleBody } from "../harness/waf-bodies.ts";

// Rules of waf.rules: whatever is in a file or in a body, reading it ends, and says where what is wrong is.

const PIECES = [
  ..."SecRule SecAction SecMarker Include SecDefaultAction SecRuleRemoveById SecRuleUpdateTargetById SecRuleEngine".split(
    " ",
  ),
  ..."ARGS ARGS:a !ARGS:/x/ &TX:y REQUEST_URI XML:/* TX:'/a|b/' @rx @pm @ipMatch @eq !@streq (a|b)+ [a-z] 10.0.0.0/8 %{tx.a} %{".split(
    " ",
  ),
  ..."id:1 id:2 phase:1 deny pass chain msg:'x' t:none setvar:tx.a=+1 ctl:ruleRemoveById=3 skipAfter:E redirect:/x ' , | : = #".split(
    " ",
  ),
  ...['"', '\\"', "\\", "\n", "\\\n", " ", "\t", "é", "\0"],
];
const files = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(""));
const bytes = fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some).toString("latin1"));
const marked = fc
  .array(fc.constantFrom(..."% \\ & ; # + u x 0 4 1 f { } / . * - < > ! lt = \" ' ^ \u00e9".split(" ")), {
    maxLength: 80,
  })
  .map((pieces) => pieces.join(""));

describe("files of rules", () => {
  test("are read to their end, and each fault has a place in the file", () => {
    fc.assert(
      fc.property(fc.oneof(files, bytes), (text) => {
        const { faults } = readRules(["a.conf"], { matching: () => [], read: () => text }, judgeRuleExpression);
        const lines = text.split("\n");
        for (const { line, col } of faults) {
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(col).toBeLessThanOrEqual(lines[line - 1]!.length + 1);
          expect(Math.min(line, col)).toBeGreaterThan(0);
        }
      }),
    );
  });
});

describe("what rules see", () => {
  test.each(Object.entries(TRANSFORMATION_OF))("%s takes any text, and gives bytes", (_, change) => {
    fc.assert(
      fc.property(fc.oneof(bytes, marked), (text) => {
        expect(/^[\x00-\xff]*$/.test(change(text))).toBe(true);
      }),
    );
  });

  test("any body is taken apart", () => {
    const types = [
      "application/json",
      "text/xml",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=b",
      "",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.oneof(bytes, marked, fc.json()), (type, text) => {
        const headers = new HeaderBlock();
        headers.resetOwn();
        headers.add("Content-Type", type);
        const body = Buffer.from(text, "utf8");
        const facts = ruleBody(headers, body, {}, 200);
        expect(facts.raw.length).toBeLessThanOrEqual(200);
      }),
    );
  });

  test("JSON has its values as the runtime reads them", () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3 }), (value) => {
        const text = JSON.stringify(value);
        const headers = new HeaderBlock();
        headers.resetOwn();
        headers.add("Content-Type", "application/json");
        const { args, error } = ruleBody(headers, Buffer.from(text), { isJson: true }, 1e6);
        expect(error).toBe("");
        const leaves = (one: unknown): number => {
          if (typeof one !== "object" || one === null) return 1;
          return Object.values(one).reduce<number>((sum, each) => sum + leaves(each), Array.isArray(one) ? 1 : 0);
        };
        expect(args.length).toBe(Math.min(1000, leaves(JSON.parse(text))));
      }),
    );
  });
});
