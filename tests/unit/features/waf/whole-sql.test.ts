import { describe, expect, test } from "bun:test";
import { inspectVector } from "./vector-request.ts";

const OPERATORS = ["<<", ">>", "!=", "<>", "<=", "<=>", "||", "DIV", "MOD", "XOR", "RLIKE", "NOT LIKE", "SOUNDS LIKE"];
const OPERANDS = ["1", "-1", "'1'", "@version", "sin(1)", "sin((id))", "((1))"];
const BEHIND_QUOTE = [
  "&0+1='aa",
  "/1 or '1",
  " is 0 or '1",
  "*null or '1",
  "-@a or '1",
  " or md5(5)^'1",
  " div 1 or 1='1",
];

/** Values that a rule about SQL does not block. */
function passing(values: readonly string[]): string[] {
  return values.filter((value) => {
    const { score, ids } = inspectVector(value);
    return score < 5 || !ids.some((id) => id.startsWith("SQLI"));
  });
}

describe("values that are SQL as a whole are found, whatever operator or operand they have", () => {
  test("operators between the halves of the application's text", () => {
    const forms = OPERATORS.flatMap((one) => [`'${one}'`, `' ${one} '`, `a' ${one} 'b`]);
    expect(passing(forms)).toEqual([]);
  });

  test("lists of columns, cut off where the application's condition begins", () => {
    const lists = OPERANDS.flatMap((one) => OPERANDS.map((other) => `select ${one},${other},2 from bar where`));
    expect(passing(lists)).toEqual([]);
  });

  test("what goes on behind a quote, up to the application's own", () => {
    const values = ["aa'", "1'", " abc'"].flatMap((head) => BEHIND_QUOTE.map((rest) => head + rest));
    expect(passing(values)).toEqual([]);
  });
});

test("an attack that a rule about a place finds is not counted again as a whole", () => {
  for (const value of ["1' or 1=1 --", "1 or 1=1", "' or 'a'='a"]) {
    expect(inspectVector(value).ids.filter((id) => id.startsWith("SQLI"))).toHaveLength(1);
  }
});
