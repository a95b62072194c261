import { describe, expect, spyOn, test } from "bun:test";
import { parametersOf } from "../../../../src/features/waf/body/multipart-parts.ts";
import { WordSet } from "../../../../src/features/waf/match/word-set.ts";
import { explainWaf, type WafExplanation } from "../../../../src/features/waf/waf-explanation.ts";
import { NO_ROUTES } from "./vector-request.ts";
import { ENFORCE } from "./waf-settings.ts";

function explain(headers: readonly string[], body: string | Uint8Array): WafExplanation {
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
  return explainWaf({ method: "POST", target: "/x", headers, body: bytes }, ENFORCE, NO_ROUTES);
}

/** Names of the parameters in which something was found; what readers of JSON do not take alike is about the text. */
function paramsIn(type: string, body: string): string[] {
  const { findings } = explain([`Content-Type: ${type}`], body);
  return findings.filter(({ rule }) => rule.json === undefined).map(({ location, param }) => `${location} ${param}`);
}

const SCRIPT = "<script>alert(1)</script>";

/** A part of a multipart body with the boundary "b". */
function part(head: string, content: string): string {
  return `--b\r\nContent-Disposition: ${head}\r\n\r\n${content}\r\n`;
}

describe("which bodies are inspected", () => {
  const form = `a=${encodeURIComponent(SCRIPT)}`;
  test.each([
    [["Content-Type: application/x-www-form-urlencoded"], form],
    [["content-type: APPLICATION/X-WWW-Form-Urlencoded;charset=utf-8"], form],
    [["Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded"], form],
    [["Content-Type: application/json"], JSON.stringify(SCRIPT)],
    [["Content-Type: application/vnd.api+json ; x=y"], JSON.stringify(SCRIPT)],
    [["Content-Type: text/json"], JSON.stringify(SCRIPT)],
    [["Content-Type: application/jsonish"], JSON.stringify(SCRIPT)],
    [["Content-Type: text/plain"], form],
    [["Content-Type: text/plain; charset=utf-8"], JSON.stringify({ a: "1\u0027 or 1=1--" })],
    [["Content-Type: text/html"], SCRIPT],
    [["Content-Type: a"], form],
    [["Content-Type:"], form],
    [[], form],
    [[], "a=1'+union+select+password+from+users--+"],
    [["Content-Type: application/octet-stream"], `\0\x01${SCRIPT}\x02`],
    [["Content-Type: application/msgpack"], `\x81\xa1q\xb9${SCRIPT}`],
    [["Content-Type: image/png"], `\x89PNG\r\n\x1a\n\0&q=${encodeURIComponent(SCRIPT)}&\0`],
    [["Content-Type: application/x-www-form-urlencoded"], '{"a":"\\u003cscript\\u003ealert(1)"}'],
    [["Content-Type: application/x-www-form-urlencoded"], `a=1;b=${encodeURIComponent(SCRIPT)}`],
    [["Content-Type: application/json"], form],
    [["Content-Type: application/json"], `<a>${SCRIPT}</a>`],
    [["Content-Type: application/json", "Content-Encoding: gzip"], JSON.stringify(SCRIPT)],
    [["Content-Type: application/json", "Content-Encoding:"], JSON.stringify(SCRIPT)],
    [["Content-Type: application/json", "Content-Encoding: Identity"], JSON.stringify(SCRIPT)],
    [["Content-Type: application/json", "Content-Encoding: rot13, aes128gcm"], JSON.stringify(SCRIPT)],
    // A vertical tab is a blank to databases and interpreters; some characters beyond ASCII stand first.
    [["Content-Type: text/plain"], "1'\x0bunion\x0bselect\x0bpassword\x0bfrom\x0busers"],
    [["Content-Type: application/json"], '{"a":"1\' un\\\nion sel\\\nect password fr\\\nom users"}'],
    [[], Buffer.from(`"\u20ac${SCRIPT}"`, "utf16le").toString("latin1")],
    [[], Buffer.from(`<\u20ac>${SCRIPT}`, "utf16le").swap16().toString("latin1")],
    [["Content-Type: application/json"], '{"a":"1\\uff07 or 1=1--"}'],
    [["Content-Type: application/grpc-web-text"], Buffer.from(`\0\0\0\0\x1b\x0a\x19${SCRIPT}`).toString("base64")],
    [
      ["Content-Type: application/grpc-web-text+proto"],
      ["\0\0\0\0\x03\x0a\x01a", `\0\0\0\0\x1b\x0a\x19${SCRIPT}`]
        .map((text) => Buffer.from(text).toString("base64"))
        .join(""),
    ],
    // These bytes happen to be a stream of deflate.
    [
      ["Content-Type: application/xml", "Content-Encoding: deflate"],
      Buffer.from(`\n <a><b>${"x".repeat(40)}&lt;script>alert(1)</b></a>`, "utf16le").toString("latin1"),
    ],
  ] as const)("all: %j", (headers, body) => {
    const found = explain(headers, body);
    expect([found.inspectedBodyBytes, found.verdict]).toEqual([body.length, "block"]);
  });

  test.each([
    [[], "a=1&b=O'Brien+%26+Sons"],
    [["Content-Type: text/plain"], "Please select from the list; it's 1 + 1 = 2, isn't it?"],
    [["Content-Type: text/csv"], 'id,name\r\n1,"O\'Brien, Tom"\r\n2,a=b\r\n'],
    [["Content-Type: application/yaml"], "a: 1\nb: [x, 'y']\n"],
    [["Content-Type: application/octet-stream"], "\0\x01\x02\x03\xff\xfe%00 it's\0"],
    [["Content-Type: application/grpc"], "\0\0\0\0\x0a\x0a\x05hello\x12\x01x"],
    [["Content-Type: text/plain; charset=utf-8"], '{"a": "b"} and {"c"}'],
    [["Content-Type: text/x-python"], "def f(a, b=1):\n  if a & b: return a['x'] + \"--\"\n"],
    [
      ["Content-Type: application/zip"],
      `PK\x03\x04${"\x01'#\x02`w`\x03$'#'\t\x04\x05\x06\x07\x08\xff\x80\x90\xa0\xb0\xc0".repeat(20)}`,
    ],
  ] as const)("ordinary ones pass: %j %j", (headers, body) => {
    expect(explain(headers, body)).toMatchObject({ verdict: "pass", score: 0 });
  });

  test("no more of them than the limit says", () => {
    const settings = { ...ENFORCE, maxInspectBodyBytes: 20 };
    const headers = ["Content-Type: application/json"];
    const verdict = (body: string) =>
      explainWaf({ method: "POST", target: "/x", headers, body: Buffer.from(body) }, settings, NO_ROUTES).verdict;
    expect(verdict(`["${SCRIPT}"]`)).toBe("block");
    expect(verdict(`["${" ".repeat(20)}${SCRIPT}"]`)).toBe("pass");
  });
});

