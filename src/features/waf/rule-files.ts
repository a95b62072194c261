import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Kind, Spot } from "../../config/piece.ts";
import { list, resolved, written } from "../../config/piece.ts";
import { fileName } from "../../config/scalars.ts";
import { formatSize } from "../../config/size.ts";
import { trimmedEnd } from "../../core/trimming.ts";
import type { JudgedExpression } from "../../proto/expression/expression.ts";
import type { RuleSet } from "../../proto/seclang/rule-set.ts";

/** Bytes of a file of rules, or of phrases. */
const MAX_WAF_FILE_BYTES = 4_194_304;

/** Files of rules in the language of ModSecurity, read and checked; none is a set without rules. docs/waf.md#rules-of-your-own */
export function ruleFiles(): Kind<string[], RuleSet> {
  const kind = resolved(list(fileName(), "files"), (names, spot) => readRuleFiles(names, spot));
  return written(kind, ({ files }) => files);
}

function readRuleFiles(names: readonly string[], { path, log, files }: Spot): RuleSet {
  const paths = names.map((name, i) => files.file([...path, i], name));
  // Many routes may name the same files: their rules are read, and kept, once.
  const known = setsOf.get(files) ?? new Map<string, RuleSet>();
  setsOf.set(files, known);
  const before = known.get(paths.join("\n"));
  if (before !== undefined) return before;
  if (paths.length === 0 || log.isFaulty(path)) return { files: [], engine: "on", entries: [] };
  // Read with the first rules: most configurations have none.
  const { readRules } =
    require("../../proto/seclang/rule-set-reader.ts") as typeof import("../../proto/seclang/rule-set-reader.ts");
  const { set, faults } = readRules(paths, { matching, read }, judged);
  for (const { file, line, col, message } of faults)
    log.faultIn({ file: nameOf(file, paths, names), line, col }, path, message);
  known.set(paths.join("\n"), set);
  return set;
}

const setsOf: WeakMap<Spot["files"], Map<string, RuleSet>> = new WeakMap();

/** Whether an expression of a rule is in order. */
function judged(source: string): JudgedExpression {
  const { judgeRuleExpression } =
    require("../../proto/expression/expression.ts") as typeof import("../../proto/expression/expression.ts");
  return judgeRuleExpression(source);
}

/** A file as the operator would name it: beside the one that is named in the configuration. */
function nameOf(file: string, paths: readonly string[], names: readonly string[]): string {
  const index = paths.indexOf(file);
  if (index >= 0) return names[index]!;
  return join(dirname(names[0]!), relative(dirname(paths[0]!), file));
}

/** Files beside another one; `*` and `?` stand for parts of the last name. */
function matching(pattern: string, from: string): readonly string[] {
  const path = resolve(dirname(from), pattern);
  const folder = dirname(path);
  const last = path.slice(folder.length).replace(/^\//, "");
  if (!/[*?]/.test(last)) return isFile(path) ? [path] : [];
  try {
    const found = readdirSync(folder).filter((name) => isLike(name, last));
    return found
      .sort()
      .map((name) => join(folder, name))
      .filter(isFile);
  } catch {
    return [];
  }
}

/** Whether a name fits a pattern; of the places for a `*` the last one is tried anew, which is enough. */
function isLike(name: string, pattern: string): boolean {
  let [at, sign, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[sign] === "*") {
      star = sign++;
      starAt = at;
    } else if (pattern[sign] === "?" || pattern[sign] === name[at]) {
      sign++;
      at++;
    } else if (star >= 0) {
      sign = star + 1;
      at = ++starAt;
    } else return false;
  }
  return trimmedEnd(pattern.slice(sign), "*") === "";
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** What a file holds, one character a byte. */
function read(file: string): string | Error {
  try {
    const { size } = statSync(file);
    if (size > MAX_WAF_FILE_BYTES) return new Error(`it has more than ${formatSize(MAX_WAF_FILE_BYTES)}`);
    return readFileSync(file)
      .toString("latin1")
      .replace(/^\xef\xbb\xbf/, "");
  } catch (error) {
    return new Error((error as { code?: string }).code === "ENOENT" ? "no such file" : "it cannot be read");
  }
}
