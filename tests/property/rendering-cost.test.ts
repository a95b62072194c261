import { describe, expect, test } from "bun:test";
import { MAX_HEADER_LINE_BYTES, MAX_REQUEST_LINE_BYTES } from "../../src/core/limits.ts";
import { UndecodableResponse } from "../../src/features/transcode/method-codec.ts";
import { SchemaCodec } from "../../src/features/transcode/schema-codec.ts";
import { compileRules } from "../../src/features/waf/seclang/compiled-rules.ts";
import { RequestFacts } from "../../src/features/waf/seclang/request-facts.ts";
import { runPhase } from "../../src/features/waf/seclang/rule-engine.ts";
import { RuleTransaction } from "../../src/features/waf/seclang/rule-transaction.ts";
import { questionedExchange } from "../../src/features/waf/waf-explanation.ts";
import { ClientPeer } from "../../src/message/client-peer.ts";
import { Exchange, Pipeline, type Route } from "../../src/message/exchange.ts";
import { RouteKind } from "../../src/message/route.ts";
import { judgeRuleExpression } from "../../src/proto/expression/expression.ts";
import { readRules } from "../../src/proto/seclang/rule-set-reader.ts";
import { PLACEHOLDERS } from "../../src/proto/template/placeholders.ts";
import { type TemplateMode, templateOf } from "../../src/proto/template/template.ts";
import { SHOP } from "../harness/grpc-shop.ts";
import { expectLinear, type Reader } from "../harness/reader-cost.ts";
import { bodyReading } from "../harness/waf-bodies.ts";

// docs/security.md: rules of `waf.rules`, templates and protobuf messages of origins cost time in proportion to what they read.

const BODY_CHARS = 65_536;
const MESSAGE_CHARS = 49_152;
/** The longest of a head: further ones are refused before anything is read of them. */
const TARGET_CHARS = MAX_REQUEST_LINE_BYTES - 100;
const FIELDS_CHARS = 60_000;
const LINE_CHARS = MAX_HEADER_LINE_BYTES - 100;
const RUNS = Number(process.env.READER_COST_RUNS ?? 25);
const SEED = 20_261_127;

/** One of each, with an argument that texts of a fuzz reach; those with a macro compare one part of the request with another. */
const OPERATORS: readonly string[] = [
  "@rx (?:a|b)+c",
  "@rx ^[\\w.]*@",
  "@pm select union from sleep",
  "@contains %{ARGS.b}",
  "@contains aaaaaaab",
  "@containsWord %{ARGS.b}",
  "@containsWord a",
  "@beginsWith %{ARGS.b}",
  "@endsWith %{ARGS.b}",
  "@streq %{ARGS.b}",
  "@within %{ARGS.b} a b c",
  "@eq 3",
  "@ge %{ARGS.b}",
  "@ipMatch 192.0.2.0/24,2001:db8::/32",
  "@validateByteRange 32-126,9",
  "@validateUrlEncoding",
  "@validateUtf8Encoding",
  "@detectSQLi",
  "@detectXSS",
];

const REQUEST_VARIABLES: readonly string[] = [
  ...["ARGS", "ARGS_NAMES", "ARGS_GET", "ARGS_GET_NAMES", "&ARGS", "ARGS:/^a/", "ARGS_COMBINED_SIZE", "QUERY_STRING"],
  ...["REQUEST_URI", "REQUEST_URI_RAW", "REQUEST_FILENAME", "REQUEST_BASENAME", "REQUEST_LINE", "REQUEST_HEADERS"],
  ...["REQUEST_HEADERS_NAMES", "REQUEST_COOKIES", "REQUEST_COOKIES_NAMES", "REQUEST_METHOD", "REQUEST_PROTOCOL"],
  ...["REMOTE_ADDR", "UNIQUE_ID", "SERVER_NAME"],
];
const BODY_VARIABLES: readonly string[] = ["ARGS", "ARGS_POST", "ARGS_POST_NAMES", "REQUEST_BODY", "FILES", "XML:/*"];

/** The requests that a fuzz asks. */
interface Questions {
  readonly maxChars: number;
  readonly questionOf: (text: string) => { readonly target: string; readonly headers: string[]; readonly body: string };
}

