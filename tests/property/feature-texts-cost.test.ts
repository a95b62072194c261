import { describe, test } from "bun:test";
import { readModelRequest } from "../../src/features/ai/model-request.ts";
import { usageReader } from "../../src/features/ai/token-usage.ts";
import { HostRules, hostRule } from "../../src/features/connect/host-rules.ts";
import { AllowedOrigins, isPageOrigin } from "../../src/features/cors/allowed-origins.ts";
import { mayBeExposed, tagLabels } from "../../src/features/providers/control/catalog/tags.ts";
import { BodyReplacer, TextRules } from "../../src/features/rewrite/body-replacer.ts";
import { Page } from "../../src/features/ssi/page.ts";
import { dropRoomCookies } from "../../src/features/waiting/room-cookie.ts";
import type { BodyEditor } from "../../src/message/editing-sink.ts";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { scgiHeadBound, writeScgiHead } from "../../src/proto/cgi/scgi-head.ts";
import { packetBound, writePacket } from "../../src/proto/cgi/uwsgi-packet.ts";
import { ALGORITHM_NAMES, readKeySet, readPublicKeys } from "../../src/proto/jwt/key-set.ts";
import { samples } from "../harness/long-lane.ts";
import { expectLinear, type Reader } from "../harness/reader-cost.ts";

// docs/security.md: texts of language models, pages with directives, key sets, tags of catalogs and fields for applications cost time in
// proportion to their length; beside text-cost.test.ts, reader-cost.test.ts and rendering-cost.test.ts.

const RUNS = Number(process.env.READER_COST_RUNS ?? samples(400, 2));
const FIELD_CHARS = 65_536;
const BODY_CHARS = 1_048_576;
const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");
const JSON_WORDS = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  '\\"',
  "\\",
  "\\q",
  "\\u0041",
  '"usage":',
  '"a#":1,',
  "null",
  " ",
];

/** All that an editor gives for a body that comes in pieces. */
function edit(editor: BodyEditor, text: string, size: number): void {
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += size) {
    editor.feed(bytes, at, Math.min(bytes.length, at + size));
    while (editor.next(false) !== null);
    editor.settle();
  }
  while (editor.next(true) !== null);
}

function feedUsage(type: string, text: string): void {
  const reader = usageReader(type);
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += 512) reader.feed(bytes, at, Math.min(bytes.length, at + 512));
  void reader.usage;
}

const rules = new TextRules({
  rules: ["aab", "aaaa", "ab", "http://a/"].map((find) => ({ find, with: "b" })),
  ignoreCase: true,
  once: false,
} as never);
const page = () =>
  new Page({
    valueOf: (name) => (name === "QUERY_STRING" ? "a".repeat(2048) : null),
    timeAs: () => "now",
    include: (_path, done) => {
      done(null);
      return () => {};
    },
    onIncluded: () => {},
  });
const hosts = new HostRules(["*.a.test", "a.test:443", "*.b:*"].map((text) => hostRule(text)!));
const origins = new AllowedOrigins(["https://*.a.test", "https://*", "http://a.test"]);

function forApplication(text: string): void {
  // Names of one byte, values of four lengths of bytes each.
  const parts: Buffer[] = [];
  for (const value of text.split("\n")) {
    const length = Buffer.alloc(5);
    length[0] = 1;
    length.writeUInt32BE((value.length | 0x8000_0000) >>> 0, 1);
    parts.push(length, bytesOf(`A${value}`));
  }
  const params = Buffer.concat(parts);
  writePacket(params, params.length, [0, 0], Buffer.alloc(packetBound(params.length)), 0);
  writeScgiHead(params, params.length, 0, Buffer.alloc(scgiHeadBound(params.length)), 0);
}

