import { readFileSync } from "node:fs";
import { dirname, extname } from "node:path";

/**
 * The files that make up a module: itself and what it imports, and what they import, packages left out, since those are not edited
 * in place. A file that cannot be read or parsed is in the list, and what it imports is not.
 * @param module absolute path
 * @returns absolute paths, the module first; `MAX_FILES` at most
 */
export function moduleFiles(module: string): readonly string[] {
  const found = new Set([module]);
  for (const file of found) {
    if (found.size >= MAX_FILES) break;
    for (const specifier of importsOf(file)) {
      const target = targetOf(specifier, file);
      if (target !== "") found.add(target);
    }
  }
  return [...found];
}

/** What a file of TypeScript or JavaScript imports, as it is written there; nothing if it cannot be parsed. */
export function importsOf(file: string, text?: string): readonly string[] {
  const loader = LOADERS.get(extname(file));
  if (loader === undefined) return [];
  try {
    const imports = new Bun.Transpiler({ loader }).scanImports(text ?? readFileSync(file, "utf8"));
    return imports.map(({ path }) => path);
  } catch {
    return [];
  }
}

/** Where an import is written in a text, from 1; zeros if it is not found. @param name one that is imported; "" for any */
export function positionOfImport(
  text: string,
  specifier: string,
  name = "",
): { readonly line: number; readonly column: number } {
  const quoted = [`"${specifier}"`, `'${specifier}'`, `\`${specifier}\``];
  const lines = text.split("\n");
  const isImport = (line: string) => /\b(?:import|from|require)\b/.test(line);
  for (const fits of [(line: string) => isImport(line) && line.includes(name), isImport, () => true]) {
    for (const [index, line] of lines.entries()) {
      if (!fits(line)) continue;
      const at = Math.max(...quoted.map((one) => line.indexOf(one)));
      if (at >= 0) return { line: index + 1, column: at + 1 };
    }
  }
  return { line: 0, column: 0 };
}

/** "" for packages, modules of the runtime, and what is not there. */
function targetOf(specifier: string, file: string): string {
  try {
    const target = Bun.resolveSync(specifier, dirname(file));
    return target.startsWith("/") && !target.includes("/node_modules/") ? target : "";
  } catch {
    return "";
  }
}

const LOADERS: ReadonlyMap<string, "ts" | "tsx" | "js" | "jsx"> = new Map([
  [".ts", "ts"],
  [".mts", "ts"],
  [".cts", "ts"],
  [".tsx", "tsx"],
  [".js", "js"],
  [".mjs", "js"],
  [".cjs", "js"],
  [".jsx", "jsx"],
]);

const MAX_FILES = 2000;
