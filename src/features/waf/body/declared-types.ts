import { type HeaderBlock, HeaderId } from "../../../message/header-block.ts";

/** What applications may take a body for, as bits. */
export const enum BodyKind {
  Form = 1,
  Json = 2,
  Multipart = 4,
  Xml = 8,
  /** Messages with a length in front: gRPC, and the streams of Connect. */
  Grpc = 16,
  /** What a browser reports of a page, in JSON. */
  Report = 32,
}

/** What all Content-Type fields of a request say of its body. */
export interface DeclaredTypes {
  /** BodyKind bits; 0 if they name none of them. */
  readonly kinds: number;
  /** The one boundary of a multipart body; "" if there is none, or readers would not agree on it. */
  readonly boundary: string;
  /** Whether a character set is named in which text that looks harmless is not. */
  readonly hidesText: boolean;
  /** Whether the body is a stream of messages, and nothing else to a reader that goes by its type. */
  readonly isStream: boolean;
  /** Whether the body is a sequence of JSON texts, a line each, to a reader that goes by its type. */
  readonly hasLines: boolean;
  /** Whether the messages are written in base64: gRPC-Web's "-text" formats. */
  readonly isBase64: boolean;
}

/**
 * Reads the Content-Type fields as leniently as the most lenient application does: some look for a word in the field, some take the
 * first of two fields, some the last, some the first element of a list.
 */
export function declaredTypes(headers: HeaderBlock): DeclaredTypes {
  const first = headers.find(HeaderId.ContentType);
  if (first < 0) return UNDECLARED;
  let text = "";
  for (let i = first; i >= 0; i = headers.find(HeaderId.ContentType, i + 1)) {
    text += `${text === "" ? "" : ","}${headers.valueText(i)}`;
  }
  if (text === lastText) return lastTypes;
  lastTypes = typesOf(text);
  lastText = text;
  return lastTypes;
}

function typesOf(text: string): DeclaredTypes {
  const lower = text.toLowerCase();
  let kinds = 0;
  for (const [word, kind] of WORDS) if (lower.includes(word)) kinds |= kind;
  if (XML_WORD.test(lower)) kinds |= BodyKind.Xml;
  const isStream = STREAM.test(lower) && (kinds & ~(BodyKind.Grpc | BodyKind.Json)) === 0;
  const isBase64 = lower.includes("grpc-web-text");
  if (REPORT.test(lower)) kinds |= BodyKind.Report;
  const isMultipart = (kinds & BodyKind.Multipart) !== 0;
  return {
    kinds,
    boundary: isMultipart ? boundaryOf(text) : "",
    hidesText: namesHidingCharset(text),
    isStream,
    hasLines: JSON_LINES.test(lower),
    isBase64,
  };
}

/**
 * Whether one of the character sets that are named is not known to have the characters of ASCII where ASCII has them. UTF-7, UTF-16
 * and EBCDIC have not, and neither have "base64" and "hex", which some libraries take for character sets.
 */
export function namesHidingCharset(text: string): boolean {
  if (!/charset/i.test(text)) return false;
  for (const [, value] of text.matchAll(CHARSET)) {
    const name = value!.replace(/^[^']*'[^']*'/, "");
    if (/[a-z0-9]/i.test(name) && !isPlainCharset(name)) return true;
  }
  return false;
}

/** Whether a character set is known to have the characters of ASCII where ASCII has them. */
export function isPlainCharset(name: string): boolean {
  return PLAIN_CHARSETS.test(name.toLowerCase().replace(/[^a-z0-9]/g, ""));
}

function boundaryOf(text: string): string {
  // Some readers look for the word wherever it is.
  if ([...text.matchAll(BOUNDARY)].length !== 1) return "";
  const [, quoted, token] = ONE_BOUNDARY.exec(text) ?? [];
  const boundary = quoted ?? token ?? "";
  return READABLE_BOUNDARY.test(boundary) ? boundary : "";
}

/** Of a body whose type is not named. */
export const UNDECLARED: DeclaredTypes = {
  kinds: 0,
  boundary: "",
  hidesText: false,
  isStream: false,
  hasLines: false,
  isBase64: false,
};
/** Most requests with a body name one of a few types. */
let lastText = "";
let lastTypes: DeclaredTypes = UNDECLARED;
const WORDS: readonly (readonly [string, BodyKind])[] = [
  ["urlencoded", BodyKind.Form],
  ["url-encoded", BodyKind.Form],
  ["json", BodyKind.Json],
  ["csp-report", BodyKind.Json],
  ["multipart", BodyKind.Multipart],
  ["application/grpc", BodyKind.Grpc],
  ["application/connect+", BodyKind.Grpc],
];
/** One type, and no other after it. */
const STREAM = /^application\/(?:grpc|connect\+)[^,]*$/;
/** NDJSON by its many names, and RFC 7464; one type, and no other after it. */
const JSON_LINES =
  /^[a-z]+\/(?:x-)?(?:nd-?json|ld-?json|json-?lines?|jsonl|json-seq|json-stream|stream\+json|[a-z0-9.-]+\+(?:json-seq|ndjson|jsonl))\s*(?:;[^,]*)?$/;
/** A report on the policy of contents, and any other that a browser sends. */
const REPORT = /^application\/(?:csp-report|reports\+json)[^,]*$/;
/** Not the middle of vnd.openxmlformats, which is an archive. RFC 7303. */
const XML_WORD = /(?:^|[^a-z])xml(?:[^a-z]|$)/;
const CHARSET = /charset[\s*\d]*=\s*["']?([^;,"\s]*)/gi;
const BOUNDARY = /boundary[\s*\d]*=/gi;
/**
 * The parameter where the word is for the first time, which is where some look for it, and a value whose end all see alike:
 * without quotes, some end it at the first byte that is none of a token.
 */
const ONE_BOUNDARY =
  /^(?:(?!boundary).)*(?<=[;,\s"'])boundary\s*=\s*(?:"([^"]*)"|([\w!#$%&'*+.^`|~-]+))\s*(?:[;,]|$)/is;
/** Characters in which no reader sees an escape or an end, and no space at the end. RFC 2046 §5.1.1 allows 70; some make longer ones. */
const READABLE_BOUNDARY = /^[!#-+\--[\]-~ ]{0,199}[!#-+\--[\]-~]$/;
const PLAIN_CHARSETS =
  /^(?:utf8(?:mb4|bom)?|unicode11utf8|usascii|ascii|ansi|iso646us|iso8859\d{1,2}[ei]?|latin\d|l\d|windows125\d|windows874|cp125\d|cp874|koi8[ru]|gb2312|gbk|gb18030|x?gbk|big5(?:hkscs)?|shiftjis|sjis|windows31j|ms932|cp932|euc(?:jp|kr|tw|cn)|ksc5601\w*|cp949|uhc|tis620|x?mac\w*|macintosh)$/;
