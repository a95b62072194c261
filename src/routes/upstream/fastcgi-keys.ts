import { quote } from "../../config/config-fault.ts";
import { applicationScheme, speaksFastCgi, type TargetConfig, takesVariables } from "../../config/origin.ts";
import { list, pairs, type Spot, written } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { flag, integer, text, textLike, textOrNumber } from "../../config/scalars.ts";
import { MASK } from "../../core/secret-name.ts";
import { SCRIPT_PARAMS } from "../../message/script-call.ts";

const fileName = () => textLike(/^[^\0/\\]+$/, "a file name such as index.php");

// Values are often secrets: listings show names alone.
const variables = () =>
  written(pairs(textOrNumber("a text"), "NAME: value"), (all) => Object.fromEntries(all.map(([name]) => [name, MASK])));

const rows = {
  root: {
    type: text("a folder name"),
    absent: "",
    field: "",
    example: "/var/www/shop/public",
    doc: "the folder of your scripts and of the files beside them",
  },
  index: { type: fileName(), default: "index.php", doc: "the script for a folder, and for paths without a file" },
  split_path: {
    type: list(textLike(/^\.[A-Za-z0-9]{1,16}$/, "an ending such as .php"), "endings"),
    default: [".php"],
    doc: "endings of scripts; the rest of a path after one is PATH_INFO",
  },
  front_controller: {
    type: flag(),
    default: true,
    doc: "false: paths without a file get 404, not the index",
  },
  check_files: {
    type: flag(),
    default: true,
    doc: "false: the files are on your origin's machine; every path goes to the index, and edge sends no file",
  },
  no_scripts: {
    type: list(textLike(/^\/([^\0\\]*[^/\0\\])?$/, "a path such as /wp-content/uploads"), "paths"),
    example: ["/wp-content/uploads"],
    doc: "paths below the root in which no script runs",
  },
  env: {
    type: variables(),
    example: { APP_ENV: "production" },
    doc: "further parameters for your scripts, as fastcgi_param of nginx",
  },
  keep_connections: {
    type: integer(0, 65_535),
    default: 0,
    doc: "connections that each worker keeps; each occupies a php-fpm process while it is idle",
  },
} as const satisfies Rows;

/** `fastcgi`: how scripts are found and run. docs/php.md */
export const fastcgi = block(rows, {
  check: checkNames,
  finish: (_, { root, check_files: isChecked }, { files, path }) => ({
    root: root === "" ? "" : isChecked ? files.folder([...path, "root"], root) : files.absolute(root),
  }),
  list: ({ root }, lines) => ({ root, ...lines }),
});

function checkNames({ root, env, no_scripts: barred, index, split_path: ends }: Values<typeof rows>, spot: Spot): void {
  const { log, path } = spot;
  if (root === "" && !isFaultyAt(spot, "root"))
    log.fault(path, "needs root, the folder of the scripts, such as root: /var/www/shop/public", true);
  if (ends.length === 0) log.fault([...path, "split_path"], "expected an ending at least, such as [.php]");
  else if (!ends.some((end) => index.endsWith(end)) && !isFaultyAt(spot, "index") && !isFaultyAt(spot, "split_path"))
    log.fault([...path, "index"], `expected a script, whose name ends as split_path says, found ${quote(index)}`);
  if (barred.some((one) => one !== "/" && /(^|\/)\.{0,2}(\/|$)/.test(one.slice(1))))
    log.fault([...path, "no_scripts"], 'expected paths without "//", "." and ".."');
  checkVariables(env, spot);
}

/** Notes names that are none, or the gateway's own. */
function checkVariables(env: readonly (readonly [string, string])[], { log, path }: Spot): void {
  for (const [name, value] of env) {
    const at = [...path, "env", name];
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      log.fault(at, "expected the name of a variable: letters, digits and _", true);
    else if (SCRIPT_PARAMS.includes(name)) log.fault(at, "the gateway sets it: remove it", true);
    else if (/^HTTP_/.test(name))
      log.fault(at, "variables that begin with HTTP_ are fields of the request: write headers.request.set", true);
    else if (value.includes("\0")) log.fault(at, "expected a text without NUL");
  }
}

