import { describe, expect, test } from "bun:test";
import { SqlShape } from "../../../../src/features/waf/detectors/sql-shape.ts";
import { ValueReading } from "../../../../src/features/waf/match/value-reading.ts";
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

describe("a name and another word", () => {
  const shape = new SqlShape();
  const value = new ValueReading();
  const isRead = (text: string): boolean => {
    const bytes = Buffer.from(text, "latin1");
    value.load(bytes, 0, bytes.length);
    shape.open(value);
    return shape.read(0, true);
  };

  test.each([
    ...["a and b", "a like b", "a not like b", "a div b", "a union select b", "a from b", "a where b", "a having b"],
    ...[
      "a limit 1",
      "a into b",
      "a order by b",
      "a by b",
      "a when b",
      "a as b",
      "a  then b",
      "a\u00a0join b",
      "a desc",
    ],
  ])("%s is SQL", (text) => expect(isRead(text)).toBe(true));

  test.each(["a b", "rock and roll music", "the quick fox", "he  said it", "a select b", "a\u00a0b"])(
    "%s is not",
    (text) => expect(isRead(text)).toBe(false),
  );
});
