import { dirname, isAbsolute, normalize, relative, resolve } from "node:path";
import type { Condition } from "../condition.ts";
import { EFFORT } from "../effort.ts";
import { escapedRegex } from "../expression.ts";
import type { Keys } from "../keys.ts";
import type { Rule } from "../plan.ts";
import { filePath, type Statement } from "../statement.ts";
import type { FoundMatcher } from "./caddy-matchers.ts";
import { isLostImport } from "./caddy-parser.ts";

/** Directives that decide nothing about who may come in, nor which file or path is meant: noted where they are left out. */
const HARMLESS: ReadonlySet<string> = new Set([
  "import",
  "root",
  "header",
  "request_header",
  "encode",
  "request_body",
  "basic_auth",
  "basicauth",
  "forward_auth",
  "log",
  "log_skip",
  "skip_log",
  "log_append",
  "log_name",
  "tls",
  "bind",
  "tracing",
  "push",
  "handle_errors",
  "map",
  "vars",
  "uri",
  "rewrite",
  "try_files",
]);

/** Whether a directive that is left out may keep clients out, or change what they get: plugins, `templates`, `invoke`, `method`. */
export function isUnknownHandler(one: Statement): boolean {
  return isLostImport(one) || (!HARMLESS.has(one.name) && !one.name.startsWith("@"));
}

/** Subdirectives of `file_server` without which no more is sent. */
const HARMLESS_FILES: ReadonlySet<string> = new Set([
  "import",
  "root",
  "hide",
  "browse",
  "index",
  "precompressed",
  "disable_canonical_uris",
  "pass_thru",
  "etag_file_extensions",
]);

/** Whether a subdirective of `file_server` that is left out may keep files back. */
export function mayHideFiles(one: Statement): boolean {
  return isLostImport(one) || !HARMLESS_FILES.has(one.name);
}

