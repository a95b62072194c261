import { type KeyPath, quote } from "../config/config-fault.ts";
import { expression } from "../config/expression-kind.ts";
import type { Spot } from "../config/piece.ts";
import { block, type ConfigOf, isFaultyAt } from "../config/row.ts";
import { urlTemplate } from "../config/template-kind.ts";
import { keepsItsForm, RewritingHandler } from "../features/rewrite/path-rewrite.ts";
import type { Handler } from "../message/exchange.ts";
import { compileExpression, isExpressionFault } from "../proto/expression/expression.ts";
import { type Template, templateOf } from "../proto/template/template.ts";
import type { RouteBase } from "./route-base.ts";

const newPath = () => urlTemplate("a path such as /new{rest}", { faultOf: pathFault });

/** `rewrite`: the path that goes upstream or is looked up. docs/routing.md#rewrite */
export const rewrite = block(
  {
    path: {
      type: newPath(),
      absent: "",
      example: "/new{rest}",
      doc: "the new path; {rest} is the part after the prefix",
    },
    regex: {
      type: expression(),
      absent: "",
      example: "^/old/(.*)$",
      doc: "in place of path: an expression for the client's path; a path that does not match stays",
    },
    to: {
      type: newPath(),
      absent: "",
      example: "/new/{match.1}",
      doc: "the new path; {match.1} is the match of the first group",
    },
  },
  {
    check({ path: plain, regex, to }, spot) {
      const { log, path } = spot;
      if (["path", "regex", "to"].some((key) => isFaultyAt(spot, key))) return;
      if (plain !== "" && regex + to !== "") log.fault(path, "has either path, or regex with to: remove one", true);
      else if (plain === "" && (regex === "" || to === ""))
        log.fault(
          path,
          "needs path, such as path: /new{rest}, or regex with to: the path if the expression fits",
          true,
        );
      // What the groups of the route's own expression have found stands in `path`: see `noteGroupsOfPath`.
      if (plain === "") noteUnknownGroups(to, regex, [...path, "to"], spot);
    },
  },
);

/** The handler of a route with `rewrite` before it, or the handler itself. @param mount see RewritingHandler */
export function rewriting(
  handler: Handler,
  route: Pick<RouteBase, "prefix"> & { readonly rewrite: ConfigOf<typeof rewrite> | null },
  isFolder: boolean,
): Handler {
  if (route.rewrite === null) return handler;
  return new RewritingHandler(route.rewrite, handler, isFolder ? route.prefix : null);
}

/** Why a template is no path, or "". The query is kept, so none can be written. */
function pathFault(template: Template): string {
  const { literals, uses } = template;
  const first = literals[0]!;
  if (first !== "" ? !first.startsWith("/") : uses[0]?.form !== "path" || uses[0].name.startsWith("match.")) {
    return 'expected a path that begins with "/"';
  }
  if (uses.some(({ form }) => form === "uri"))
    return "expected a path without query, which is kept: write {path} for {uri}";
  if (literals.some((literal) => /[?#]/.test(literal))) return 'expected a path without "?" and "#": the query is kept';
  if (literals.some((literal) => /%(?![0-9a-f]{2})|%00|\\/i.test(literal)))
    return "expected whole escapes and no backslash";
  const sample = literals.join("x");
  return keepsItsForm(sample)
    ? ""
    : `expected a path without "//" at its beginning, "/./" and "/../", found ${quote(sample)}`;
}

/** Notes a group in `rewrite.path` that the route's own expression has not. */
export function noteGroupsOfPath(
  rewritten: ConfigOf<typeof rewrite> | null,
  { regex }: Pick<RouteBase, "regex">,
  spot: Spot,
): void {
  if (rewritten === null || rewritten.path === "") return;
  const at = [...spot.path, "rewrite", "path"];
  const [group] = groupsNamed(templateOf(rewritten.path));
  if (regex === "" && group !== undefined)
    spot.log.fault(at, `{match.${group}} is the match of a group of regex: write regex and to, or regex at the route`);
  else noteUnknownGroups(rewritten.path, regex, at, spot);
}

/** Notes a group in a template that its expression has not. @param regex "" for none @param at the template's key */
export function noteUnknownGroups(text: string, regex: string, at: KeyPath, { log }: Spot): void {
  const groups = regex === "" ? 0 : groupsOf(regex);
  const unknown = groupsNamed(templateOf(text)).find((number) => number > groups);
  if (unknown === undefined) return;
  const found = `{match.${unknown}}`;
  const what =
    groups > 0
      ? `expected {match.1} to {match.${groups}}, the groups of regex, found ${found}`
      : `${found} is the match of a group of regex: ${regex === "" ? "write regex, such as ^/old/(.*)$" : "this one has none"}`;
  log.fault(at, what);
}

function groupsNamed({ uses }: Template): number[] {
  return uses.flatMap(({ name }) => (name.startsWith("match.") ? [Number(name.slice("match.".length))] : []));
}

function groupsOf(regex: string): number {
  const expression = compileExpression(regex);
  return isExpressionFault(expression) ? 0 : expression.groups;
}
