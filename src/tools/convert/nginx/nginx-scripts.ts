import { SCRIPT_PARAMS } from "../../../message/script-call.ts";
import type { Keys } from "../keys.ts";
import { closed, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTargets } from "./nginx-upstreams.ts";

/** A location whose expression says that paths are those of scripts: `location ~ \.php$`. */
export interface ScriptLocation {
  readonly statement: Statement;
  readonly scope: Scope;
}

/** The known facts of the folder of a route that runs scripts. */
export interface ScriptFolder {
  readonly root: string;
  /** Whether paths that lead to no file go to the index. */
  readonly frontController: boolean;
  /** `index.php`; "" if nothing says otherwise. */
  readonly index: string;
  /** Whether the path of the location is not part of the path below the root. */
  readonly isAlias: boolean;
  /** Whether the location with `fastcgi_pass` has all paths, and not those of scripts alone. */
  readonly takesAll?: boolean;
}

/** Whether a location is for scripts, wherever they are: `\.php$`, `[^/]\.php(/|$)`, `^/index\.php(/|$)`. */
export function isForScripts({ scope }: ScriptLocation, regex: string): boolean {
  return scope.here("fastcgi_pass").length > 0 && SCRIPTS.test(regex);
}

const SCRIPTS =
  /^(\^?\/?(index|\((\?:)?[\w|]+\)|app|web)|\[\^\/\]|\^?\(?\.[+*]\??)?\\\.php(\)\(\/?\.[+*]\)|\(\/\.[+*]\)|\((\?:)?(\/\|\$|\$\|\/)\)|\(\/\.\*\)\?)?\$?(\|\^\/[\w./\\-]+)?$/;

/** The paths below which a location lets no script run: `location ~* ^/uploads/.*\.php$ { deny all; }`; "" for none. */
export function barredFolder(regex: string): string {
  return /^\^?(\/[\w\-/]*[\w-])\/(?:\.[*+]\??|\(\.[*+]\))?\\\.php(?:\$|\(\/\|\$\))?$/.exec(regex)?.[1] ?? "";
}

/** Makes a route run the scripts of a folder. @param scope with `fastcgi_pass` */
export function runScripts(http: Scope, scope: Scope, rule: Rule, folder: ScriptFolder): void {
  const [pass] = scope.here("fastcgi_pass");
  const found = nginxTargets(http, scope, pass!);
  if (found === null) {
    scope.ledger.note(
      pass!,
      "the target has variables, or cannot be read: the route is closed",
      "write the address as target: docs/php.md",
    );
    return closed(rule);
  }
  scope.ledger.carry(pass!);
  const { root, frontController, index, isAlias, takesAll = false } = folder;
  const fixed = fixedScript(scope, root);
  const fastcgi: Keys = { root: fixed?.root ?? root };
  const name = fixed?.index ?? index;
  if (name !== "" && name !== "index.php") fastcgi.index = name;
  // All paths go to the server of scripts, whatever files there are: none of them is sent.
  if (takesAll) fastcgi.check_files = false;
  if (!frontController && !(takesAll && fixed !== null)) fastcgi.front_controller = false;
  // Scripts are searched for below the root of the server, where those of an alias are not.
  if (isAlias) fastcgi.no_scripts = ["/"];
  const env = envOf(scope);
  if (Object.keys(env).length > 0) fastcgi.env = env;
  const kept = keptConnections(http, scope, pass!);
  if (kept > 0) fastcgi.keep_connections = kept;
  rule.keys = { type: "upstream", ...found.keys, fastcgi };
  if (!isAlias && rule.path.value !== "/") rule.keys.strip_prefix = false;
  const split = scope.here("fastcgi_split_path_info");
  scope.ledger.standard(...split, ...scope.here("fastcgi_index", "fastcgi_buffering", "fastcgi_request_buffering"));
  for (const one of scope.here("try_files")) scope.ledger.standard(one);
  for (const one of scope.here("set"))
    if (/^\$fastcgi_(path_info|script_name)$/.test(one.args[1] ?? "")) scope.ledger.standard(one);
}

/** One script for all: `fastcgi_param SCRIPT_FILENAME $document_root/index.php`; null if the path says which. */
function fixedScript(scope: Scope, root: string): { readonly root: string; readonly index: string } | null {
  const found = scope.inherited("fastcgi_param").find(({ args }) => args[0] === "SCRIPT_FILENAME");
  const value = (found?.args[1] ?? "$").replace(/^\$(document_root|realpath_root)/, root);
  const parts = /^([^$]*)\/([^/$]+\.php)$/.exec(value);
  return parts === null ? null : { root: parts[1] || "/", index: parts[2]! };
}

/** Parameters of the configuration's own; all that the gateway sets anyway need no setting. */
function envOf(scope: Scope): Keys {
  const env: Keys = {};
  for (const one of scope.inherited("fastcgi_param")) {
    const [name = "", value = ""] = one.args;
    if (SCRIPT_PARAMS.includes(name) || name === "HTTP_PROXY") scope.ledger.standard(one);
    else if (!value.includes("$") && /^[A-Za-z_]\w*$/.test(name) && !name.startsWith("HTTP_")) {
      env[name] = value;
      scope.ledger.carry(one);
    } else scope.ledger.note(one, "its value is of the request", "set a field for it: headers.request.set");
  }
  return env;
}

/** How many connections each worker keeps. */
function keptConnections(http: Scope, scope: Scope, pass: Statement): number {
  if (!scope.isOn("fastcgi_keep_conn")) return 0;
  const group = http.block("upstream", pass.args[0] ?? "");
  const keepalive = group?.all("keepalive")[0];
  const count = Number(keepalive?.args[0] ?? 0);
  if (keepalive !== undefined) scope.ledger.carry(keepalive);
  return Number.isInteger(count) && count > 0 && count <= 65_535 ? count : 0;
}
