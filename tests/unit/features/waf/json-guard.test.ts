import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MAX_JSON_NAMES } from "../../../../src/features/waf/body/json-names.ts";
import { explainWaf } from "../../../../src/features/waf/waf-explanation.ts";
import { ordinaryRequests } from "./ordinary-requests.ts";
import { NO_ROUTES } from "./vector-request.ts";
import { ENFORCE } from "./waf-settings.ts";

// Whatever one reader of JSON takes and another does not is noted; readings in which all agree are not.

const SETTINGS = { ...ENFORCE, maxInspectBodyBytes: 16_777_216 };

function rulesOf(body: string | Uint8Array, type = "application/json"): string[] {
  const headers = type === "" ? [] : [`Content-Type: ${type}`];
  const question = { method: "POST", target: "/x", headers, body: Buffer.from(body as string) };
  const { rules } = explainWaf(question, SETTINGS, NO_ROUTES);
  return rules.filter(({ category }) => category === "json").map(({ id }) => id);
}

const plain = fc.jsonValue({ noUnicodeString: false, depthSize: "small" }).filter((value) => {
  const text = JSON.stringify(value);
  return !/-0(?![\d.])|[eE]|\d{16}/.test(text) && text.isWellFormed() && !/\\ud[89a-f]/i.test(text);
});

describe("the guard of JSON notes", () => {
  test("nothing of what programs write, in whatever layout", () => {
    fc.assert(
      fc.property(plain, fc.constantFrom(0, 2, "\t"), (value, indent) => {
        expect(rulesOf(JSON.stringify(value, null, indent))).toEqual([]);
      }),
    );
  });

  test("a name that comes twice in an object, in any spelling, at any depth, among any others", () => {
    const escapeAll = (name: string): string =>
      Array.from({ length: name.length }, (_, i) => `\\u${name.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: "grapheme", maxLength: 5 }), { minLength: 1, maxLength: 30 }),
        fc.nat(29),
        fc.boolean(),
        fc.nat(40),
        fc.constantFrom("[", '{"x":'),
        (names, which, isEscaped, depth, opening) => {
          const members = names.map((name) => `${JSON.stringify(name)}:{${JSON.stringify(name)}:1}`);
          const wrap = (text: string): string =>
            `${opening.repeat(depth)}${text}${(opening === "[" ? "]" : "}").repeat(depth)}`;
          expect(rulesOf(wrap(`{${members.join(",")}}`))).toEqual([]);
          const again = names[which % names.length]!;
          const twin = isEscaped ? `"${escapeAll(again)}"` : JSON.stringify(again);
          expect(rulesOf(wrap(`{${[...members, `${twin}:0`].join(",")}}`))).toEqual(["JSON-001"]);
        },
      ),
    );
  });

  test("as many names as are kept, and that there are more", () => {
    const object = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"n${i}":0`).join(",")}}`;
    expect(rulesOf(object(MAX_JSON_NAMES))).toEqual([]);
    expect(rulesOf(object(MAX_JSON_NAMES + 1))).toEqual(["JSON-001"]);
    // Objects that are closed keep none.
    expect(rulesOf(`[${`${object(100)},`.repeat(300)}0]`)).toEqual([]);
    expect(rulesOf(`${"[".repeat(100_000)}`)).toEqual(["JSON-006"]);
  });

  test("a text that is cut off anywhere is not judged for its end", () => {
    const whole = Buffer.from('{"é":[1.5e3,-12,"\\u00e9😀",true,null,{"b":false}]} ');
    for (let end = 1; end < whole.length; end++) expect([end, rulesOf(whole.subarray(0, end))]).toEqual([end, []]);
  });

  test("of what is not declared what is JSON from end to end, or begins with a whole object or array", () => {
    for (const type of ["", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded"]) {
      expect(rulesOf('{"a":1,"a":2}', type)).toEqual(["JSON-001"]);
      for (const text of [
        "{{a}} and {b}",
        "[b]bold[/b]",
        '{"a":1} or so',
        '["a" "b"]',
        '[1] so {"a":1,"a":2}',
        '"a" 1',
      ])
        expect([text, rulesOf(text, type)]).toEqual([text, []]);
      // A reader that takes the first value never sees what makes the text no JSON.
      for (const rest of ["x", " or so", "}", ',"b"', "\0", '{"b":1}', "// more", "\n\xff"])
        expect([rest, rulesOf(`{"a":1,"a":2}${rest}`, type)]).toEqual([rest, ["JSON-001"]]);
      expect(rulesOf(Buffer.from('["\xff"] or so', "latin1"), type)).toEqual(["JSON-002"]);
    }
  });

  test("bytes that are no plain UTF-8, wherever in the text they are", () => {
    for (const text of [
      '\xff{"a":1}',
      '{"a":1}\xff',
      "{\xff:1}",
      '{"\xff":1}',
      '{"a":1,\xc0\xaf"b":2}',
      '\xef\xbb\xbf{"a":1}',
    ])
      expect([text, rulesOf(Buffer.from(text, "latin1"))]).toEqual([text, expect.arrayContaining(["JSON-002"])]);
    for (const wide of [Buffer.from('\ufeff{"a":1}', "utf16le"), Buffer.from('\ufeff{"a":1}', "utf16le").swap16()])
      expect(rulesOf(wide)).toContain("JSON-002");
  });

  test("texts in lines are judged one by one where their type says so", () => {
    const lines = '{"a":1}\n{"a":2}\r\n{"b":[1,\n2]}\n';
    for (const type of [
      "application/x-ndjson",
      "application/ndjson; charset=utf-8",
      "application/jsonl",
      "application/json-lines",
      "application/stream+json",
      "application/json-seq",
      "application/geo+json-seq",
    ]) {
      expect([type, rulesOf(type.endsWith("seq") ? `\x1e${lines}\x1e{"a":3}\n` : lines, type)]).toEqual([type, []]);
      expect([type, rulesOf(`${lines}{"a":1,"a":1}`, type)]).toEqual([type, ["JSON-001"]]);
      expect([type, rulesOf('{"a":1}{"a":2}', type)]).toEqual([type, ["JSON-005"]]);
    }
    for (const type of ["application/json", "application/json, application/x-ndjson", "application/problem+json"])
      expect([type, rulesOf(lines, type)]).toEqual([type, ["JSON-005"]]);
  });

  test("any bytes are read to their end, and never thrown at", () => {
    const pieces = ['"', "'", "\\", "\\u12", "{", "}", "[", "]", ":", ",", "/*", "*/", "//", "#", "-", "1e", "a", "\n"];
    const odd = ["\0", "\x1e", "\xef\xbb\xbf", "\xff", "NaN", "-I", "true", "0x1", " "];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces, ...odd), { maxLength: 40 }), (parts) => {
        const bytes = Buffer.from(parts.join(""), "latin1");
        const found = rulesOf(new Uint8Array(bytes));
        let isJson = true;
        try {
          JSON.parse(bytes.toString("utf8"));
        } catch {
          isJson = false;
        }
        if (isJson) expect(found).not.toContain("JSON-005");
      }),
    );
  });

  test("less than one of a hundred ordinary bodies of JSON", () => {
    const bodies = ordinaryRequests(5000).filter(({ headers }) => headers.some((line) => /json/i.test(line)));
    const noted = bodies.filter((question) =>
      explainWaf(question, SETTINGS, NO_ROUTES).rules.some(({ category }) => category === "json"),
    );
    expect(bodies.length).toBeGreaterThan(500);
    expect(noted.length / bodies.length).toBeLessThan(0.01);
  });
});
