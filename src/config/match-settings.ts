import { isSecretName, MASK } from "../core/secret-name.ts";
import { HOP_BY_HOP_NAMES } from "../message/hop-by-hop.ts";
import { compileExpression, expressionIn, isExpressionFault } from "../proto/expression/expression.ts";
import type { Cidr } from "./cidr.ts";
import { quote } from "./config-fault.ts";
import { expressionFault } from "./expression-kind.ts";
import { TEXT } from "./form.ts";
import { isToken, routeMethod } from "./http-syntax.ts";
import { describe, type Kind, list, pairs, piece, resolved, Wrong, written } from "./piece.ts";
import { country } from "./place-kinds.ts";
import { block } from "./row.ts";
import { cidr, flag, percent, textLike } from "./scalars.ts";

/** The demands on the values of some names: `NAME: value`, `/expression/`, `true` or `false`. */
function fieldTests(isHeader: boolean): Kind<unknown, readonly FieldTest[]> {
  const kind = resolved(pairs(wanted(), "NAME: value"), (found, { path, log }): readonly FieldTest[] => {
    for (const [name, value] of found) {
      const contradicts = (other: FieldTest) =>
        isSameName(other[0], name, isHeader) && (other[1] === false) !== (value === false);
      const fault = isHeader ? headerFault(name) : nameFault(name);
      if (fault !== "") log.fault([...path, name], fault, true);
      else if (value === false && found.some(contradicts))
        log.fault([...path, name], "must be present and absent: no request fits; remove one", true);
    }
    return found;
  });
  return written(kind, (tests) => listed(tests, isHeader)) as Kind<unknown, readonly FieldTest[]>;
}

/** A name of an agent, or a pattern: `*`, `*.example`. */
export const AGENT_PATTERN: RegExp = /^(?:\*|(?:\*\.)?[A-Za-z0-9_-][A-Za-z0-9_.-]{0,252})$/;

function isSameName(a: string, b: string, isHeader: boolean): boolean {
  return isHeader ? a.toLowerCase() === b.toLowerCase() : a === b;
}

/** The fault of a name of a parameter or a cookie, or of an expression for such names; "" for none. */
function nameFault(name: string): string {
  if (name === "") return "expected a name";
  const source = expressionIn(name);
  if (source === null) return "";
  if (source === "") return "expected an expression between the slashes";
  const expression = compileExpression(source);
  return isExpressionFault(expression) ? expressionFault(name, expression.fault) : "";
}

/** As a file would state them; values that may be secrets are masked. */
function listed(tests: readonly FieldTest[], isHeader: boolean): object {
  return Object.fromEntries(
    tests.map(([name, value]) => [
      name,
      typeof value === "boolean" || (isHeader && !isSecretName(name)) ? value : MASK,
    ]),
  );
}

/**
 * The expression of a value or a name that is written between slashes; null for a plain one.
 * `i` behind them is for any letter case, a last `e` says that every value must fit. docs/routing.md#match
 */
export function fieldExpression(text: string): { readonly source: string; readonly isForEvery: boolean } | null {
  const isForEvery = text.startsWith("/") && (text.endsWith("/e") || text.endsWith("/ie"));
  const source = expressionIn(isForEvery ? text.slice(0, -1) : text);
  return source === null ? null : { source, isForEvery };
}

function wanted(): Kind<string | boolean> {
  return piece(
    (value) => {
      if (typeof value === "boolean") return value;
      const text = Number.isSafeInteger(value) ? String(value) : value;
      if (typeof text !== "string")
        return new Wrong(`expected a value, /an expression/, true or false, found ${describe(value)}`);
      if (/[\0\r\n]/.test(text)) return new Wrong("expected a value on one line");
      const asked = fieldExpression(text.trim());
      if (asked === null) return text.trim();
      if (asked.source === "") return new Wrong("expected an expression between the slashes; write true for any value");
      const expression = compileExpression(asked.source);
      return isExpressionFault(expression) ? new Wrong(expressionFault(text.trim(), expression.fault)) : text.trim();
    },
    {
      is: "either",
      forms: [TEXT, { is: "flag" }, { is: "integer", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }],
    },
  );
}

/** A text, or an expression between slashes. */
function clientTest(): Kind<string> {
  return piece((value) => {
    if (typeof value !== "string" || value.trim() === "")
      return new Wrong(`expected a text, or /an expression/, found ${describe(value)}`);
    const asked = fieldExpression(value.trim());
    if (asked === null) return value.trim();
    const expression = compileExpression(asked.source);
    return isExpressionFault(expression) ? new Wrong(expressionFault(value.trim(), expression.fault)) : value.trim();
  }, TEXT);
}

function headerFault(name: string): string {
  const lower = name.toLowerCase().replace(/[^a-z0-9]/g, "-");
  if (!isToken(name)) return `expected a header name such as X-Team, found ${quote(name)}`;
  if (lower === "host") return "the host is chosen by the key host: move it there";
  if (lower === "cookie") return "cookies are chosen by match.cookie: move it there";
  if (OF_THE_CLIENT.has(lower)) return "the gateway writes it itself: choose clients by match.client_ip";
  return HOP_BY_HOP_NAMES.has(lower) ? "belongs to one connection and reaches no origin: remove it" : "";
}

const OF_THE_CLIENT: ReadonlySet<string> = new Set(["x-forwarded-for", "x-real-ip", "forwarded"]);

