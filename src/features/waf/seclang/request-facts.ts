import type { Exchange } from "../../../message/exchange.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { isPlainPath } from "../../../proto/h1/request-rules.ts";
import { queryWithMark, shownPath } from "../../../proto/target/routed-path.ts";
import { ja4Of } from "../../../proto/tls/ja4.ts";
import type { BodyReading } from "../body/body-reading.ts";
import { type BodyHints, EMPTY_BODY, factsOf, MAX_RULE_ARGUMENTS, readPairs } from "./body-facts.ts";
import { type BodyFacts, type RuleValue, ValueList } from "./rule-values.ts";
import { urlDecode } from "./text-decodings.ts";

/**
 * What rules see of a request and its response. Each part is made when a rule asks for it first. Values are as the application gets
 * them: decoded once, one character a byte.
 */
export class RequestFacts {
  private readonly ex: Exchange;
  private readonly known: Map<string, readonly RuleValue[]> = new Map();
  private body: BodyFacts = EMPTY_BODY;
  /** Whether there was more than rules look at. */
  isCut = false;

  constructor(ex: Exchange) {
    this.ex = ex;
  }

  /** The body has come. */
  takeBody(body: BodyReading, hints: BodyHints): void {
    this.body = factsOf(body, hints);
    this.isCut ||= this.body.isCut;
    this.known.clear();
  }

  /** All values of a variable other than those that rules set. @param name such as `ARGS` */
  valuesOf(name: string): readonly RuleValue[] {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const values = READERS[name]!(this);
    // A response comes later.
    if (!name.startsWith("RESPONSE_")) this.known.set(name, values);
    return values;
  }

  get head(): Exchange["request"] {
    return this.ex.request;
  }

  get exchange(): Exchange {
    return this.ex;
  }

  get bodyFacts(): BodyFacts {
    return this.body;
  }

  query(): readonly RuleValue[] {
    const list = new ValueList(MAX_RULE_ARGUMENTS);
    readPairs(this.queryText(), list);
    this.isCut ||= list.isFull;
    return list.list;
  }

  queryText(): string {
    const { head } = this;
    return head.text(Math.min(head.pathTo + 1, head.queryTo), head.queryTo);
  }
}

type Reader = (facts: RequestFacts) => readonly RuleValue[];

function single(read: (facts: RequestFacts) => string): Reader {
  return (facts) => [{ name: "", value: read(facts) }];
}

function namesOf(variable: string): Reader {
  return (facts) => facts.valuesOf(variable).map(({ name }) => ({ name, value: name }));
}

function fields(headers: HeaderBlock): RuleValue[] {
  const list: RuleValue[] = [];
  for (let i = 0; i < headers.count; i++) list.push({ name: headers.nameText(i), value: headers.valueText(i) });
  return list;
}

/** RFC 6265 §5.4, read leniently: values are not decoded. */
function cookies({ head }: RequestFacts): RuleValue[] {
  const list = new ValueList(MAX_RULE_ARGUMENTS);
  for (const { name, value } of fields(head.headers)) {
    if (name.toLowerCase() !== "cookie") continue;
    for (const pair of value.split(";")) {
      const equals = pair.indexOf("=");
      const key = (equals < 0 ? pair : pair.slice(0, equals)).trim();
      if (key !== "") list.add(key, equals < 0 ? "" : pair.slice(equals + 1).trim());
    }
  }
  return list.list;
}

/** Both forms of what a rule may look for, where they differ: as the client wrote it, and as the route was chosen by it. */
function bothForms(read: (path: string, facts: RequestFacts) => string): Reader {
  return (facts) => {
    const { head } = facts;
    const written = read(head.path(), facts);
    const shown = isPlainPath(head) ? written : read(shownPath(head), facts);
    return (written === shown ? [written] : [written, shown]).map((value) => ({ name: "", value }));
  };
}

function fileName(path: string): string {
  return urlDecode(path.replaceAll("+", "%2B"));
}

function baseName(path: string): string {
  const whole = fileName(path);
  const name = whole.slice(Math.max(whole.lastIndexOf("/"), whole.lastIndexOf("\\")) + 1);
  return name === "" ? whole : name;
}

function protocol({ head }: RequestFacts): string {
  return head.protocol();
}