describe("JSON", () => {
  const type = "application/json";
  const text = JSON.stringify(SCRIPT);

  test.each([
    [`{"a":${text}}`, "body a"],
    [`{"A":{"b":[1,{"c":${text}}]}}`, "body a.b.c"],
    [`{"a":{"b":1},"c":${text}}`, "body c"],
    [`{"a":[{"b":"x"},"y"],"c":{"d":"e","f":${text}}}`, "body c.f"],
    [`[1,"x",${text}]`, "body "],
    [text, "body "],
    [`{"a,\\"b":${text}}`, 'body a,"b'],
    [`{"a":${text}`, "body a"],
    [`{"a":"${SCRIPT}`, "body a"],
    [`{"a":"x\\`, undefined],
    [`{"a":"<\\u0073cript>alert(1)"}`, "body a"],
    [`{"a":"&lt;script"}{"b":${text}}`, "body b"],
    [`{"a":1,\n  "b":\t${text}}`, "body b"],
    [`${"[".repeat(500)}${text}`, "body "],
  ])("names the member: %s", (body, expected) => {
    expect(paramsIn(type, body)[0]!).toBe(expected!);
  });

  test("names are inspected too", () => {
    expect(paramsIn(type, '{"a":{"<script>alert(1)</script>":1}}')[0]).toBe("body a");
    expect(paramsIn(type, '{"user":{"$ne":""}}').length).toBeGreaterThan(0);
  });

  // With a slash among its first characters.
  const packed = Buffer.from(`<??? ${SCRIPT}`).toString("base64");
  const escapeAll = (value: string): string =>
    [...value].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  test.each([
    [`{"a":"${packed}"}`, "body a"],
    [`{"a":"${packed.replaceAll("/", "\\/")}"}`, "body a"],
    [`{"a":"${escapeAll(packed)}"}`, "body a"],
    [`{"a":"${escapeAll(packed.slice(0, 4))}${packed.slice(4)}"}`, "body a"],
    [`{"a":"${packed.slice(0, 2)}${escapeAll(packed.slice(2, 20))}${packed.slice(20)}"}`, "body a"],
    [`{"a":"x","b":["${packed}`, "body b"],
  ])("a string in base64 is read, escaped or not: %s", (body, expected) => {
    expect(paramsIn(type, body)[0]!).toBe(expected);
    const whole = part("form-data; name=c", body);
    expect(paramsIn("multipart/form-data; boundary=b", `${whole}--b--`)[0]!).toBe(expected);
  });

  test("what is no JSON is inspected as one text", () => {
    expect(paramsIn(type, `{'a':'${SCRIPT}'}`)[0]).toBe("body a");
    expect(paramsIn(type, `a=${SCRIPT}`)[0]).toBe("body ");
    expect(paramsIn(type, "plainly no JSON")).toEqual([]);
  });
});

