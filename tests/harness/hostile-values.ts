// Requests that try to make the firewall's analysers read the same bytes again and again: fragments of its own keywords and
// marks, repeated until a value is as long as it may be, in every place where a value can stand.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { keywordGroups } from "../../src/features/waf/rule-table.ts";
import { RequestHead } from "../../src/message/request-head.ts";
import { RequestParser } from "../../src/proto/h1/request-parser.ts";

/** A request to be inspected: its head and what of its body is looked at. */
export interface HostileRequest {
  readonly head: RequestHead;
  readonly body: Uint8Array;
}

/** Where a value stands, and how many bytes of it may stand there. */
export interface HostilePlace {
  readonly name: string;
  readonly maxBytes: number;
  /** @param value one character a byte */
  readonly request: (value: string) => HostileRequest;
}

/** A longer text is a sentence about a rule. */
const MAX_WORD_CHARS = 32;
const MARKS: readonly string[] = [
  ..." '\"`;|&()<>[]{}$#%*@!/\\.,:=+-?~^_\n\t0ax".split(""),
  ...[
    "/*",
    "*/",
    "/*!",
    "--",
    "||",
    "&&",
    "<!--",
    "-->",
    "<!",
    "<?",
    "?>",
    "]]>",
    "${",
    "#{",
    "{{",
    "}}",
    "{%",
    "<%",
    "$(",
  ],
  ...["%>", "<a ", "</", "='", '="', "=`", "&#", "&lt;", "%25", "%27", "%u0027", "\\u0027", "\\x27", "//", "..", "../"],
  ...[
    "..;",
    ":-",
    "::-",
    "@a.",
    "a.",
    ".a",
    "\\\\",
    "\r\n",
    "\r\n\r\n",
    "\u0080",
    "\u00a0",
    "\u0001",
    "</script>",
    "select.",
  ],
];

/** All that hostile values are made of: the marks, and every keyword that calls a detector. */
export const FRAGMENTS: readonly string[] = [
  ...new Set([
    ...MARKS,
    ...keywordGroups().flatMap(({ keywords }) =>
      keywords.map((one) => (one.length > 1 ? one.replace(/^\^/, "") : one)),
    ),
  ]),
];

/** The fragments that are marks alone: few enough for all pairs of them. */
export const MARK_FRAGMENTS: readonly string[] = MARKS;

/** Every word and text that the source of a detector has, whatever it makes of it. */
export const DETECTOR_WORDS: readonly string[] = [...new Set([...FRAGMENTS, ...wordsOfSource()])];

/** What may stand between two words. */
export const SEPARATORS: readonly string[] = [
  "",
  "%20",
  "/**/",
  "||",
  "&&",
  "--",
  "()",
  "='",
  '="',
  "=1",
  "('",
  ...MARKS,
];

/** What a value may begin with, so that an analyser takes the rest for what it looks for. */
export const PREFIXES: readonly string[] = [
  ...["", "'", '"', "1", "x ", "<a ", "http://", "= ", "../", '{"', "$", "(", "<?php ", "a=b&", "`", "select "],
  ...["javascript:", "' or ", "; ", "${", "/"],
];

/** The ways in which a client may write the same text, one character a byte. */
export const ENCODINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.replaceAll(" ", "+"),
  (text) => text.toUpperCase(),
  (text) => each(text, (hex) => `%${hex}`),
  (text) => each(text, (hex) => `%25${hex}`),
  (text) => each(text, (hex) => `\\u00${hex}`),
  (text) => each(text, (hex) => `\\x${hex}`),
  (text) => each(text, (hex) => `&#x${hex};`),
  (text) => each(text, (hex) => `&#${Number.parseInt(hex, 16)};`),
  (text) => [...text].map((char, at) => (at % 2 === 0 ? char : each(char, (hex) => `%${hex}`))).join(""),
  (text) => Buffer.from(text.repeat(3), "latin1").toString("base64"),
];

function each(text: string, write: (hex: string) => string): string {
  return Array.from(text, (char) => write((char.charCodeAt(0) & 0xff).toString(16).padStart(2, "0"))).join("");
}

/** The words of all texts between double quotes, but for what names a module or a rule. */
function wordsOfSource(): string[] {
  const folder = join(import.meta.dir, "../../src/features/waf/detectors");
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const texts = sources.flatMap((source) => source.match(/"(?:[^"\\\n]|\\.)*"/g) ?? []);
  return texts
    .filter((text) => !text.includes(".ts") && !/^"[A-Z]+-\d+"$/.test(text))
    .flatMap((text) => text.slice(1, -1).replace(/\\(.)/g, "$1").split(" "))
    .filter((word) => word.length > 0 && word.length <= MAX_WORD_CHARS);
}