const modifier = (doc: string) => ({ type: integer(0, 255), default: 0, doc });

const applicationRows = {
  env: {
    type: variables(),
    example: { APP_ENV: "production" },
    doc: "further variables for your application, as uwsgi_param and scgi_param of nginx",
  },
} as const satisfies Rows;

const uwsgiRows = {
  ...applicationRows,
  modifier1: modifier("the plugin of uWSGI that takes requests: 0 is Python, 5 Perl, 7 Ruby, 9 CGI"),
  modifier2: modifier("a number for the plugin, mostly 0"),
} as const satisfies Rows;

/** `uwsgi` and `scgi`: what applications get beside the request. docs/uwsgi.md */
export const uwsgi = block(uwsgiRows, { check: ({ env }, spot) => checkVariables(env, spot) });
export const scgi = block(applicationRows, { check: ({ env }, spot) => checkVariables(env, spot) });

type MirrorValues = { readonly mirror: unknown; readonly mirrors: readonly unknown[] };

function refuseMirrors(
  { mirror, mirrors }: MirrorValues,
  why: string,
  { log, path }: Pick<Spot, "log" | "path">,
): void {
  if (mirror !== null) log.fault([...path, "mirror"], why, true);
  else if (mirrors.length > 0) log.fault([...path, "mirrors"], why, true);
}

/** What the keys of a route must be for its targets to be applications of uWSGI or SCGI, or none. */
export function checkApplications(
  values: MirrorValues & { readonly uwsgi: unknown; readonly scgi: unknown },
  targets: readonly TargetConfig[],
  { log, path }: Spot,
): void {
  const known = targets.filter(({ hostname }) => hostname !== "");
  for (const protocol of ["uwsgi", "scgi"] as const) {
    const some = known.some(({ scheme }) => scheme === protocol);
    const other = known.find(({ scheme }) => scheme !== protocol);
    if (values[protocol] !== null && other !== undefined)
      log.fault([...path, protocol], `needs targets with ${protocol}:// alone, found ${quote(other.url)}`, true);
    else if (some && other !== undefined)
      log.fault(path, `expected targets of one protocol: write ${protocol}:// in place of ${other.url}`, true);
  }
  if (known.some(({ scheme }) => applicationScheme(scheme) !== null))
    refuseMirrors(values, "requests of uWSGI and SCGI cannot be mirrored: remove it", { log, path });
}

/** What targets and other keys of a route must be for scripts to run, or not to. */
export function checkFastCgi(
  values: MirrorValues & { readonly fastcgi: unknown; readonly grpc_web: boolean },
  targets: readonly TargetConfig[],
  { log, path }: Spot,
): void {
  const scripts = targets.find(({ scheme }) => speaksFastCgi(scheme));
  const other = targets.find(({ scheme, hostname }) => !speaksFastCgi(scheme) && hostname !== "");
  const isOfApplication = other !== undefined && takesVariables(other.scheme);
  if (values.fastcgi === null) {
    if (scripts !== undefined)
      log.fault(
        path,
        `the target ${scripts.url} runs scripts: write fastcgi with root, the folder of the scripts, such as fastcgi: { root: /var/www/shop/public }`,
        true,
      );
    return;
  }
  if (isOfApplication) log.fault([...path, "fastcgi"], `is for fastcgi:// targets, not for ${other.url}`, true);
  else if (other !== undefined)
    log.fault(
      [...path, "fastcgi"],
      `needs targets that run scripts: write fastcgi://${other.socketPath === "" ? other.authority : other.originKey} in place of ${other.url}`,
      true,
    );
  if (!isOfApplication) refuseMirrors(values, "requests that run scripts cannot be mirrored: remove it", { log, path });
}
