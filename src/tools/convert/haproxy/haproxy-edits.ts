import { type Keys, sectionAt } from "../keys.ts";
import { closed, hasType, type Plan, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { formatOf } from "./haproxy-values.ts";

/** Changes of headers and paths. */
export function edit(
  statement: Statement,
  action: readonly string[],
  isResponse: boolean,
  { ledger }: Plan,
): ((rule: Rule) => void) | null {
  const [kind = "", name = "", value = ""] = action;
  const format = formatOf(value);
  const carried = (change: (rule: Rule) => void): ((rule: Rule) => void) => {
    ledger.carry(statement);
    return change;
  };
  const direction = isResponse ? "response" : "request";
  if (kind === "del-header" && action.length === 2 && /^[\w-]+$/.test(name))
    return carried(({ keys }) => {
      const edits = sectionAt(keys, "headers", direction);
      edits.remove = [...((edits.remove as string[] | undefined) ?? []), name];
    });
  if (kind === "set-header" && format !== null)
    return carried(({ keys }) => {
      sectionAt(keys, "headers", direction, "set")[name] = format;
    });
  if (kind === "add-header" && format !== null)
    return carried(({ keys }) => {
      sectionAt(keys, "headers", direction, "add")[name] = format;
    });
  const rewrite = isResponse ? null : rewriteOf(kind, name, value);
  if (rewrite !== null)
    return carried((rule) => {
      const { keys } = rule;
      if (!hasType(keys, "upstream")) return;
      const isFirst = keys.rewrite === undefined || keys.rewrite === rewrite;
      if (isFirst || (typeof rewrite.path === "string" && !rewrite.path.includes("{"))) keys.rewrite = rewrite;
      else {
        closed(rule);
        ledger.note(statement, "a route has one change of its path: it is closed", "write one rewrite for both");
      }
    });
  return null;
}

function rewriteOf(kind: string, first: string, second: string): Keys | null {
  if (kind === "set-path") {
    const path = formatOf(first);
    return path?.startsWith("/") === true || path === "{path}" ? { path } : null;
  }
  if (kind !== "replace-path" || second === "") return null;
  const to = second.replace(/\\(\d)/g, "{match.$1}");
  return to.startsWith("/") || to.startsWith("{match.") ? { regex: first.startsWith("^") ? first : first, to } : null;
}

/** Takes a field off requests that could not be set: an origin may believe it. */
export function taking(name: string): (rule: Rule) => void {
  return ({ keys }) => {
    if (!hasType(keys, "upstream")) return;
    const edits = sectionAt(keys, "headers", "request");
    edits.remove = [...new Set([...((edits.remove as string[] | undefined) ?? []), name])];
  };
}
