import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { MAX_RULE_ARGUMENTS } from "../../../../../src/features/waf/seclang/body-facts.ts";
import { MAX_RULE_JSON_DEPTH } from "../../../../../src/features/waf/seclang/json-values.ts";
import { HeaderBlock } from "../../../../../src/message/header-block.ts";
import { ruleBody } from "../../../../harness/waf-bodies.ts";

function read(type: string, body: string | Uint8Array, more: Readonly<Record<string, string>> = {}, processor = "") {
  const headers = new HeaderBlock();
  headers.resetOwn();
  if (type !== "") headers.add("Content-Type", type);
  for (const [name, value] of Object.entries(more)) headers.add(name, value);
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
  return ruleBody(headers, bytes, { processor });
}

function pairs(list: readonly { readonly name: string; readonly value: string }[]): string[] {
  return list.map(({ name, value }) => `${name}=${value}`);
}

describe("a body", () => {
  test("of a form has its pairs, decoded once", () => {
    const { processor, args } = read("application/x-www-form-urlencoded", "a=1+2&b%3D=%2525&c&=d");
    expect([processor, pairs(args)]).toEqual(["URLENCODED", ["a=1 2", "b==%25", "c=", "=d"]]);
  });

  test("of JSON has its values by their paths", () => {
    const { args, error } = read("application/vnd.x+json", '{"a":{"b":[1,{"c":"x"}],"d":null},"e":true}');
    expect(pairs(args)).toEqual(["json.a.b.0=1", "json.a.b.1.c=x", "json.a.b=2", "json.a.d=", "json.e=true"]);
    expect(error).toBe("");
  });

  test("of JSON hides no value behind another of the same name, and keeps numbers as they are written", () => {
    const { args } = read(
      "application/json",
      '{"a":"bad","a":"good","n":12345678901234567890,"s":"\\u0041\\n\\ud83d\\ude00\\/"}',
    );
    const smile = Buffer.from("A\n\u{1f600}/").toString("latin1");
    expect(pairs(args)).toEqual(["json.a=bad", "json.a=good", "json.n=12345678901234567890", `json.s=${smile}`]);
    expect(pairs(read("application/json", " [ ] ").args)).toEqual(["json=0"]);
    expect(pairs(read("application/json", '"x"').args)).toEqual(["json=x"]);
  });

  test("of JSON that breaks off has the values in front of the break", () => {
    const { args, error } = read("application/json", '{"a":"1","b":');
    expect([pairs(args), error]).toEqual([["json.a=1"], "the body is no JSON"]);
    for (const text of ["{]", '{"a"}', '{"a":1,}', "[1 2]", "tru", '"x', "1 2", "{1:2}", "[1,]"])
      expect([text, read("application/json", text).error]).toEqual([text, "the body is no JSON"]);
  });

  test("that is no JSON, or too deep, says so", () => {
    expect(read("application/json", "{").error).toBe("the body is no JSON");
    const deep = "[".repeat(MAX_RULE_JSON_DEPTH + 2) + "]".repeat(MAX_RULE_JSON_DEPTH + 2);
    expect(read("application/json", deep).error).toContain("levels deep");
    expect(read("application/json", "[".repeat(60_000)).error).not.toBe("");
  });

  test("with parts has fields and files", () => {
    const part = (head: string, content: string) =>
      `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
    const body = `${part('name="t"', "a\r\nb")}${part('name="f"; filename="x.png"', "12345")}--b--\r\n`;
    const { args, files, fileSizes } = read("multipart/form-data; boundary=b", body);
    expect([pairs(args), pairs(files), pairs(fileSizes)]).toEqual([["t=a\r\nb"], ["f=x.png"], ["f=5"]]);
    expect(read("multipart/form-data; boundary=c", body).error).toBe("the body has no parts");
  });

  test("of XML has texts and attributes", () => {
    const { texts, attributes } = read(
      "text/xml",
      `<?xml version="1.0"?><!-- no --><a b="1" c='&lt;2'>x<![CDATA[<y>]]> &amp; z</a>`,
    );
    expect(texts.map(({ value }) => value)).toEqual(["x", "<y>", "& z"]);
    expect(attributes.map(({ value }) => value)).toEqual(["1", "<2"]);
  });

  test("is unpacked", () => {
    const packed = gzipSync("a=1");
    const { args } = read("application/x-www-form-urlencoded", packed, { "Content-Encoding": "gzip" });
    expect(pairs(args)).toEqual(["a=1"]);
  });

  test("is what a rule says that it is", () => {
    expect(pairs(read("text/plain", '{"a":1}', {}, "JSON").args)).toEqual(["json.a=1"]);
    expect(read("text/plain", '{"a":1}').args).toEqual([]);
  });

  test("with more values than rules see is cut, and says so", () => {
    const many = Array.from({ length: MAX_RULE_ARGUMENTS + 1 }, (_, i) => `a${i}=1`);
    const form = read("application/x-www-form-urlencoded", many.join("&"));
    expect([form.args.length, form.isCut]).toEqual([MAX_RULE_ARGUMENTS, true]);
    expect(read("application/json", JSON.stringify(many)).isCut).toBe(true);
    expect(read("application/x-www-form-urlencoded", many.slice(1).join("&")).isCut).toBe(false);
  });
});
