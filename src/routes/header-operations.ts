import { type KeyPath, quote } from "../config/config-fault.ts";
import { expression } from "../config/expression-kind.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { headerNameKind, headerValue, isToken } from "../config/http-syntax.ts";
import { type Kind, list, pairs, resolved, written } from "../config/piece.ts";
import { block, isFaultyAt, type Rows } from "../config/row.ts";
import { templateFault } from "../config/template-kind.ts";
import { isSecretName, MASK } from "../core/secret-name.ts";
import type { SentEdits } from "../features/cache/key-rules.ts";
import { FieldReplacement } from "../features/forward/field-replacement.ts";
import {
  type AddedField,
  type EditPlan,
  type HeaderStep,
  HeldRequestEdits,
  hidesRequestId,
  isLiteral,
  LateFields,
  RequestEdits,
  ResponseEdits,
} from "../features/forward/header-edits.ts";
import { editFields } from "../features/forward/late-fields-phase.ts";
import type { Handler } from "../message/exchange.ts";
import { HOP_BY_HOP_NAMES } from "../message/hop-by-hop.ts";
import { PreparedHandler } from "../message/prepared-handler.ts";
import { compileExpression, isExpressionFault } from "../proto/expression/expression.ts";
import { templateOf } from "../proto/template/template.ts";

/**
 * One operation on the fields of a direction: a key below `headers.request` and `headers.response`. All fields that operations take
 * out go first, then their lines are added in the order of the table, then their steps run.
 * @typeParam R what its key gives, a list; an empty one does nothing
 */
interface HeaderOperation<R extends readonly unknown[]> {
  readonly type: Kind<unknown, R>;
  /** For `edge help routes`. */
  readonly example: { readonly request: unknown; readonly response: unknown };
  readonly doc: string;
  /** The same for `/internal/api/routes`. */
  explain(edits: R): unknown;
  /** Names of the fields that are removed, in any case. */
  gone?(edits: R): readonly string[];
  /** Fields that are added. */
  added?(edits: R): readonly HeaderValue[];
  /** What neither of the two can say. */
  steps?(edits: R): readonly HeaderStep[];
}

/** THE operations on header fields, by key. docs/upstreams.md#header-edits */
const HEADER_OPERATIONS = {
  set: {
    type: headerLines(),
    example: { request: { "X-Team": "shop" }, response: { "Cache-Control": "no-store" } },
    explain: explainLines,
    gone: namesOf,
    added: (lines: readonly HeaderValue[]) => lines,
    doc: "fields that get only this value",
  },
  add: {
    type: headerLines(),
    example: { request: { "X-Tag": ["a", "b"] }, response: { Link: "</a.css>; rel=preload" } },
    explain: explainLines,
    added: (lines: readonly HeaderValue[]) => lines,
    doc: "fields that get this value too",
  },
  remove: {
    type: headerNames(),
    example: { request: ["Cookie"], response: ["Server"] },
    explain: (names: readonly string[]) => names,
    gone: (names: readonly string[]) => names,
    doc: "fields that edge removes",
  },
  replace: {
    type: replacements(),
    example: {
      request: [{ name: "Referer", regex: "\\?.*$", to: "" }],
      response: [{ name: "Link", regex: "http://app\\.internal/", to: "/" }],
    },
    explain: (all: readonly Replacement[]) => all,
    steps: (all: readonly Replacement[]) => all.map((one) => new FieldReplacement(one)),
    doc: "replaces every match in values, last; to may hold {match.1}",
  },
} as const satisfies Readonly<Record<string, HeaderOperation<readonly unknown[]>>>;

/** The operations on the fields of one direction. */
export type HeaderEdits = {
  readonly [K in keyof typeof HEADER_OPERATIONS]: (typeof HEADER_OPERATIONS)[K]["type"] extends Kind<infer _, infer R>
    ? R
    : never;
};

/** No operation at all. */
export const NO_HEADER_EDITS = Object.fromEntries(
  Object.keys(HEADER_OPERATIONS).map((key) => [key, []]),
) as unknown as HeaderEdits;

/** The keys of one direction. */
export function headerKeys(direction: "request" | "response"): Kind<object, HeaderEdits> {
  const rows = operations().map(([key, { type, example, doc }]) => [key, { type, example: example[direction], doc }]);
  return block(Object.fromEntries(rows) as Rows) as unknown as Kind<object, HeaderEdits>;
}

/** What `/internal/api/routes` says of one direction; secret values are masked. */
export function explainHeaderEdits(edits: HeaderEdits): object {
  return Object.fromEntries(operations().map(([key, operation]) => [key, operation.explain(edits[key])]));
}

/** Changes the heads that go upstream; null if there is nothing to do. @param own fields beside those of the route */
export function requestEdits(edits: Partial<HeaderEdits>, own: OwnFields | null = null): RequestEdits | null {
  if (own === null) return operationsOf(edits).length > 0 ? new RequestEdits(planOf(edits)) : null;
  const plan = planOf(edits);
  const names = new Set(own.added.map(({ name }) => name.toLowerCase()));
  const others = plan.added.filter(({ name }) => !names.has(name.toLowerCase()));
  return new RequestEdits({ ...plan, gone: [...plan.gone, ...own.gone], added: [...others, ...own.added] });
}

