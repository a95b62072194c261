import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { csvRecords } from "../../../../src/proto/csv/csv-records.ts";

const quoted = (field: string) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

describe("records of a CSV file", () => {
  test.each<readonly [string, readonly string[]]>([
    ["a,b", ["a", "b"]],
    ["a,,", ["a", "", ""]],
    ['"a,b",c', ["a,b", "c"]],
    ['"a""b",""', ['a"b', ""]],
    ['a,"b"', ["a", "b"]],
    [" a , b ", [" a ", " b "]],
  ])("%s", (text, fields) => {
    expect([...csvRecords(text)]).toEqual([{ line: 1, fields, fault: "" }]);
  });

  test.each(['"a', 'a"b,c', '"a"b,c', 'a,"b""'])("%s is broken, and costs no other line", (text) => {
    const [first, second, ...others] = csvRecords(`${text}\r\nc,d\r\n`);
    expect(first!.fault).not.toBe("");
    expect(second).toEqual({ line: 2, fields: ["c", "d"], fault: "" });
    expect(others).toEqual([]);
  });

  test("empty lines and comments count as lines, and are none", () => {
    expect([...csvRecords("\n# a,b\r\n\r\nc")]).toEqual([{ line: 4, fields: ["c"], fault: "" }]);
  });

  test("what was written is read", () => {
    const field = fc.string().map((text) => text.replace(/[\r\n]/g, "").replace(/^#/, ""));
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 2 }), { maxLength: 5 }), (rows) => {
        const text = rows.map((row) => row.map(quoted).join(",")).join("\n");
        expect([...csvRecords(text)].map(({ fields }) => fields as string[])).toEqual(rows);
      }),
    );
  });
});