function combinedSize(values: readonly RuleValue[]): string {
  return String(values.reduce((sum, { name, value }) => sum + name.length + value.length, 0));
}

function responseField(facts: RequestFacts, wanted: string): string {
  return facts.valuesOf("RESPONSE_HEADERS").find(({ name }) => name.toLowerCase() === wanted)?.value ?? "";
}

/** The variables that `proto/seclang/rule-names.ts` has, but for those that rules make. */
const READERS: Readonly<Record<string, Reader>> = {
  ARGS: (facts) => [...facts.valuesOf("ARGS_GET"), ...facts.valuesOf("ARGS_POST")],
  ARGS_GET: (facts) => facts.query(),
  ARGS_POST: (facts) => facts.bodyFacts.args,
  ARGS_NAMES: namesOf("ARGS"),
  ARGS_GET_NAMES: namesOf("ARGS_GET"),
  ARGS_POST_NAMES: namesOf("ARGS_POST"),
  ARGS_COMBINED_SIZE: single((facts) => combinedSize(facts.valuesOf("ARGS"))),
  REQUEST_HEADERS: ({ head }) => fields(head.headers),
  REQUEST_HEADERS_NAMES: namesOf("REQUEST_HEADERS"),
  REQUEST_COOKIES: cookies,
  REQUEST_COOKIES_NAMES: namesOf("REQUEST_COOKIES"),
  FILES: ({ bodyFacts }) => bodyFacts.files,
  FILES_NAMES: namesOf("FILES"),
  FILES_SIZES: ({ bodyFacts }) => bodyFacts.fileSizes,
  FILES_COMBINED_SIZE: single(({ bodyFacts }) =>
    String(bodyFacts.fileSizes.reduce((sum, { value }) => sum + Number(value), 0)),
  ),
  REQUEST_URI: bothForms((path, { head }) => path + queryWithMark(head)),
  REQUEST_URI_RAW: single(({ head }) => head.target()),
  REQUEST_FILENAME: bothForms(fileName),
  REQUEST_BASENAME: bothForms(baseName),
  REQUEST_LINE: single((facts) => `${facts.head.methodText()} ${facts.head.target()} ${protocol(facts)}`),
  REQUEST_METHOD: single(({ head }) => head.methodText()),
  REQUEST_PROTOCOL: single(protocol),
  REQUEST_BODY: single(({ bodyFacts }) => bodyFacts.raw),
  REQUEST_BODY_LENGTH: single(({ bodyFacts }) => String(bodyFacts.raw.length)),
  QUERY_STRING: single((facts) => facts.queryText()),
  REMOTE_ADDR: single(({ exchange }) => exchange.clientIp),
  TLS_JA4: single(({ exchange }) => ja4Of(exchange.client)),
  TLS_GROUP: single(({ exchange }) => exchange.client.tlsGroup),
  HTTP2_FINGERPRINT: single(({ exchange }) => exchange.client.opening?.text ?? ""),
  SERVER_NAME: single(({ head }) => head.authority().replace(/:\d+$/, "")),
  REQBODY_PROCESSOR: single(({ bodyFacts }) => bodyFacts.processor),
  REQBODY_ERROR: single(({ bodyFacts }) => (bodyFacts.error === "" ? "0" : "1")),
  REQBODY_ERROR_MSG: single(({ bodyFacts }) => bodyFacts.error),
  XML: ({ bodyFacts }) => [
    ...bodyFacts.texts.map(({ value }) => ({ name: "/*", value })),
    ...bodyFacts.attributes.map(({ value }) => ({ name: "//@*", value })),
  ],
  UNIQUE_ID: single(({ exchange }) => exchange.pipeline.nameOf(exchange)),
  RESPONSE_STATUS: single(({ exchange }) => String(exchange.response.status)),
  RESPONSE_PROTOCOL: single(protocol),
  RESPONSE_HEADERS: ({ exchange }) => fields(exchange.response.headers),
  RESPONSE_HEADERS_NAMES: namesOf("RESPONSE_HEADERS"),
  RESPONSE_CONTENT_TYPE: single((facts) => responseField(facts, "content-type")),
  RESPONSE_CONTENT_LENGTH: single((facts) => responseField(facts, "content-length")),
};