/** Fields that a feature takes out of requests beside the route's `headers`, and adds. */
export type OwnFields = Pick<EditPlan, "gone" | "added">;

/** Changes the heads of responses, before the cache; null if there is nothing to do. */
export function responseEdits(edits: Partial<HeaderEdits>): ResponseEdits | null {
  if (operationsOf(edits).length === 0) return null;
  const plan = planOf(edits);
  const late = lateNames(plan);
  const added = plan.added.filter(({ name }) => !late.has(name.toLowerCase()));
  return new ResponseEdits({ ...plan, added, hasLateFields: late.size > 0 });
}

/** The fields of responses that come after the cache: all of a name that has a value of the request; null if there are none. */
export function lateFields(edits: Partial<HeaderEdits>): LateFields | null {
  // Asked for each of thousands of routes, of which most have none.
  if (Object.values(edits).every((values) => values.length === 0)) return null;
  const plan = planOf(edits);
  const late = lateNames(plan);
  if (late.size === 0) return null;
  const added = plan.added.filter(({ name }) => late.has(name.toLowerCase()));
  return new LateFields(added, hidesRequestId(plan));
}

/** A handler that answers by itself, with the route's `headers.response` on its responses. */
export function editedHandler(handler: Handler, { headers }: { readonly headers: HeaderOperations }): Handler {
  const edits = responseEdits(headers.response);
  return edits === null ? handler : new PreparedHandler(handler, (ex) => editFields(ex, edits));
}

/** A handler that sees requests after the route's `headers.request`. */
export function requestEditedHandler(handler: Handler, { headers }: { readonly headers: HeaderOperations }): Handler {
  if (operationsOf(headers.request).length === 0) return handler;
  const edits = new HeldRequestEdits(planOf(headers.request));
  return new PreparedHandler(handler, (ex) => edits.apply(ex));
}

/** A route's operations on the fields of a name, for the key of the cache; null if there are none. */
export function sentEdits(edits: Partial<HeaderEdits>): SentEdits | null {
  if (operationsOf(edits).length === 0) return null;
  const { gone, added } = planOf(edits);
  const taken = new Set(gone);
  return {
    takesOff: (name) => taken.has(name),
    valuesOf: (ex, wanted) =>
      added
        .filter(({ name }) => name.toLowerCase() === wanted)
        .map(({ value }) => (typeof value === "string" ? value : value.render(ex, "header").trim()))
        .filter((value) => value !== ""),
  };
}

