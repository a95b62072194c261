import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** What of `compilerOptions` says how JSX becomes JavaScript. */
interface JsxOptions {
  readonly jsx?: unknown;
  readonly jsxImportSource?: unknown;
  readonly jsxFactory?: unknown;
  readonly jsxFragmentFactory?: unknown;
}

/** A configuration extends others, so deep at most. */
const MAX_EXTENDS = 8;
const NAME = /^[\w@$./-]{1,200}$/;

/**
 * Has files with JSX read as the nearest `tsconfig.json` says (`jsx`, `jsxImportSource`, `jsxFactory`, `jsxFragmentFactory`): threads of the compiled
 * binary take `paths` from there, and these not. A file that says it itself (`@jsxImportSource`), and files of packages, are left as they are.
 * docs/functions.md#modules
 */
export function useJsxSettings(): void {
  Bun.plugin({
    name: "jsx-settings",
    setup(build) {
      build.onLoad({ filter: /\.[jt]sx$/ }, ({ path }) => ({
        contents: withPragma(path, readFileSync(path, "utf8")),
        loader: path.endsWith(".tsx") ? "tsx" : "jsx",
      }));
    },
  });
}

/** In front of the first line, so that lines keep their numbers. */
function withPragma(path: string, text: string): string {
  if (path.includes("/node_modules/") || /@jsx(?:ImportSource|Runtime|Frag)?\b/.test(text)) return text;
  const pragma = pragmaOf(jsxOptionsOf(dirname(path)));
  return pragma === "" ? text : `/** ${pragma} */ ${text}`;
}

/** The comments by which the runtime learns the same. */
function pragmaOf({ jsx, jsxImportSource, jsxFactory, jsxFragmentFactory }: JsxOptions): string {
  const named = (name: string, value: unknown): string =>
    typeof value === "string" && NAME.test(value) ? `@${name} ${value}` : "";
  const parts =
    jsx === "react"
      ? ["@jsxRuntime classic", named("jsx", jsxFactory), named("jsxFrag", jsxFragmentFactory)]
      : [named("jsxImportSource", jsxImportSource)];
  return parts.filter((part) => part !== "").join(" ");
}

/** Of the nearest tsconfig.json from a folder upwards; nothing if there is none, or none that can be read. */
function jsxOptionsOf(folder: string): JsxOptions {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, "tsconfig.json");
    if (existsSync(file)) return optionsOf(file, MAX_EXTENDS);
    if (at === dirname(at)) return {};
  }
}

function optionsOf(file: string, depth: number): JsxOptions {
  try {
    const read = Bun.JSONC.parse(readFileSync(file, "utf8")) as {
      readonly extends?: unknown;
      readonly compilerOptions?: JsxOptions;
    };
    const base = typeof read.extends === "string" && depth > 0 ? baseOf(file, read.extends) : "";
    return { ...(base === "" ? {} : optionsOf(base, depth - 1)), ...read.compilerOptions };
  } catch {
    return {};
  }
}

/** The file that a configuration extends; "" for one of a package. */
function baseOf(file: string, name: string): string {
  if (!name.startsWith(".") && !isAbsolute(name)) return "";
  const path = resolve(dirname(file), name);
  return existsSync(path) ? path : `${path}.json`;
}