function exchangeOf({ target, headers, body }: ReturnType<Questions["questionOf"]>): Exchange {
  const bytes = Buffer.from(body, "latin1");
  const ex = questionedExchange({ method: "POST", target, headers, body: bytes });
  if (!(ex instanceof Exchange)) throw new Error(`no request: ${ex}`);
  return ex;
}

/** Runs the rules of both phases on a request. */
function ruleReader(
  name: string,
  rules: readonly string[],
  words: readonly string[],
  { maxChars, questionOf }: Questions,
): Reader {
  const text = rules.join("\n");
  const { set, faults } = readRules(["a.conf"], { matching: () => [], read: () => text }, judgeRuleExpression);
  expect(faults).toEqual([]);
  const { phases } = compileRules(set, new Set());
  return {
    name,
    words,
    maxChars,
    read: (shape) => {
      const question = questionOf(shape);
      const ex = exchangeOf(question);
      const facts = new RequestFacts(ex);
      const bytes = Buffer.from(question.body, "latin1");
      if (bytes.length > 0)
        facts.takeBody(bodyReading(ex.request.headers, bytes, BODY_CHARS), { isJson: false, processor: "" });
      const transaction = new RuleTransaction(facts, "on");
      for (const phase of phases) if (phase !== undefined) runPhase(phase, transaction, () => false);
    },
  };
}

