import { describe, expect, test } from "bun:test";
import { LineCounter } from "yaml";
import { strictYaml, strictYamls } from "../../src/config/yaml-document.ts";
import { readYaml } from "../../src/config/yaml-source.ts";
import { readRedirectList } from "../../src/features/answer/redirect-list.ts";
import { readDecisions, readNetworks } from "../../src/features/bans/feed-text.ts";
import { readMapList } from "../../src/features/maps/map-list.ts";
import { edgeRoutes } from "../../src/features/providers/control/labels/container-labels.ts";
import { OwnLocations, RuledLocations } from "../../src/features/rewrite/location-rewrite.ts";
import { ResponseRewrite } from "../../src/features/rewrite/response-rewrite.ts";
import { declaredTypes } from "../../src/features/waf/body/declared-types.ts";
import { eachPart } from "../../src/features/waf/body/multipart-parts.ts";
import { importCrsExclusions } from "../../src/features/waf/crs-exclusions.ts";
import { LEAK_RULES } from "../../src/features/waf/responses/leak-rules.ts";
import { LeakScan } from "../../src/features/waf/responses/leak-scan.ts";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { judgeRuleExpression } from "../../src/proto/expression/expression.ts";
import { decodeMessage } from "../../src/proto/grpc/grpc-status.ts";
import { ListTokens } from "../../src/proto/h1/list-tokens.ts";
import { grantsUpgrade, namesHttp } from "../../src/proto/h1/upgrade-tokens.ts";
import { readCertificates } from "../../src/proto/pem/pem-text.ts";
import { readRules } from "../../src/proto/seclang/rule-set-reader.ts";
import { ByteRange } from "../../src/proto/semantics/byte-range.ts";
import { rangeApplies } from "../../src/proto/semantics/precondition.ts";
import { signatureBase } from "../../src/proto/signatures/signature-base.ts";
import { readSignatures } from "../../src/proto/signatures/signature-fields.ts";
import { LineCutter } from "../../src/tools/logs/line-source.ts";
import { LogView } from "../../src/tools/logs/log-view.ts";
import { samples } from "../harness/long-lane.ts";
import { expectLinear, type Reader } from "../harness/reader-cost.ts";

// docs/security.md: fields of clients and origins, lists, feeds, labels, rules and logs cost time in proportion to their length; beside
// reader-cost.test.ts and rendering-cost.test.ts.

const FIELD_CHARS = 65_536;
const FILE_CHARS = 262_144;
const RUNS = Number(process.env.READER_COST_RUNS ?? samples(400, 6));

function fieldOf(name: string, value: string): HeaderBlock {
  const headers = new HeaderBlock();
  headers.resetOwn();
  headers.add(name, value);
  return headers;
}

/** A reader that refuses a text has read it, too. */
function tried(read: () => unknown): void {
  try {
    read();
  } catch {}
}

/** All turns of a reader that lets others work between them. */
function whole(turns: Iterator<unknown>): void {
  tried(() => {
    while (turns.next().done !== true);
  });
}

const MARKS = [
  " ",
  "\t",
  ",",
  ", ",
  ";",
  "=",
  '"',
  "\\",
  '\\"',
  "a",
  "a#",
  "*",
  "/",
  ":",
  "%41",
  "%",
  "-",
  "0",
  "1",
  ".",
];
const LINES = ["\n", "\r\n", "#", "'", "{", "}", "[", "]", "- ", "|", "&", "!", "~", "?", "<", ">"];

const field = (name: string, words: readonly string[], read: (text: string) => void): Reader => ({
  name,
  words: [...MARKS, ...words],
  maxChars: FIELD_CHARS,
  read,
});
const file = (name: string, words: readonly string[], read: (text: string) => void): Reader => ({
  name,
  words: [...MARKS, ...LINES, ...words],
  maxChars: FILE_CHARS,
  read,
});

const origin = { scheme: "http", hostname: "app.test", port: 80, basePath: "/base" } as const;
const locations = [new OwnLocations([origin], "/app"), new RuledLocations([{ from: "http://app.test", to: "/app" }])];
const rewrites = locations.map(
  (one) =>
    new ResponseRewrite(one, {
      path: [["/a", "/b/"]],
      domain: [["a.test", "b.test"]],
      secure: true,
      httpOnly: true,
      sameSite: "lax",
    }),
);
const validators = { etag: '"a"', lastModifiedMs: 0 } as never;
const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

const FIELDS: readonly Reader[] = [
  field("Range and If-Range", ["bytes=", "bytes", "#-", '"a"', "W/"], (text) => {
    new ByteRange().resolve(text, 1000);
    rangeApplies(fieldOf("If-Range", text), validators, 0);
  }),
  field("cookies of origins", ["; Path=/a", "; Domain=a.test", "Secure", "; a#=b", "SameSite"], (text) => {
    for (const one of rewrites) one.apply(fieldOf("Set-Cookie", text));
  }),
  field("redirects of origins", ["http://", "app.test", "//", "url=", "0;url=", "?", "#", "\t"], (text) => {
    for (const one of rewrites) {
      one.apply(fieldOf("Location", text));
      one.apply(fieldOf("Refresh", text));
    }
  }),
  field("Connection and Upgrade", ["close", "upgrade", "websocket", "HTTP/2.0", "h2c"], (text) => {
    const headers = fieldOf("Upgrade", text);
    const tokens = new ListTokens(headers, 0);
    while (tokens.next());
    namesHttp(headers);
    grantsUpgrade(headers, headers);
  }),
  field(
    "Content-Type",
    ["charset=", "boundary=", "; ", "multipart/", "x-#", "utf-8", "json", "''", "xml"],
    (text) => void declaredTypes(fieldOf("Content-Type", text)),
  ),
  field(
    "signatures",
    ["s#=", ":QUFB:", ":QR==:", '("a")', '("a" "b")', ";created=1", ";tag=", "s#=:QR==:,"],
    (text) => {
      const input = text.replace(/:[^:,]*:/g, '("@authority");created=1');
      for (const { covered } of readSignatures(input, text)) signatureBase(covered, REQUEST);
    },
  ),
  field("statuses of gRPC", ["%C3%A9", "%e", "é", "%%"], (text) => void decodeMessage(text)),
];