/** Whether `try_files` only looks for what the path names, and ends with one file or a status: without it, there are more 404s, and nothing else. */
export function isPlainTry({ args }: Statement): boolean {
  const ofPath = /^\{(path|uri|http\.request\.uri\.path)\}/;
  const last = args.at(-1) ?? "";
  const isEnd = ofPath.test(last) || /^=\d{3}$/.test(last) || (/^\//.test(last) && !last.includes("{"));
  return args.length > 0 && isEnd && args.slice(0, -1).every((one) => ofPath.test(one));
}

/** Where files of a site are, and what is hidden of them. */
interface HiddenFiles {
  /** As `root` has it. */
  readonly root: string;
  /** The part of the path that has been removed. */
  readonly stripped: string;
  /** A file that is sent for other paths, or "". */
  readonly fallback: string;
  /** Patterns of `hide`. */
  readonly patterns: readonly string[];
  /** The files that the configuration is in, which Caddy hides by itself. */
  readonly ownFiles: readonly string[];
}

/** Expressions for the paths of hidden files; null if they cannot be said. */
export function hiddenPaths({ root, stripped, fallback, patterns, ownFiles }: HiddenFiles): string[] | null {
  if (patterns.length > MAX_PATTERNS || [root, ...patterns].some(({ length }) => length > MAX_LENGTH)) return null;
  const base = resolve("/", normalize(root === "" ? "." : root));
  const isRootAbsolute = isAbsolute(root);
  const below = escapedRegex(stripped);
  const found: string[] = [];
  for (const pattern of patterns) {
    if (/[[\]\\{}]/.test(pattern) || pattern === "") return null;
    if (!pattern.includes("/")) {
      // A hidden name in the root's own path hides everything; one of the file for a folder hides what has no name.
      const names = [...base.split("/"), "index.html", ...fallback.split("/")];
      if (names.some((name) => name !== "" && fits(pattern, name))) return null;
      found.push(`(?i)(^|/)${expressionOf(pattern)}(/|$)`);
      continue;
    }
    if (isAbsolute(pattern) !== isRootAbsolute) return null;
    const path = resolve("/", pattern);
    const rest = relative(base, path);
    if (rest === "" || base.startsWith(path === "/" ? path : `${path}/`)) return null;
    if (rest.startsWith("..") && !/[*?]/.test(path)) continue;
    if (rest.startsWith("..") || fits(path, `${base}/index.html`) || rest === fallback) return null;
    found.push(`(?i)^${below}/${expressionOf(rest)}(/|$)`);
  }
  for (const file of ownFiles) {
    const rest = relative(resolve(root === "" ? "." : root), file);
    if (rest !== "" && !rest.startsWith("..") && !isAbsolute(rest)) found.push(`(?i)^${below}/${escapedRegex(rest)}$`);
  }
  return found;
}

/** So many patterns, and so long ones, are read; each is compared with each name of the root's path. */
const MAX_PATTERNS = 500;
const MAX_LENGTH = 500;

/** `*` and `?` of a pattern stand for characters of one segment. */
function expressionOf(pattern: string): string {
  return Array.from(pattern, (char) => (char === "*" ? "[^/]*" : char === "?" ? "[^/]" : escapedRegex(char))).join("");
}

/** Whether a name fits a pattern, whatever its letter case; in time with the product of both lengths. */
function fits(pattern: string, name: string): boolean {
  const text = name.toLowerCase();
  let reached = Array.from({ length: text.length + 1 }, (_, at) => at === 0);
  for (const char of pattern.toLowerCase()) {
    const next = reached.map(() => false);
    for (let at = 0; at <= text.length; at++) {
      if (char === "*") next[at] = reached[at]! || (at > 0 && next[at - 1]! && text[at - 1] !== "/");
      else if (at > 0 && reached[at - 1]!) next[at] = char === text[at - 1] || (char === "?" && text[at - 1] !== "/");
    }
    reached = next;
  }
  return reached[text.length]!;
}

/** The files that statements are in, as paths of this machine. @param main the file that was converted */
export function filesOf(statements: readonly Statement[], main: string): string[] {
  const files = new Set<string>();
  const add = (list: readonly Statement[]): void => {
    for (const { file, block } of list) {
      files.add(filePath(file));
      if (block !== null) add(block);
    }
  };
  add(statements);
  if (main === "-") return [];
  const folder = dirname(resolve(main));
  return [
    ...new Set([
      resolve(main),
      ...Array.from(files, (file) => (file === main ? resolve(main) : resolve(folder, file))),
    ]),
  ];
}

/** A rule that takes the paths of an expression from another one, with its status. */
export function takenOut(rule: Rule, regex: string, status: number): Rule {
  return { ...rule, keys: { type: "respond", status, regex }, scopes: [] };
}

/** Fields, in lower case, that `request_header` changes before the directives of a block that end requests compare them; some end with `*`. */
export function changedFields(statements: readonly Statement[]): string[] {
  EFFORT.take(statements.length);
  return statements
    .filter(({ name }) => name === "request_header")
    .flatMap(({ args, block }) => [
      ...(/^[@/*]/.test(args[0] ?? "") ? args.slice(1, 2) : args.slice(0, 1)),
      ...(block ?? []).map(({ name }) => name),
    ])
    .map((field) =>
      field
        .replace(/^[+?>-]/, "")
        .replace(/:$/, "")
        .toLowerCase(),
    );
}

/** A matcher that compares no field which has been changed before: a route compares the client's own. */
export function ofOwnFields(found: FoundMatcher, changed: readonly string[]): FoundMatcher {
  const isChanged = (name: string): boolean =>
    changed.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  const asks = ({ match, notAny }: Condition): boolean =>
    Object.keys((match.header as Keys | undefined) ?? {}).some((name) => isChanged(name.toLowerCase())) ||
    notAny.some(asks);
  const { matcher } = found;
  if (changed.length === 0 || "fault" in matcher || !matcher.some(asks)) return found;
  const wider = matcher.map(({ match: { header, ...match }, ...one }) => ({ ...one, match, notAny: [] }));
  return { ...found, matcher: { fault: "request_header changes a field before this matcher compares it", wider } };
}
