/** What a module is loaded for: a route of `type: function`, the `hooks` of a route, a line of `functions.cron`. */
export type ModuleUse = "function" | "hooks" | "scheduled";

type AnyFunction = (...values: readonly unknown[]) => unknown;

/** A function of a module, and what it is called on. */
export interface ExportedFunction {
  readonly run: AnyFunction;
  readonly on: unknown;
}

/**
 * The function of a module with this name: of its default export, else by its own name; for `fetch` the default export may be the function
 * itself. A default export may be an object of a framework that answers every name, so only the names that are called are asked for.
 * docs/functions.md#modules
 * @returns null if there is none
 */
export function exportedFunction(module: Readonly<Record<string, unknown>>, name: string): ExportedFunction | null {
  const main = module.default;
  const own = isObject(main) ? main[name] : undefined;
  if (typeof own === "function") return { run: own as AnyFunction, on: main };
  const named = module[name];
  if (typeof named === "function") return { run: named as AnyFunction, on: undefined };
  return name === "fetch" && typeof main === "function" ? { run: main as AnyFunction, on: undefined } : null;
}

/** The fault in the exports of a module for its use; "" if there is none. docs/functions.md#mistakes */
export function exportFault(module: Readonly<Record<string, unknown>>, use: ModuleUse): string {
  const { names, example } = WANTED[use];
  const main = module.default;
  const members = isObject(main) ? main : {};
  const wrong = names.find((name) => members[name] !== undefined && typeof members[name] !== "function");
  if (wrong !== undefined) return `${wrong} of its default export is a ${typeof members[wrong]}, not a function`;
  if (names.some((name) => exportedFunction(module, name) !== null)) return "";
  if (main === undefined) return `has no default export; write ${example}`;
  if (!isObject(main)) return `its default export is ${main === null ? "null" : `a ${typeof main}`}; write ${example}`;
  if (typeof main === "function")
    return `its default export is a function without ${names.join(" or ")}; write ${example}`;
  const found = Object.keys(main).slice(0, MAX_NAMES).join(", ") || "nothing";
  return `its default export has no ${names.join(" or ")}, but ${found}; write ${example}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

interface Wanted {
  /** One of them must be there, and each that is there must be a function. */
  readonly names: readonly string[];
  readonly example: string;
}

const WANTED: Readonly<Record<ModuleUse, Wanted>> = {
  function: { names: ["fetch"], example: "export default { fetch(request, ctx) { return new Response() } }" },
  hooks: {
    names: ["onRequest", "onResponse"],
    example: "export default { onRequest(request, ctx) {}, onResponse(response, ctx) {} }",
  },
  scheduled: { names: ["scheduled"], example: "export default { scheduled(event, ctx) {} }" },
};

const MAX_NAMES = 5;
