import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, stackOf } from "../../core/error-text.ts";
import { importsOf, moduleFiles, positionOfImport } from "./module-files.ts";

/** The fault in a module, and where. Plain data, so that it survives `postMessage`. */
export interface ModuleFault {
  /** An absolute path; the module itself if nothing is known. */
  readonly file: string;
  /** Line and column from 1; 0 if the place is not known. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** The line of the file, as it is; "" if it is not known. */
  readonly source: string;
}

/**
 * Why a module could not be loaded, or what has escaped from it: syntax errors, imports that are not there, names that a module
 * does not export, and whatever its code has thrown, at the line of the TypeScript file. docs/functions.md#mistakes
 * @param error as `import()` has rejected with it
 * @param module absolute path
 * @returns one fault at least, `MAX_FAULTS` at most
 */
export function moduleFaults(error: unknown, module: string): readonly [ModuleFault, ...ModuleFault[]] {
  const several = (error as { readonly errors?: unknown } | null)?.errors;
  if (Array.isArray(several) && several.some(isBuildMessage)) {
    const [first, ...others] = several.filter(isBuildMessage).slice(0, MAX_FAULTS);
    return [ofBuild(first!, module), ...others.map((one) => ofBuild(one, module))];
  }
  if (isBuildMessage(error)) return [ofBuild(error, module)];
  if (isResolveMessage(error)) return [ofResolve(error, module)];
  const missing = /^Export named '([^']+)' not found in module '([^']+)'/.exec(messageOf(error));
  if (missing !== null) return [ofMissingExport(missing[1]!, missing[2]!, module)];
  return [ofThrown(error, module)];
}

/** A fault at one line of a file, whose text is read for it. */
export function faultAt(file: string, line: number, column: number, message: string): ModuleFault {
  const source = line === 0 ? "" : (moduleText(file).split("\n")[line - 1] ?? "");
  return { file, line, column, message, source };
}

/** The first place of a stack that is in a file, and not in the runtime; null if there is none. */
export function thrownAt(
  stack: string,
): { readonly file: string; readonly line: number; readonly column: number } | null {
  const place = /(?:\(|at )(\/(?!\$bunfs)[^\n()]+?):(\d+):(\d+)\)?(?:\n|$)/.exec(stack);
  return place === null ? null : { file: place[1]!, line: Number(place[2]), column: Number(place[3]) };
}

/** The text of a file; "" if it cannot be read. */
export function moduleText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly lineText: string;
}

/** A fault of the runtime's parser. */
interface BuildFault {
  readonly message: string;
  readonly position: Position | null;
}

/** An import that leads nowhere. */
interface ResolveFault {
  readonly specifier: string;
  readonly referrer: string;
}

function isBuildMessage(error: unknown): error is BuildFault {
  return nameOf(error) === "BuildMessage";
}

function isResolveMessage(error: unknown): error is ResolveFault {
  return nameOf(error) === "ResolveMessage";
}

function nameOf(error: unknown): string {
  return String((error as { readonly name?: unknown } | null)?.name ?? "");
}

function ofBuild({ message, position }: BuildFault, module: string): ModuleFault {
  if (position === null) return faultAt(module, 0, 0, message);
  return {
    file: position.file || module,
    line: position.line,
    column: position.column,
    message,
    source: position.lineText,
  };
}

function ofResolve({ specifier, referrer }: ResolveFault, module: string): ModuleFault {
  const file = referrer || module;
  const { line, column } = positionOfImport(moduleText(file), specifier);
  const isFile = /^[./]/.test(specifier);
  const cure = isFile ? "there is no such file" : `install it beside the module: bun add ${packageOf(specifier)}`;
  return faultAt(file, line, column, `imports ${JSON.stringify(specifier)}, which is not there; ${cure}`);
}

/** The module that asks for the name is found by looking at each that is loaded with it. */
function ofMissingExport(name: string, from: string, module: string): ModuleFault {
  const message = `imports ${name} from ${from}, which does not export it`;
  for (const file of moduleFiles(module).filter((one) => one !== from)) {
    const text = moduleText(file);
    for (const specifier of importsOf(file, text)) {
      if (resolved(specifier, file) !== from || !text.includes(name)) continue;
      const { line, column } = positionOfImport(text, specifier, name);
      return faultAt(file, line, column, message);
    }
  }
  return faultAt(module, 0, 0, message);
}

function ofThrown(error: unknown, module: string): ModuleFault {
  const place = thrownAt(stackOf(error));
  const name = error instanceof Error ? `${error.name}: ` : "throws ";
  const message = `${name}${messageOf(error)}`;
  return place === null ? faultAt(module, 0, 0, message) : faultAt(place.file, place.line, place.column, message);
}

function resolved(specifier: string, file: string): string {
  try {
    return Bun.resolveSync(specifier, dirname(file));
  } catch {
    return "";
  }
}

/** `@scope/name` of `@scope/name/part`. */
function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

const MAX_FAULTS = 10;