/** `match`: what a route asks of a request beside path, host and method. docs/routing.md#match */
export const match = block(
  {
    method: {
      type: list(routeMethod(), "methods", true),
      example: ["POST"],
      doc: "requests with other methods go on to the next route; HEAD goes with GET",
    },
    head_with_get: {
      type: flag(),
      default: true,
      field: "takesHeadWithGet",
      doc: "false: GET in method takes no HEAD",
    },
    header: { type: fieldTests(true), example: { "X-Team": "blue" }, doc: "fields of the request, and their values" },
    query: {
      type: fieldTests(false),
      example: { version: "/^2\\./" },
      doc: "parameters of the query, and their values",
    },
    cookie: { type: fieldTests(false), example: { beta: true }, doc: "cookies, and their values" },
    client_ip: {
      type: list(cidr(), "networks"),
      example: ["10.0.0.0/8"],
      doc: "networks, one of which must hold the client",
    },
    "tls.ja4": {
      type: list(clientTest(), "fingerprints", true),
      field: "ja4",
      example: ["t13d1516h2_8daaf6152771_e5627efa2ab1"],
      doc: "fingerprints of the handshake, or expressions for them",
    },
    "tls.group": {
      type: list(clientTest(), "groups", true),
      field: "group",
      example: ["X25519MLKEM768"],
      doc: "groups of the key exchange, or expressions for them",
    },
    "http2.fingerprint": {
      type: list(clientTest(), "fingerprints", true),
      field: "http2",
      example: ["/m,p,a,s$/"],
      doc: "fingerprints of the HTTP/2 connection, or expressions for them",
    },
    country: {
      type: list(country(), "countries"),
      example: ["DE", "AT"],
      doc: "countries of clients, by server.geo.country_db",
    },
    "agent.name": {
      type: list(textLike(AGENT_PATTERN, "the name of an agent, such as bot.example, *.example or *"), "agents", true),
      field: "agent",
      example: ["*.example"],
      doc: "agents of server.agents that signed the request; * for all of them",
    },
    share: {
      type: percent(),
      default: "100%",
      example: "10%",
      doc: "share of the requests that this route takes; the others go on to the next route",
    },
    sticky_by: {
      type: textLike(
        /^(request|cookie:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/,
        "request, or cookie: and the name of a cookie, such as cookie:session",
      ),
      absent: "",
      doc: "the value that decides whether a client is in the share; request: edge decides for each request",
      field: "stickyBy",
      example: "cookie:session",
    },
  },
  {
    check({ sticky_by, share }, { log, path }) {
      if (sticky_by !== "" && share === 1) log.warn([...path, "sticky_by"], "has no effect without share");
    },
    finish: ({ stickyBy }) => ({
      stickyBy: stickyBy === "request" ? EACH_REQUEST : stickyBy.slice("cookie:".length),
    }),
    list: ({ stickyBy, ...config }, lines) => ({
      ...Object.fromEntries(Object.entries(lines).filter(([key]) => isAsked(key, config))),
      ...(stickyBy === "" ? {} : { sticky_by: stickyBy === EACH_REQUEST ? "request" : `cookie:${stickyBy}` }),
    }),
  },
);

/** In the place of a cookie: no cookie has this name. */
export const EACH_REQUEST = ":request";

/** Whether a section asks anything by this key. */
function isAsked(key: string, config: Omit<MatchConfig, "stickyBy">): boolean {
  if (key === "share") return config.share < 1;
  if (key === "sticky_by") return false;
  if (key === "head_with_get") return config.takesHeadWithGet === false;
  if (key === "agent.name") return (config.agent ?? []).length > 0;
  const field = FIELD_OF[key] ?? (key as "method" | "header" | "query" | "cookie" | "country");
  return (config[field] ?? []).length > 0;
}

const FIELD_OF: Readonly<Record<string, "clientIp" | "ja4" | "group" | "http2">> = {
  client_ip: "clientIp",
  "tls.ja4": "ja4",
  "tls.group": "group",
  "http2.fingerprint": "http2",
};

/** What a route asks of a request beside path, host and method; all of it must hold. docs/routing.md#match */
export interface MatchConfig {
  /** Upper-case; absent or empty means every method. HEAD fits wherever GET does. */
  readonly method?: readonly string[];
  /** False: GET takes no HEAD. */
  readonly takesHeadWithGet?: boolean;
  readonly header: readonly FieldTest[];
  readonly query: readonly FieldTest[];
  readonly cookie: readonly FieldTest[];
  readonly clientIp: readonly Cidr[];
  /** Fingerprints, or expressions between slashes; one of them must fit. docs/fingerprints.md */
  readonly ja4?: readonly string[];
  readonly group?: readonly string[];
  readonly http2?: readonly string[];
  /** Capital letters. */
  readonly country: readonly string[];
  /** Names and patterns of agents. */
  readonly agent?: readonly string[];
  /** The part of the clients, above 0; 1 is all. */
  readonly share: number;
  /** The cookie that tells clients apart, "" for their address, EACH_REQUEST if requests are counted and no clients. */
  readonly stickyBy: string;
}

/** What a route without `match` asks: nothing. */
export const NO_MATCH: Required<MatchConfig> = {
  method: [],
  takesHeadWithGet: true,
  header: [],
  query: [],
  cookie: [],
  clientIp: [],
  ja4: [],
  group: [],
  http2: [],
  country: [],
  agent: [],
  share: 1,
  stickyBy: "",
};

/** A name with what is asked of its values: whether there is one, a value, or an expression between slashes. */
export type FieldTest = readonly [name: string, wanted: string | boolean];
