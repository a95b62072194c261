import { SCRIPT_PARAMS } from "../../../message/script-call.ts";
import type { Keys } from "../keys.ts";
import { closed, hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTargets } from "./nginx-upstreams.ts";

/** Directives that send requests to an application, each with its protocol. */
const PROTOCOLS: ReadonlyMap<string, "uwsgi" | "scgi"> = new Map([
  ["uwsgi_pass", "uwsgi"],
  ["scgi_pass", "scgi"],
]);

/** The `uwsgi_pass` or `scgi_pass` of a location; absent if it has none. */
export function applicationPass(scope: Scope): Statement | undefined {
  return scope.here(...PROTOCOLS.keys())[0];
}

/** Whether the targets of a rule are applications of uWSGI or SCGI, which get variables in place of fields. */
export function runsApplication({ keys }: Rule): boolean {
  if (!hasType(keys, "upstream")) return false;
  const [first] = (keys.targets ?? []) as { url: string }[];
  return /^(uwsgi|scgi):/.test(`${keys.target ?? first?.url ?? ""}`);
}

/** Makes a route send its requests to an application: all of the path is PATH_INFO, as `uwsgi_params` has it. */
export function runApplication(http: Scope, scope: Scope, pass: Statement, rule: Rule): void {
  const protocol = PROTOCOLS.get(pass.name)!;
  const found = nginxTargets(http, scope, pass);
  if (found === null || found.path !== null) {
    scope.ledger.note(
      pass,
      "the target has variables, or cannot be read: the route is closed",
      "write the address as target: docs/uwsgi.md",
    );
    return closed(rule);
  }
  scope.ledger.carry(pass);
  const own: Keys = {};
  const env = variablesOf(scope, protocol);
  if (Object.keys(env).length > 0) own.env = env;
  for (const name of protocol === "uwsgi" ? ["modifier1", "modifier2"] : []) {
    const one = scope.one(`uwsgi_${name}`);
    if (one === null || one === undefined) continue;
    own[name] = Number(one.args[0]);
    scope.ledger.carry(one);
  }
  rule.keys = {
    type: "upstream",
    ...found.keys,
    strip_prefix: false,
    ...(Object.keys(own).length > 0 ? { [protocol]: own } : {}),
  };
}

/** Variables of the configuration's own; all that the gateway sets anyway need no setting. */
function variablesOf(scope: Scope, protocol: string): Keys {
  const env: Keys = {};
  for (const one of scope.inherited(`${protocol}_param`)) {
    const [name = "", value = ""] = one.args;
    const isOwn = SCRIPT_PARAMS.includes(name) || name === "HTTP_PROXY" || name === "SCGI";
    if (isOwn && (value.includes("$") || /^(|1|200|CGI\/1\.1)$/.test(value))) scope.ledger.standard(one);
    else if (isOwn) scope.ledger.note(one, "edge sets it itself", "see the table in docs/uwsgi.md");
    else if (!value.includes("$") && /^[A-Za-z_]\w*$/.test(name) && !name.startsWith("HTTP_")) {
      env[name] = value;
      scope.ledger.carry(one);
    } else scope.ledger.note(one, "its value is of the request", "set a field for it: headers.request.set");
  }
  return env;
}