const READERS: readonly Reader[] = [
  {
    name: "events of models",
    words: [...JSON_WORDS, "\n", "\r\n", "data:", "data: [DONE]", ": ping", '"response":{', '"message":{', "event: a"],
    maxChars: BODY_CHARS,
    read: (text) => feedUsage("text/event-stream", text),
  },
  {
    name: "responses of models",
    words: JSON_WORDS,
    maxChars: BODY_CHARS,
    read: (text) => feedUsage("application/json", text),
  },
  {
    name: "requests to models",
    words: [...JSON_WORDS, '"model":"a",', '"stream":true,', '"MODEL":1,'],
    frame: ['{"model":"a"', "}"],
    maxChars: BODY_CHARS,
    read: (text) => {
      const request = readModelRequest(bytesOf(text));
      if (typeof request !== "string") request.body("b", true);
    },
  },
  ...[7, 16_384].map(
    (size): Reader => ({
      name: `pages with directives, ${size} bytes at a time`,
      words: [
        "<!--#",
        "-->",
        "--",
        "<!--",
        "<",
        "a",
        " ",
        '"',
        "'",
        "=",
        '<!--#set var="a" value="$a$a" -->',
        '<!--#set var="a" value="$QUERY_STRING" -->',
        '<!--#if expr="$a$a$a=b" -->',
        '<!--#if expr="$a" -->',
        "<!--#else -->",
        "<!--#endif -->",
        '<!--#echo var="a" -->',
        '<!--#include virtual="/$a" -->',
        '<!--#if expr="',
        "$a",
        "${a}",
        "\\$",
      ],
      maxChars: 65_536,
      read: (text) => edit(page(), text, size),
    }),
  ),
  ...[1, 16_384].map(
    (size): Reader => ({
      name: `texts that are replaced, ${size} bytes at a time`,
      words: ["a", "b", "A", "aab", "aaa", "ht", "http://", "x", "\xe9"],
      maxChars: size === 1 ? 32_768 : BODY_CHARS,
      read: (text) => edit(new BodyReplacer(rules), text, size),
    }),
  ),
  {
    name: "cookies of waiting rooms",
    words: ["edge_room_", "edge_room_a=b", ";", "; ", " ", "a=b", "=", "\t"],
    maxChars: FIELD_CHARS,
    read: (text) => {
      const headers = new HeaderBlock();
      headers.resetOwn();
      for (let i = 0; i < 4; i++) headers.add("Cookie", text);
      dropRoomCookies({ headers } as never);
    },
  },
  {
    name: "hosts for a forward proxy",
    words: [".", "a", "a.", "..", "a.test", "-", "_", "[", ":", "1"],
    maxChars: 4096,
    read: (text) => {
      hosts.allows(text, 443);
      hostRule(text);
    },
  },
  {
    name: "origins of pages",
    words: ["https://", "http:", "a", ".", "-", "*", ":", "//", "/", "@", ".a.test", "null"],
    maxChars: FIELD_CHARS,
    read: (text) => {
      origins.has(text);
      isPageOrigin(text);
    },
  },
  {
    name: "tags of catalogs",
    words: ["edge.a#=b\n", "edge.enable = true", "edge", ".enable", " ", "=", "\n", "traefik.", "true", "\t"],
    maxChars: 262_144,
    read: (text) => {
      const tags = text.split("\n");
      tagLabels(tags);
      mayBeExposed(tags, { labels: ["edge", "traefik"], exposedByDefault: false } as never);
    },
  },
  {
    name: "key sets",
    words: ['{"kty":"RSA","kid":"a#"},', '{"kty":"EC"},', '"', "{", "[", "a", '{"k":1},', '{"use":"enc"},'],
    frame: ['{"keys":[', "{}]}"],
    maxChars: 262_144,
    read: (text) => void readKeySet(text, ALGORITHM_NAMES),
  },
  {
    name: "public keys",
    words: ["-----BEGIN PUBLIC KEY-----\n", "-----END PUBLIC KEY-----\n", "-----BEGIN ", "-----", "MIIE\n", " ", "A"],
    maxChars: 262_144,
    read: (text) => void readPublicKeys(text, ALGORITHM_NAMES),
  },
  { name: "fields for applications", words: ["a", "\n", "aaaa", "\n\n"], maxChars: FIELD_CHARS, read: forApplication },
];

describe("time is in proportion to the text", () => {
  test.each(READERS.map((reader) => [reader.name, reader] as const))(
    "%s",
    (_name, reader) => expectLinear(reader, RUNS, Number(process.env.READER_COST_SEED ?? 20_261_128)),
    600_000,
  );
});
