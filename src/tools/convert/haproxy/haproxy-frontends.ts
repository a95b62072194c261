import { ROOT } from "../path-rule.ts";
import { hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { HaproxySection } from "./haproxy-backends.ts";

/** Whether two frontends differ in where they listen alone. */
export function isSameEntry(a: HaproxySection, b: HaproxySection): boolean {
  const words = ({ statement }: HaproxySection): string =>
    JSON.stringify(
      (statement.block ?? []).filter(({ name }) => name !== "bind").map(({ name, args }) => [name, ...args]),
    );
  return a.defaults === b.defaults && a.statement.name === "frontend" && words(a) === words(b);
}

/** Whether a frontend does nothing but lead clear text to TLS. */
export function frontendLeads({ statement }: HaproxySection): boolean {
  const block = statement.block ?? [];
  const isLead = ({ name, args }: Statement): boolean => {
    const words = name === "http-request" ? args : [name, ...args];
    const at = words.findIndex((word) => word === "if" || word === "unless");
    const condition = at < 0 ? "" : words.slice(at).join(" ");
    const isClear = condition === "" || /^(if ! ?\{ ssl_fc \}|unless \{ ssl_fc \})$/.test(condition);
    return isClear && words.slice(0, 3).join(" ") === "redirect scheme https";
  };
  return (
    statement.name === "frontend" &&
    block.some(isLead) &&
    block.every((one) => isLead(one) || /^(bind|mode|option|log|timeout|maxconn|description)$/.test(one.name))
  );
}

/** Why `src` is another address than the one that a route compares; "" if it is the same. */
export function srcFaultOf({ statement, defaults }: HaproxySection): string {
  const isProxied = statement
    .all("bind")
    .some(({ args }) => args.some((word) => /^accept-(proxy|netscaler-cip)$/.test(word)));
  const isSet = [statement, defaults].some((one) =>
    (one?.block ?? []).some(({ args }) =>
      args.some((word) => /^(set-src|expect-proxy|expect-netscaler-cip)$/.test(word)),
    ),
  );
  return isProxied || isSet ? "src is told by a proxy that is not carried over" : "";
}

/** Whether a rule leads every request to the same place over TLS. */
export function isLedToTls(rule: Rule | undefined): boolean {
  if (rule === undefined) return false;
  const { hosts, path, methods, match, notAny = [], keys } = rule;
  const isOfAll =
    hosts.length + methods.length + notAny.length + Object.keys(match).length === 0 && Bun.deepEquals(path, ROOT);
  return isOfAll && keys.regex === undefined && hasType(keys, "redirect") && keys.to === "https://{host}{uri}";
}

/** What rules make of requests, as a text. */
export function rulesText(rules: readonly Rule[]): string {
  return JSON.stringify(
    rules.map(({ hosts, path, methods, match, notAny, keys }) => [hosts, path, methods, match, notAny, keys]),
  );
}
