import { TEXT } from "../config/form.ts";
import { headerValueFault, namedFields } from "../config/http-syntax.ts";
import { describe, type Kind, list, pairs, piece, type Spot, Wrong } from "../config/piece.ts";
import { block, type ConfigOf, type Rows, type Values } from "../config/row.ts";
import { integer, text, textLike } from "../config/scalars.ts";
import { ipVersion } from "../core/ip-address.ts";

/** A method and a URL or path, or one of these alone. */
export const REQUEST_PATTERN: RegExp = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]+)?(?:https?:\/\/|\/|\*$)\S*$/;
/** The same in words. */
export const REQUEST_WORDS = "a request such as GET /x or GET https://shop.example.com/x";

const TEXT_OR_NUMBER = {
  is: "either",
  forms: [TEXT, { is: "integer", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }],
} as const;

const expectedRows = {
  route: {
    type: text("a route's prefix or path"),
    absent: null,
    example: "/api",
    doc: 'the prefix or path of the route that takes the request; or "none"',
  },
  status: { type: integer(100, 599), absent: null, example: 308, doc: "the status of the gateway's own response" },
  location: { type: text("a URL"), absent: null, example: "https://example.com/x", doc: "Location of a redirect" },
  target: {
    type: text("a server address"),
    absent: null,
    example: "http://10.0.0.5:8000",
    doc: "one of the targets; with a path, the path that the origin gets",
  },
  header: {
    type: expectedFields(),
    example: { "Cache-Control": "no-store" },
    doc: "fields of the response: a value, or true or false for present or not",
  },
} as const satisfies Rows;

const expected = block(expectedRows, { check: checkExpected, manual: "edge help routes" });

/** One entry of `tests` in routes.yaml. docs/explain.md#tests */
const routeTest = block(
  {
    request: { type: textLike(REQUEST_PATTERN, REQUEST_WORDS), required: REQUEST_WORDS, example: "GET /api/users" },
    headers: {
      type: requestFields(),
      example: { Host: "api.example.com" },
      doc: "fields of the request; Host is localhost by default",
    },
    body: { type: text("a body"), absent: "", example: "a=1", doc: "the body of the request" },
    client_ip: { type: clientAddress(), default: "127.0.0.1", example: "198.51.100.7", doc: "the client's address" },
    expect: { type: expected, doc: "the result that you expect" },
  } as const satisfies Rows,
  { manual: "edge help routes", finish: (_plain, _values, { log, path }) => ({ position: log.position(path) }) },
);

/** A request and what must become of it. */
export type RouteTest = ConfigOf<typeof routeTest>;

/** The key `tests` of routes.yaml. */
export const routeTests = list(routeTest, "tests");

function checkExpected(values: Values<typeof expectedRows>, { log, path }: Spot): void {
  const { header, ...others } = values;
  if (header.length > 0 || Object.values(others).some((value) => value !== null) || log.isFaulty(path)) return;
  log.fault(
    path.slice(0, -1),
    "a test needs expect with route, status, location, target or header, such as expect: {status: 404}",
  );
}

function clientAddress(): Kind<string> {
  return piece(
    (value) =>
      typeof value === "string" && ipVersion(value) > 0
        ? value
        : new Wrong(`expected a client address such as 198.51.100.7, found ${describe(value)}`),
    TEXT,
  );
}

function requestFields(): Kind<[string, string][]> {
  const value = piece((found) => {
    const one = typeof found === "number" ? String(found) : found;
    const fault = typeof one === "string" ? headerValueFault(one) : "expected the header's value as text";
    return fault === "" ? (one as string).trim() : new Wrong(fault);
  }, TEXT_OR_NUMBER);
  return namedFields(pairs(value, "Name: value"));
}

function expectedFields(): Kind<[string, string | boolean][]> {
  const value = piece(
    (found): string | boolean | Wrong => {
      if (typeof found === "string" || typeof found === "boolean") return found;
      return typeof found === "number"
        ? String(found)
        : new Wrong(`expected a value, true or false, found ${describe(found)}`);
    },
    { is: "either", forms: [...TEXT_OR_NUMBER.forms, { is: "flag" }] },
  );
  return namedFields(pairs(value, "Name: value"));
}