/** Names of the fields that a client cannot give, in lower case: they are removed or set. */
export function namesChanged(edits: Partial<HeaderEdits>): readonly string[] {
  const names = operationsOf(edits).flatMap(([operation, values]) => operation.gone?.(values) ?? []);
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

function lateNames({ added }: EditPlan): ReadonlySet<string> {
  return new Set(added.filter((field) => !isLiteral(field)).map(({ name }) => name.toLowerCase()));
}

function planOf(edits: Partial<HeaderEdits>): EditPlan {
  return {
    gone: namesChanged(edits),
    added: operationsOf(edits).flatMap(([operation, values]) => (operation.added?.(values) ?? []).map(addedField)),
    steps: operationsOf(edits).flatMap(([operation, values]) => operation.steps?.(values) ?? []),
  };
}

/** Most values are literal, and need no look at their parts. */
function addedField({ name, value }: HeaderValue): AddedField {
  if (!/[{}]/.test(value)) return { name, value };
  const template = templateOf(value);
  return { name, value: template.isLiteral ? template.literals[0]! : template };
}

/** The operations that do something, in the order of the table, each with its edits. */
function operationsOf(edits: Partial<HeaderEdits>): [HeaderOperation<readonly unknown[]>, readonly unknown[]][] {
  return operations().flatMap(([key, operation]) => {
    const values = edits[key] ?? [];
    return values.length === 0 ? [] : [[operation, values]];
  });
}

/** The table, for calls of each operation with its own edits. */
function operations(): [keyof HeaderEdits, HeaderOperation<readonly unknown[]>][] {
  return Object.entries(HEADER_OPERATIONS) as never;
}

/** `Name: value` lines, several values in a list; resolved, one each. */
function headerLines(): Kind<unknown, readonly HeaderValue[]> {
  const lines = pairs(list(headerValue(), "values", true), "Name: value");
  const kind = resolved(lines, (found, { path, log }): readonly HeaderValue[] =>
    found.flatMap(([name, values]) => {
      checkName(name, [...path, name], path.at(-2) === "request", true, log);
      for (const value of values) checkValue(name, value, path, log);
      return values.map((value) => ({ name, value }));
    }),
  );
  return written(kind, listLines) as Kind<unknown, readonly HeaderValue[]>;
}

/** As a file would state them; secret values are masked. */
function listLines(fields: readonly HeaderValue[]): object {
  const byName = Map.groupBy(fields, ({ name }) => name);
  return Object.fromEntries([...byName].map(([name, all]) => [name, all.map(shownValue)]));
}

/** Names of fields; resolved, in lower case. */
function headerNames(): Kind<unknown, readonly string[]> {
  const names = list(headerNameKind(), "header names", true);
  const kind = resolved(names, (found, { path, log }): readonly string[] => {
    for (const [i, name] of found.entries()) checkName(name, [...path, i], path.at(-2) === "request", false, log);
    return found.map((name) => name.toLowerCase());
  });
  return kind as Kind<unknown, readonly string[]>;
}

/** Replacements in the values of fields, each with its name, an expression and the text. */
function replacements(): Kind<unknown, readonly Replacement[]> {
  const one = block(
    {
      name: {
        type: headerNameKind(),
        required: "the name of a field, such as Link",
        example: "Link",
        doc: "the field",
      },
      regex: {
        type: expression(),
        required: "an expression such as ^http:",
        example: "^http:",
        doc: "the expression, which edge compares with each value of the field",
      },
      to: {
        type: headerValue(),
        required: 'the text in the place of every match, such as "https:"',
        example: "https:",
        doc: "the replacement of every match; {match.1} for the first group",
      },
    },
    {
      check({ name, regex, to }, spot) {
        if (["name", "regex", "to"].some((key) => isFaultyAt(spot, key))) return;
        checkName(name, [...spot.path, "name"], spot.path.at(-3) === "request", false, spot.log);
        checkGroups(regex, to, [...spot.path, "to"], spot.log);
      },
    },
  );
  return list(one, "replacements") as unknown as Kind<unknown, readonly Replacement[]>;
}

/** Notes a placeholder that is no group of the expression. */
function checkGroups(regex: string, to: string, path: KeyPath, log: FaultLog): void {
  const fault = templateFault(to);
  if (fault !== "") return log.fault(path, fault);
  const compiled = compileExpression(regex);
  const groups = isExpressionFault(compiled) ? 0 : compiled.groups;
  const other = templateOf(to).uses.find(({ name }) => !/^match\.\d+$/.test(name) || Number(name.slice(6)) > groups);
  if (other !== undefined)
    log.fault(path, `expected no placeholder but {match.1} to {match.N} of the groups of regex, found {${other.name}}`);
}

/** One of them. */
interface Replacement {
  readonly name: string;
  readonly regex: string;
  readonly to: string;
}

function explainLines(fields: readonly HeaderValue[]): object {
  return fields.map((field) => ({ name: field.name, value: shownValue(field) }));
}

function shownValue({ name, value }: HeaderValue): string {
  return isSecretName(name) ? MASK : value;
}

function namesOf(fields: readonly HeaderValue[]): readonly string[] {
  return fields.map(({ name }) => name);
}

function checkValue(name: string, value: string, path: KeyPath, log: FaultLog): void {
  const at = [...path, name];
  const fault = templateFault(value);
  if (fault !== "") log.fault(at, fault);
  else if (VARIABLE.test(value)) log.warn(at, "is sent literally: values have placeholders, such as {client_ip}");
  // A request's own values could lead clients anywhere. docs/answers.md#redirects
  const leads = path.at(-2) === "response" && LEADING.has(name.toLowerCase());
  if (leads && fault === "" && !templateOf(value).isLiteral)
    log.fault(
      at,
      "a request could say where clients go: use a route of type: redirect, or write the value without placeholders",
    );
}

const LEADING: ReadonlySet<string> = new Set(["location", "content-location", "refresh"]);

function checkName(name: string, path: KeyPath, isRequest: boolean, onKey: boolean, log: FaultLog): void {
  const lower = name.toLowerCase();
  if (!isToken(name)) log.fault(path, `expected a header name such as X-Team, found ${quote(name)}`, onKey);
  else if (HOP_BY_HOP_NAMES.has(lower))
    log.fault(path, "belongs to one connection: the gateway sets it itself; remove it", onKey);
  else if (lower === "content-length")
    log.fault(path, "follows from the body: the gateway sets it itself; remove it", onKey);
  // The response echoes it, and may leave it out. docs/upstreams.md#fields-that-are-sent
  else if (lower === "x-request-id" && !isRequest && onKey)
    log.fault(path, "echoes the id that the access log has: remove it here, or list it under response.remove", onKey);
  else if (lower === "host" && isRequest)
    log.fault(path, "follows preserve_host: set that to false to send the target's own name", onKey);
}

/** `$remote_addr` of nginx, `%[src]` of HAProxy. */
const VARIABLE = /(?<!\w)\$[a-z]\w+|%\[/i;

/** A field that is set or added. */
interface HeaderValue {
  /** As written. */
  readonly name: string;
  readonly value: string;
}

/** The changes of the fields of requests and responses: remove, set, add, replace, in this order. docs/upstreams.md#header-edits */
export interface HeaderOperations {
  readonly request: HeaderEdits;
  readonly response: HeaderEdits;
}