const REQUEST = {
  method: "GET",
  scheme: "https",
  authority: "a.test",
  path: "/",
  query: null,
  target: "/",
  linesOf: () => ["a"],
} as const;

const scan = new LeakScan(LEAK_RULES);
const view = new LogView({ statuses: [], route: "", events: [], id: "", sinceMs: 0 } as never, false, true);
const SITE = {
  config: { labels: ["edge"], defaultHost: "", network: "", constraints: [] },
  section: "providers.docker",
  urlOf: () => "http://192.0.2.1",
} as never;

function labelled(text: string): void {
  const labels = text.split("\n").map((line): [string, string] => {
    const [name = "", value = ""] = line.split("=", 2);
    return [`edge.${name}`, value];
  });
  const instance = { id: "a", name: "a", scope: "", since: "", labels: Object.fromEntries(labels) };
  edgeRoutes([{ ...instance, addresses: { a: "192.0.2.1" }, ports: [80] }], SITE);
}

function cut(text: string): void {
  const cutter = new LineCutter((line) => void view.show(line));
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += 4096) cutter.push(bytes.subarray(at, at + 4096));
  cutter.end();
}

const FILES: readonly Reader[] = [
  file("lists of redirects", ["/a#,/b#\n", "/a,/b,301\n", 'a,"b""c"\n', "http://a.test/", "é"], (text) =>
    whole(readRedirectList(text)),
  ),
  file("lists of maps", ["a#,b\n", 'a,"b"\n', '""'], (text) => whole(readMapList(text))),
  file("lists of networks", ["192.0.2.#\n", "192.0.2.0/24\n", "10.0.0.1-10.0.0.9\n", "2001:db8::#\n"], (text) =>
    whole(readNetworks(bytesOf(text))),
  ),
  file("decisions", ['{"value":"192.0.2.#","duration":"1h"},', '"new":[', "1h", "9m"], (text) => {
    whole(readDecisions(bytesOf(`[${text}]`), new Map(), 0));
    whole(readDecisions(bytesOf(JSON.stringify([{ value: "192.0.2.1", duration: text }])), new Map(), 0));
  }),
  {
    ...file("labels", ["routes.a#.", "prefix=/a#\n", "rule=Host(`a`)\n", "a.b.c.", "targets.#."], labelled),
    maxChars: 65_536,
  },
  {
    ...file("YAML", ["a#: ", "a: b\n", "- a\n", "  ", "&a ", "*a ", "? ", "|\n", ">-\n", "!!a "], (text) => {
      tried(() => strictYaml(text));
      tried(() => strictYamls(text, new LineCounter()));
      tried(() => readYaml("a", text, {}));
    }),
    maxChars: 65_536,
  },
  file(
    "rules",
    ['SecRule ARGS "', '@rx a" "id:#,', "phase:2,", "\\\n", "SecAction ", "Include ", "ARGS|", "t:none,"],
    (text) => void readRules(["a"], { matching: () => [], read: () => text }, judgeRuleExpression),
  ),
  file(
    "exclusions",
    ["SecRuleRemoveById ", "942100 ", "1-9 ", 'SecRuleUpdateTargetById 1 "', "!ARGS:a,"],
    (text) => void importCrsExclusions(text),
  ),
  file(
    "certificates",
    ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n", "-----BEGIN ", "-----", "MIIE"],
    (text) => tried(() => readCertificates(bytesOf(text))),
  ),
  file("logs", ['{"event":"access","time":"a","path":"/#"}\n', '{"a":', "\x1b[0m", "é"], cut),
  file(
    "leaks",
    ["SELECT ", "at ", "-----BEGIN ", "ORA-#", "Traceback", "/srv/", "<b>Warning</b>", "on line #"],
    (text) => {
      const bytes = bytesOf(text);
      for (let at = 0; at < bytes.length; at += 512) scan.feed(bytes, at, Math.min(bytes.length, at + 512));
      scan.inOne(bytes, 0, bytes.length);
    },
  ),
  file(
    "parts",
    ["--b", "--b\r\n", "\r\n\r\n", 'Content-Disposition: form-data; name="a#"\r\n', "filename=", "; "],
    (text) => void eachPart("b", bytesOf(text), () => true),
  ),
];

describe("time is in proportion to the text", () => {
  test.each([...FIELDS, ...FILES].map((reader) => [reader.name, reader] as const))(
    "%s",
    (_name, reader) => expectLinear(reader, RUNS, Number(process.env.READER_COST_SEED ?? 20_261_128)),
    600_000,
  );
});

test("brackets in brackets, and thousands of keys, take YAML no longer than their length says", () => {
  const keys = Array.from({ length: 20_000 }, (_, i) => `a${i}: b\n`).join("");
  for (const text of [..."[{"].map((bracket) => bracket.repeat(3000)).concat("? ".repeat(1500), keys)) {
    const start = process.cpuUsage();
    strictYaml(text);
    strictYamls(text, new LineCounter());
    const { user, system } = process.cpuUsage(start);
    // Once 10 s and more of each.
    expect((user + system) / 1e6, text.slice(0, 10)).toBeLessThan(4);
  }
}, 60_000);
