import { type InnerList, type Item, parseDictionary } from "../semantics/structured-fields.ts";
import { itemText, listText, memberText } from "../semantics/structured-text.ts";

/** The parts of a request that signatures cover; all texts one character a byte. */
export interface SignedRequest {
  readonly method: string;
  readonly scheme: "https" | "http";
  /** Lower case, without the scheme's own port. */
  readonly authority: string;
  /** As it was sent, `/` at least. */
  readonly path: string;
  /** Without the question mark; null without one. */
  readonly query: string | null;
  /** The target of the request line. */
  readonly target: string;
  /** The values of the lines of a field, without outer white space. @param name in lower case */
  linesOf(name: string): readonly string[];
}

/** Components of one signature. */
const MAX_COMPONENTS = 32;
/** Characters of a base: heads are bounded, but a field may be covered in several forms. */
const MAX_BASE_CHARS = 131_072;

/**
 * The text that a signature of a request is of. RFC 9421 §2.5
 * @param covered the components and the parameters of the signature
 * @returns null if a component is missing, covered twice or unknown
 */
export function signatureBase(covered: InnerList, request: SignedRequest): string | null {
  const { items } = covered;
  if (items.length > MAX_COMPONENTS) return null;
  const seen = new Set<string>();
  const lines: string[] = [];
  let length = 0;
  for (const component of items) {
    const name = itemText(component);
    const value = componentValue(component, request);
    if (value === null || seen.has(name)) return null;
    seen.add(name);
    length += name.length + value.length;
    if (length > MAX_BASE_CHARS) return null;
    lines.push(`${name}: ${value}`);
  }
  lines.push(`"@signature-params": ${listText(covered)}`);
  return lines.join("\n");
}

/** Null if the request has no such component. RFC 9421 §2 */
function componentValue({ item, parameters }: Item, request: SignedRequest): string | null {
  if (item.kind !== "string") return null;
  const { value: name } = item;
  if (name.startsWith("@")) {
    if (name === "@query-param") return parameterValue(parameters, request.query);
    return parameters.size === 0 ? (DERIVED.get(name)?.(request) ?? null) : null;
  }
  if (!FIELD_NAME.test(name) || parameters.size > 1) return null;
  const lines = request.linesOf(name);
  if (lines.length === 0) return null;
  const [[parameter, value] = ["", null]] = [...parameters];
  if (parameter === "") return lines.join(", ");
  if (parameter === "bs" && value?.kind === "boolean" && value.value)
    return lines.map((line) => `:${Buffer.from(line, "latin1").toString("base64")}:`).join(", ");
  // The form of a whole field depends on its kind, which is not known of all.
  if (parameter !== "key" || value?.kind !== "string") return null;
  const member = parseDictionary(lines.join(", "), true)?.get(value.value);
  return member === undefined ? null : memberText(member);
}

/** RFC 9421 §2.2.8: the one value of a parameter, decoded and encoded again. */
function parameterValue(parameters: Item["parameters"], query: string | null): string | null {
  const name = parameters.get("name");
  if (parameters.size !== 1 || name?.kind !== "string" || query === null) return null;
  const wanted = [...new URLSearchParams(query)].filter(([key]) => formEncoded(key) === name.value);
  return wanted.length === 1 ? formEncoded(wanted[0]![1]) : null;
}

function formEncoded(text: string): string {
  const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.toWellFormed()).replace(/[!'()~]/g, percent);
}

const DERIVED: ReadonlyMap<string, (request: SignedRequest) => string> = new Map([
  ["@method", ({ method }: SignedRequest) => method],
  ["@scheme", ({ scheme }: SignedRequest) => scheme],
  ["@authority", ({ authority }: SignedRequest) => authority],
  ["@path", ({ path }: SignedRequest) => path],
  ["@query", ({ query }: SignedRequest) => `?${query ?? ""}`],
  ["@request-target", ({ target }: SignedRequest) => target],
  [
    "@target-uri",
    ({ scheme, authority, path, query }: SignedRequest) =>
      `${scheme}://${authority}${path}${query === null ? "" : `?${query}`}`,
  ],
]);
const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
