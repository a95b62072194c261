import { createHash } from "node:crypto";
import {
  base64Decode,
  cssDecode,
  escapeSeqDecode,
  hexDecode,
  htmlEntityDecode,
  jsDecode,
  urlDecode,
  urlDecodeUni,
  utf8ToUnicode,
} from "./text-decodings.ts";

/** Changes a value before an operator looks at it; one character a byte. */
export type Transformation = (text: string) => string;

/** By the names of `t:`, other than none. docs/waf.md#rules-of-your-own */
export const TRANSFORMATION_OF: Readonly<Record<string, Transformation>> = {
  lowercase: (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  uppercase: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  urlDecode,
  urlDecodeUni,
  htmlEntityDecode,
  jsDecode,
  cssDecode,
  escapeSeqDecode,
  base64Decode: (text) => base64Decode(text, false),
  base64DecodeExt: (text) => base64Decode(text, true),
  hexDecode,
  hexEncode: (text) => Buffer.from(text, "latin1").toString("hex"),
  utf8toUnicode: utf8ToUnicode,
  compressWhitespace: (text) => text.replace(/[\t-\r ]+/g, " "),
  removeWhitespace: (text) => text.replace(/[\t-\r ]+/g, ""),
  removeNulls: (text) => text.replaceAll("\0", ""),
  replaceNulls: (text) => text.replaceAll("\0", " "),
  replaceComments: (text) => text.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, " "),
  removeComments,
  removeCommentsChar: (text) => text.replace(/\/\*|\*\/|<!--|-->|--|#/g, ""),
  trim: (text) => trimmed(text, true, true),
  trimLeft: (text) => trimmed(text, true, false),
  trimRight: (text) => trimmed(text, false, true),
  normalizePath,
  normalizePathWin,
  length: (text) => String(text.length),
  sha1: (text) => hash("sha1", text),
  md5: (text) => hash("md5", text),
  cmdLine,
};

function hash(algorithm: string, text: string): string {
  return createHash(algorithm).update(text, "latin1").digest("latin1");
}

/** Without blanks of ASCII at its ends: the runtime takes bytes of other characters for some. */
function trimmed(text: string, isLeft: boolean, isRight: boolean): string {
  let from = 0;
  let to = text.length;
  if (isLeft) while (from < to && isBlank(text.charCodeAt(from))) from++;
  if (isRight) while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 9 && code <= 13);
}

/** Without comments of SQL, C and HTML; what follows `--` and `#` is cut off. */
function removeComments(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const opening = text.startsWith("/*", at) ? "*/" : text.startsWith("<!--", at) ? "-->" : "";
    if (opening !== "") {
      const end = text.indexOf(opening, at + 2);
      if (end < 0) return `${out} `;
      at = end + opening.length;
    } else if (text.startsWith("--", at) || text[at] === "#") return out;
    else out += text[at++];
  }
  return out;
}

/** Without `.`, `..` with the part before it, and repeated slashes. */
function normalizePath(text: string): string {
  if (text === "") return text;
  const isAbsolute = text.startsWith("/");
  const parts: string[] = [];
  for (const part of text.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".." || !isAbsolute) parts.push(part);
  }
  const path = `${isAbsolute ? "/" : ""}${parts.join("/")}`;
  return text.endsWith("/") && !path.endsWith("/") && path !== "" ? `${path}/` : path;
}

/** The same with backslashes for slashes, and without the dots and blanks at the end of names, which Windows leaves out. */
function normalizePathWin(text: string): string {
  const parts = normalizePath(text.replaceAll("\\", "/")).split("/");
  return parts.map((part) => (part === ".." ? part : withoutDots(part))).join("/");
}

function withoutDots(part: string): string {
  let to = part.length;
  while (to > 0 && (part[to - 1] === "." || part[to - 1] === " ")) to--;
  return part.slice(0, to);
}

/** As a shell reads a line: without quotes, backslashes and carets, with single blanks, in lower case. */
function cmdLine(text: string): string {
  return text
    .replace(/["'\\^]/g, "")
    .replace(/[ ,;\t\r\n]+/g, " ")
    .replace(/ ([/(])/g, "$1")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