/** A unit, repeated and cut to so many characters. */
export function repeated(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

const FORM = "application/x-www-form-urlencoded";
const BODY_BYTES = 65_536;
const LINE_BYTES = 8000;

/** Every place of a value. What would end the value there is escaped, so that it stays one. */
export const HOSTILE_PLACES: readonly HostilePlace[] = [
  bodyPlace("form", FORM, (value) => `q=${escaped(value, /[&%+]/g)}`),
  bodyPlace("raw form", FORM, (value) => value),
  bodyPlace(
    "JSON string",
    "application/json",
    (value) => `{"q":"${value.replace(/[\\"]/g, "\\$&").replace(CONTROLS, jsonEscape)}"}`,
  ),
  bodyPlace("raw JSON", "application/json", (value) => value),
  bodyPlace(
    "JSON names",
    "application/json",
    (value) =>
      `{${value
        .replace(/["\\]/g, "")
        .match(/[\s\S]{1,4}/g)
        ?.map((name) => `"${name.replace(CONTROLS, jsonEscape)}":{`)
        .join("")}`,
  ),
  bodyPlace(
    "XML text",
    "application/xml",
    (value) => `<a>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</a>`,
  ),
  bodyPlace("raw XML", "application/xml", (value) => `<a>${value}</a>`),
  bodyPlace(
    "XML attribute",
    "application/xml",
    (value) => `<a b="${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")}"/>`,
  ),
  bodyPlace(
    "multipart",
    "multipart/form-data; boundary=BB",
    (value) => `--BB\r\nContent-Disposition: form-data; name="q"\r\n\r\n${value}\r\n--BB--\r\n`,
  ),
  bodyPlace("raw multipart", "multipart/form-data; boundary=BB", (value) => `--BB\r\n${value}`),
  bodyPlace(
    "pairs",
    FORM,
    (value) =>
      value
        .match(/[\s\S]{1,3}/g)
        ?.map((part) => `${escaped(part, /[&%+=]/g)}=1`)
        .join("&") ?? "",
  ),
  bodyPlace("text", "text/plain", (value) => value),
  bodyPlace("no known type", "application/x-any", (value) => `{${value}`),
  bodyPlace("UTF-16", "text/plain; charset=utf-16", (value) => value.replace(/[\s\S]/g, "$&\0")),
  bodyPlace(
    "multipart file",
    "multipart/form-data; boundary=BB",
    (value) =>
      `--BB\r\nContent-Disposition: form-data; name="q"; filename="a.xml"\r\nContent-Type: text/xml\r\n\r\n<a ${value}\r\n--BB--\r\n`,
  ),
  bodyPlace(
    "multipart parts",
    "multipart/form-data; boundary=B",
    (value) =>
      value
        .match(/[\s\S]{1,32}/g)
        ?.map((part) => `--B\r\nContent-Disposition: form-data; name=${part}\r\n\r\n${part}\r\n`)
        .join("") ?? "",
  ),
  bodyPlace("gRPC", "application/grpc+json", (value) =>
    grpcMessage(`{"q":"${value.slice(0, BODY_BYTES - 32).replaceAll('"', "'")}"}`),
  ),
  headPlace("query", (value) => [`/x?q=${target(value, /[&+]/g)}`]),
  headPlace("path", (value) => [`/x/${target(value, /[?#]/g)}`]),
  headPlace("cookie", (value) => ["/x", `Cookie: a=${field(value)}`]),
  headPlace("referer", (value) => ["/x", `Referer: http://a.test/${field(value)}`]),
  headPlace("user agent", (value) => ["/x", `User-Agent: ${field(value)}`]),
  headPlace("extension", (value) => ["/x", `X-Any: ${field(value)}`]),
];

function bodyPlace(name: string, type: string, text: (value: string) => string): HostilePlace {
  const head = headOf("/x", [`Content-Type: ${type}`]);
  const request = (value: string): HostileRequest => ({
    head,
    body: Buffer.from(text(value).slice(0, BODY_BYTES), "latin1"),
  });
  return { name, maxBytes: BODY_BYTES, request };
}

function grpcMessage(text: string): string {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(text.length, 1);
  return prefix.toString("latin1") + text;
}

function headPlace(name: string, lines: (value: string) => [target: string, ...fields: string[]]): HostilePlace {
  const request = (value: string): HostileRequest => {
    const [path, ...fields] = lines(value);
    return {
      head: headOf(
        path.slice(0, LINE_BYTES),
        fields.map((line) => line.slice(0, LINE_BYTES)),
      ),
      body: NOTHING,
    };
  };
  return { name, maxBytes: LINE_BYTES, request };
}

/** The head of a request, parsed. */
export function headOf(path: string, fields: readonly string[]): RequestHead {
  const bytes = Buffer.from([`POST ${path} HTTP/1.0`, ...fields, "", ""].join("\r\n"), "latin1");
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  if (parser.parse(bytes, bytes.length, head) !== bytes.length) throw new Error(`not a head: ${path.slice(0, 100)}`);
  return head;
}

const escaped = (value: string, what: RegExp): string => value.replace(what, percent);
/** As little as a target and a field demand, so that they hold as much as they can. */
const target = (value: string, what: RegExp): string => value.replace(what, percent).replace(NO_TARGET, percent);
const field = (value: string): string => value.replace(CONTROLS, " ");
const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
const jsonEscape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
const CONTROLS = /[^\t\x20-\x7e\x80-\xff]/g;
const NO_TARGET = /[^\x21-\x7e]|%(?![0-9a-fA-F]{2})/g;
const NOTHING: Uint8Array = new Uint8Array(0);