describe("multipart", () => {
  const type = "multipart/form-data; boundary=b";

  test.each([
    [`${part('form-data; name="a"', "x")}${part('form-data; name="B"', SCRIPT)}--b--\r\n`, "body b"],
    [part("form-data; name=c", SCRIPT), "body c"],
    [`--b\nContent-Disposition: form-data; name="a"\n\n${SCRIPT}\n--b--`, "body a"],
    [part('form-data; name="<script>alert(1)"', "x"), "body <script>alert(1)"],
    [`preamble\r\n${part('form-data; name="a"', SCRIPT)}`, "body a"],
    [part('form-data; name="f"; filename="shell.php"', "x"), "body f"],
    [part('form-data; name="f"; filename="x.txt"\r\nContent-Type: text/plain', SCRIPT), undefined],
    // What not every application takes for a file is read as a field.
    [part('form-data; name="f"; filename="x.txt"', SCRIPT), "body f"],
    [part('form-data; name="f"; x="; filename=y"\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [part('form-data; name="f\\"; filename=y; x="\r\nContent-Type: text/plain', SCRIPT), "body f\\"],
    [part("form-data; name=f; filename*=utf-8''y\r\nContent-Type: text/plain", SCRIPT), "body f"],
    [part("x; filename=y\r\nContent-Disposition: form-data; name=f\r\nContent-Type: text/plain", SCRIPT), "body f"],
    // What stands around the parts is a part for some.
    [`${part('form-data; name="a"', "x")}--b--\r\n${part('form-data; name="a"', SCRIPT)}`, "body "],
    [`x${part('form-data; name="a"', SCRIPT)}--b--\r\n`, "body "],
    // An empty name is none.
    [part('form-data; name="f"; filename=""\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [part('form-data; name="f"; filename="x"; filename=""\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [part('form-data; name="f"; filename="x"; filename*=utf-8\'\'\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [part('form-data; name="f";\r\n filename=""\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [part('form-data; name="f"; filename="x\r\nContent-Type: text/plain', SCRIPT), "body f"],
    [
      part('form-data; name="f"; filename="x"\rContent-Disposition: form-data; name="f"\r\nContent-Type: a/b', SCRIPT),
      "body f",
    ],
    [part('form-data; name="f"; filename="x"\r\nContent-Type: multipart/mixed; boundary=c', SCRIPT), "body f"],
    [part('form-data; name="f"; filename="x"; filename*=utf-8\'\'y\r\nContent-Type: text/plain', SCRIPT), undefined],
    [part('form-data; name="f"; filename="x"\r\nContent-Type: ', SCRIPT), "body f"],
    [part('form-data; name="f"; filename="x"\r\nContent-Type: ;a/b', SCRIPT), "body f"],
  ])("%j", (body, expected) => {
    expect(paramsIn(type, body)[0]).toBe(expected as string);
  });

  test.each([
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "multipart/form-data; boundary=other",
    "multipart/form-data; boundary=b; boundary=c",
    "multipart/form-data; boundary=b; boundary*=utf-8''c",
    // Some look for the word alone, and some end a value without quotes at the first byte that is none of a token.
    "multipart/form-data; xboundary=c; boundary=b",
    "multipart/form-data; boundary=b; x=boundary=c",
    "multipart/form-data; boundary=b=c",
    "multipart/form-data; boundary=b c",
  ])("that cannot be taken apart (%s) is found out", (other) => {
    const found = explain([`Content-Type: ${other}`], part('form-data; name="a"', "x"));
    expect(found.rules.map((rule) => rule.category)).toEqual(["protocol"]);
  });

  test.each([
    // What stands behind a delimiter, or in front of it, is another thing for each reader.
    [`${part('form-data; name="a"', "x\n--b\nContent-Disposition: form-data; name=c\n\ny")}--b--`],
    [`${part('form-data; name="a"', "x")}--bcd\r\n\r\ny\r\n--b--`],
    [`${part('form-data; name="a"', "x")}--b\n\ny\r\n--b--`],
    [part('form-data; name="a"\r\nContent-Transfer-Encoding: base64', "PHNjcmlwdD4=")],
    // For some a line ends with a bare CR.
    [
      part(
        'form-data; name="f"; filename=x\r\nContent-Type: x/y',
        "x\r--b\rContent-Disposition: form-data; name=c\r\ry",
      ),
    ],
    [`x\r${part('form-data; name="a"', "x")}--b--`],
  ])("that can be taken apart in two ways is found out: %j", (body) => {
    expect(explain([`Content-Type: ${type}`], body).rules.map((rule) => rule.category)).toEqual(["protocol"]);
  });

  test.each([
    [`${part('form-data; name="a"', "x --b y")}--b--\r\n`],
    [`${part('form-data; name="a"', "x")}--b  \r\n\r\ny\r\n--b--`],
    [part('form-data; name="a"\r\nContent-Transfer-Encoding: 8bit', "PHNjcmlwdD4=")],
    [part('form-data; name="a"; filename=x\r\nContent-Type: x/y\r\nContent-Transfer-Encoding: base64', "PHNjcmlwdD4=")],
    ["--b"],
    ["--b\r"],
    ["--b\r\nContent-Disp"],
    [""],
  ])("that is odd but clear passes: %j", (body) => {
    expect(explain([`Content-Type: ${type}`], body).verdict).toBe("pass");
  });

  test("looks behind a delimiter that stands within a line", () => {
    expect(paramsIn(type, part('form-data; name="a"', `x--b\r\n${SCRIPT}\r\n\r\ny`))[0]).toBe("body a");
  });

  test("a boundary may be quoted", () => {
    expect(paramsIn('multipart/form-data; boundary="b"', part('form-data; name="a"', SCRIPT))[0]).toBe("body a");
  });
});

test.each([
  ['form-data; name="a b"; filename="c"', "name", "a b"],
  ['form-data; filename="name=x"; name="y"', "filename", "name=x"],
  ['form-data; x="; name=z"; name="y"', "name", "y"],
  ["form-data; NAME = x ; y=z", "name", "x"],
  ["form-data;name=x;;y", "name", "x"],
  ['form-data; name="open; a=b', "name", "open; a=b"],
  ['form-data; filename="x"', "name", null],
  ["form-data", "name", null],
])("parameters of %j: %s", (text, name, expected) => {
  expect(parametersOf(text).find((one) => one.name === name)?.value ?? null).toBe(expected);
});

test("a URL with very many user parts is read in bounded depth", () => {
  const settings = { ...ENFORCE, maxInspectBodyBytes: 2 ** 24 };
  const headers = ["Content-Type: application/json"];
  const body = Buffer.from(JSON.stringify({ url: `http://9a${"#@9b".repeat(200_000)}` }));
  expect(explainWaf({ method: "POST", target: "/x", headers, body }, settings, NO_ROUTES).verdict).toBe("pass");
});

test.each(["{", "{{7", "{{a b"])("templates within templates are read once: %s", (part) => {
  const lookUp = spyOn(WordSet.prototype, "valueOf");
  try {
    const body = `a=eval("${part.repeat(2000)}`;
    explain(["Content-Type: application/x-www-form-urlencoded"], body);
    expect(lookUp.mock.calls.length).toBeLessThan(body.length * 10);
  } finally {
    lookUp.mockRestore();
  }
});
