import { sliceText } from "../../../core/bytes.ts";
import type { BodyReading } from "../body/body-reading.ts";
import { BodyKind } from "../body/declared-types.ts";
import { eachPart } from "../body/multipart-parts.ts";
import { readJsonValues } from "./json-values.ts";
import { type BodyFacts, type RuleValue, ValueList } from "./rule-values.ts";
import { htmlEntityDecode, urlDecode } from "./text-decodings.ts";

/** Parameters of a request that rules of `waf.rules` see; beyond it the request scores PROTOCOL-007. */
export const MAX_RULE_ARGUMENTS = 1000;

/** The known facts of a body beside its bytes. */
export interface BodyHints {
  /** Whether the route takes every body for JSON. */
  readonly isJson: boolean;
  /** What a rule has said that it is (`ctl:requestBodyProcessor`); "" if none has. */
  readonly processor: string;
}

/** Takes a body apart as its type says. */
export function factsOf(body: BodyReading, hints: BodyHints): BodyFacts {
  const content = body.text();
  const raw = sliceText(content, 0, Math.min(content.length, body.maxBytes));
  const processor = raw === "" ? "" : hints.processor || declaredProcessor(body.types.kinds, hints.isJson);
  const args = new ValueList(MAX_RULE_ARGUMENTS);
  const facts = { ...EMPTY_BODY, processor, raw, args: args.list };
  switch (processor) {
    case "URLENCODED":
      readPairs(raw, args);
      return { ...facts, isCut: args.isFull };
    case "JSON":
      return { ...facts, error: readJsonValues(raw, args), isCut: args.isFull };
    case "MULTIPART":
      return readParts(facts, args, body.types.boundary, content);
    case "XML":
      return readMarkup(facts);
    default:
      return facts;
  }
}

function declaredProcessor(kinds: number, isJson: boolean): string {
  if ((kinds & BodyKind.Multipart) !== 0) return "MULTIPART";
  if (isJson || (kinds & BodyKind.Json) !== 0) return "JSON";
  if ((kinds & BodyKind.Form) !== 0) return "URLENCODED";
  return (kinds & BodyKind.Xml) !== 0 ? "XML" : "";
}

/** The pairs of a query or a form, decoded once. */
export function readPairs(text: string, into: ValueList): void {
  if (text === "") return;
  for (const pair of text.split("&", MAX_RULE_ARGUMENTS + 2)) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    into.add(urlDecode(name), equals < 0 ? "" : urlDecode(pair.slice(equals + 1)));
  }
}

function readParts(facts: BodyFacts, args: ValueList, boundary: string, content: Uint8Array): BodyFacts {
  const files = new ValueList(MAX_RULE_ARGUMENTS);
  const fileSizes: RuleValue[] = [];
  const isParted = eachPart(boundary, content, (name, fileNames, value) => {
    if (fileNames.length === 0) args.add(name, value.toString("latin1"));
    for (const file of fileNames) {
      files.add(name, file);
      fileSizes.push({ name, value: String(value.length) });
    }
    return !args.isFull && !files.isFull;
  });
  const error = isParted ? "" : "the body has no parts";
  return { ...facts, files: files.list, fileSizes, error, isCut: args.isFull || files.isFull };
}

/** The texts between tags and the attributes in them; comments and instructions are passed over. */
function readMarkup(facts: BodyFacts): BodyFacts {
  const texts = new ValueList(MAX_RULE_ARGUMENTS);
  const attributes = new ValueList(MAX_RULE_ARGUMENTS);
  for (const match of facts.raw.matchAll(MARKUP)) {
    const [whole, plain, tag] = match;
    if (whole.startsWith("<!--") || whole.startsWith("<?")) continue;
    if (plain !== undefined) texts.add("", plain);
    else if (tag !== undefined) {
      for (const [, quoted, other] of tag.matchAll(ATTRIBUTE))
        attributes.add("", htmlEntityDecode(quoted ?? other ?? ""));
    } else if (whole.trim() !== "") texts.add("", htmlEntityDecode(whole.trim()));
  }
  return { ...facts, texts: texts.list, attributes: attributes.list, isCut: texts.isFull || attributes.isFull };
}

const MARKUP = /<!--[\s\S]*?(?:-->|$)|<\?[^>]*>?|<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)|<([^>]*)>?|[^<]+/g;
const ATTRIBUTE = /=\s*(?:"([^"]*)"|'([^']*)')/g;

/** A request without a body. */
export const EMPTY_BODY: BodyFacts = {
  processor: "",
  error: "",
  args: [],
  files: [],
  fileSizes: [],
  texts: [],
  attributes: [],
  isCut: false,
  raw: "",
};
