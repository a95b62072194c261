import { closed, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTemplate } from "./nginx-values.ts";

/** `return`: a redirect or a text. */
export function answer(scope: Scope, found: Statement, rule: Rule): void {
  const [first = "", second = ""] = found.args;
  const status = /^\d+$/.test(first) ? Number(first) : 302;
  const text = /^\d+$/.test(first) ? second : first;
  if ([301, 302, 303, 307, 308].includes(status)) return redirect(scope, found, rule, { text, status });
  const body = nginxTemplate(text);
  if (status === 444) noteNoResponse(scope, found);
  if (status === 444 || status < 200 || body === null) {
    if (status !== 444)
      scope.ledger.note(found, "it has no counterpart in a response", "nothing, or another status at the route");
    rule.keys = { type: "respond", status: 403 };
    return;
  }
  rule.keys = { type: "respond", status };
  if (body !== "") Object.assign(rule.keys, { body, content_type: mediaTypeOf(scope, found, rule) });
  scope.ledger.carry(found);
}

function redirect(
  scope: Scope,
  found: Statement,
  rule: Rule,
  { text, status }: { readonly text: string; readonly status: number },
): void {
  const to = nginxTemplate(text.replace("$uri$is_args$args", "$request_uri"), false);
  const isAddress = to !== null && (/^(\/|\{)/.test(to) || /^https?:\/\/([\w.-]|\{host\})+(:\d+)?([/{]|$)/.test(to));
  if (to === null || !isAddress) {
    scope.ledger.note(
      found,
      "its address has parts that a redirect cannot have: the route is closed",
      "write the address with placeholders: docs/answers.md",
    );
    return closed(rule);
  }
  if (to.startsWith("{scheme}")) {
    scope.ledger.note(found, "the scheme of an address is literal", "write https:// or http:// in to");
    rule.keys = { type: "redirect", to: to.replace("{scheme}", "https"), status };
    return;
  }
  rule.keys = { type: "redirect", to, status };
  scope.ledger.carry(found);
}

/** The media type of a text: by the path's extension where `types` has it, else `default_type`. */
function mediaTypeOf(scope: Scope, found: Statement, { path: { kind, value } }: Rule): string {
  const [unknown] = scope.inherited("default_type");
  const usual = unknown?.args[0] ?? "text/plain";
  const [types] = scope.inherited("types").slice(-1);
  const rows = types?.block ?? [];
  if (kind === "exact") {
    const extension = /\.([^./]+)$/.exec(value)?.[1]?.toLowerCase() ?? "";
    if (extension === "") return usual;
    if (types === undefined) return USUAL_TYPES.get(extension) ?? usual;
    return rows.find(({ args }) => args.includes(extension))?.name ?? usual;
  }
  scope.ledger.note(
    found,
    `its media type is ${usual} for every path: there it goes by the extension, too`,
    "set content_type at a route of its own for such paths, if there are any",
  );
  return usual;
}

/** The types that nginx has where the configuration names none. */
const USUAL_TYPES: ReadonlyMap<string, string> = new Map([
  ["html", "text/html"],
  ["gif", "image/gif"],
  ["jpg", "image/jpeg"],
]);

/** `return 444`. */
function noteNoResponse({ ledger }: Scope, statement: Statement): void {
  ledger.note(statement, "every request has a response: 403 in its place", "nothing, or another status at the route");
}