const VALUE_WORDS = [
  "a",
  "b",
  "c",
  "aa",
  ".",
  "'",
  "<a ",
  "select ",
  "%41",
  "%",
  "+",
  "1",
  "#",
  "@",
  "/*",
  "--",
  "\xc3",
];
const FORM_WORDS = [...VALUE_WORDS, "&", "=", "a=", "&b=", "a#=", ";"];
const FORM = ["Content-Type: application/x-www-form-urlencoded"];
const inForm: Questions = {
  maxChars: BODY_CHARS,
  questionOf: (text) => ({ target: "/", headers: FORM, body: `b=aaaa&a=${text}`.slice(0, BODY_CHARS) }),
};
/** Both sides of a comparison are the client's. */
const twice: Questions = {
  maxChars: BODY_CHARS / 2,
  questionOf: (text) => {
    const plain = text.replace(/[&;#%+]/g, "a");
    return { target: "/", headers: FORM, body: `a=${plain}&b=${plain.slice(0, plain.length / 2)}` };
  },
};
const inTarget: Questions = {
  maxChars: TARGET_CHARS,
  questionOf: (text) => ({
    target: `/${text.slice(0, TARGET_CHARS).replace(/[^\x21-\x7e]|#/g, "a")}`,
    headers: [],
    body: "",
  }),
};
const inFields: Questions = {
  maxChars: FIELDS_CHARS,
  questionOf: (text) => ({ target: "/", headers: linesOf("Cookie", text), body: "" }),
};

/** Fields of one name that have a text together. */
function linesOf(name: string, text: string): string[] {
  const plain = text.slice(0, FIELDS_CHARS).replace(/[^\x20-\x7e]/g, "a");
  return plain.match(new RegExp(`.{1,${LINE_CHARS}}`, "g"))?.map((line) => `${name}: ${line}`) ?? [];
}

const RULES: readonly Reader[] = [
  ...OPERATORS.flatMap((operator) => {
    const rules = [`SecRule ARGS:a "${operator}" "id:1,phase:2,pass,capture,setvar:tx.a=+1"`];
    return [
      ruleReader(operator, rules, FORM_WORDS, inForm),
      ...(operator.includes("%{") ? [ruleReader(`${operator}, both long`, rules, VALUE_WORDS, twice)] : []),
    ];
  }),
  ruleReader(
    "variables of a request line",
    REQUEST_VARIABLES.map((one, i) => `SecRule ${one} "@contains zz" "id:${i + 1},phase:1,pass"`),
    [...FORM_WORDS, "/", "..", "//", "\\", "?"],
    inTarget,
  ),
  ruleReader(
    "variables of fields",
    REQUEST_VARIABLES.map((one, i) => `SecRule ${one} "@contains zz" "id:${i + 1},phase:1,pass"`),
    [...VALUE_WORDS, "; ", ";", "=", "a#=b; "],
    inFields,
  ),
  ruleReader(
    "variables of a body",
    BODY_VARIABLES.map((one, i) => `SecRule ${one} "@contains zz" "id:${i + 1},phase:2,pass"`),
    FORM_WORDS,
    inForm,
  ),
];

/** Placeholders of one name; those with a part of the client's choice have it filled in. */
const NAMES: readonly string[] = [
  ...PLACEHOLDERS.map(({ name }) => name.replace(/NAME$/, "a").replace(/N$/, "1")),
  "header.X-A",
  "cookie.a",
  "query.a",
];
const MODES: readonly TemplateMode[] = ["text", "header", "cookie", "url", "html", "htmlUrl", "json"];
const EACH = templateOf([...new Set(NAMES)].map((name) => `{${name}}`).join(" "));
const TEMPLATES: readonly Reader[] = MODES.flatMap((mode): Reader[] => {
  const words = ["a", "&", "=", "a=", "&a=", "%41", "%", "<", '"', "'", "\\", "{", "}", "é", ".", ";", "+", "#"];
  const rendered = (question: ReturnType<Questions["questionOf"]>): void => {
    const ex = exchangeOf(question);
    ex.pipeline = new Pipeline([], [], [], null, { idOf: () => "the-id" });
    ex.route = { kind: RouteKind.Plain, path: "/", label: "/", init: { exact: false } } as unknown as Route;
    ex.client = new ClientPeer("192.0.2.7", false, 8080);
    EACH.render(ex, mode);
  };
  return [
    {
      name: `a target as ${mode}`,
      words: [...words, "?", "?a="],
      maxChars: TARGET_CHARS,
      read: (text) => rendered(inTarget.questionOf(text)),
    },
    {
      name: `fields as ${mode}`,
      words: [...words, "; ", ";a="],
      maxChars: FIELDS_CHARS / 2,
      read: (text) =>
        rendered({ target: "/", headers: [...linesOf("Cookie", text), ...linesOf("X-A", text)], body: "" }),
    },
  ];
});

const JSON_OPTIONS = { emitDefaults: true, protoNames: false, enumNumbers: false, ignoreUnknown: true };
const FIELDS = { body: "*", responseBody: "", httpMethod: "POST", isAuto: false, json: JSON_OPTIONS };
const ECHO = new SchemaCodec(SHOP.method("/shop.Shop/Echo")!, SHOP.registry, FIELDS);

/** A field of a message as it is on the wire: its number and kind, then what is in it. */
const field = (number: number, kind: number, value = ""): string =>
  (number < 16
    ? String.fromCharCode(number * 8 + kind)
    : String.fromCharCode(((number * 8 + kind) & 127) | 128, number >> 4)) + value;
const sized = (text: string): string => String.fromCharCode(text.length) + text;
const NUMBERS = Array.from({ length: 40 }, (_, i) => i + 1);
const MESSAGES: Reader = {
  name: "protobuf to JSON",
  maxChars: MESSAGE_CHARS,
  words: [
    ...NUMBERS.flatMap((number) => [
      field(number, 0, "\x01"),
      field(number, 2, sized("")),
      field(number, 2, sized("a")),
      field(number, 2, sized(field(1, 2, sized("k#")) + field(2, 0, "\x01"))),
      field(number, 1, "\0\0\0\0\0\0\xf0\x3f"),
      field(number, 5, "\0\0\x80\x3f"),
      field(number, 2, "\x7f"),
    ]),
    ...["\0", "\x80", "\xff", "\x0a", "a"],
  ],
  read: (text) => {
    try {
      ECHO.decode(Buffer.from(text, "latin1"));
    } catch (error) {
      if (!(error instanceof UndecodableResponse)) throw error;
    }
  },
};

describe("time is in proportion to the text", () => {
  test.each(RULES.map((one) => [one.name, one] as const))(
    "SecLang: %s",
    (_name, one) => expectLinear(one, RUNS, SEED),
    120_000,
  );
  test.each(TEMPLATES.map((one) => [one.name, one] as const))(
    "templates: %s",
    (_name, one) => expectLinear(one, RUNS, SEED),
    120_000,
  );
  test(MESSAGES.name, () => expectLinear(MESSAGES, 8 * RUNS, SEED), 120_000);
});
