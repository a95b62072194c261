/** What a module is loaded for: a route of `type: function`, the `hooks` of a route, a line of `functions.cron`. */
export type ModuleUse = "function" | "hooks" | "scheduled";

/**
 * What is wrong with the exports of a module for its use; "" where nothing is.
 * A default export may be an object of a framework that answers every name, so only the names that are called are asked for.
 * docs/functions.md#modules
 */
export function exportFault(module: Readonly<Record<string, unknown>>, use: ModuleUse): string {
  const wanted = WANTED[use];
  const own = module.default;
  if (own === undefined) {
    const byName = wanted.names.find((name) => typeof module[name] === "function");
    return byName === undefined
      ? `has no default export; write ${wanted.example}`
      : `exports ${byName} by its name; write export default { ${byName} }`;
  }
  if (own === null || (typeof own !== "object" && typeof own !== "function"))
    return `its default export is ${own === null ? "null" : `a ${typeof own}`}; write ${wanted.example}`;
  const members = own as Readonly<Record<string, unknown>>;
  const there = wanted.names.filter((name) => members[name] !== undefined);
  const wrong = there.find((name) => typeof members[name] !== "function");
  if (wrong !== undefined) return `${wrong} of its default export is a ${typeof members[wrong]}, not a function`;
  if (there.length > 0) return "";
  if (typeof own === "function") return `its default export is a function; write ${wanted.example}`;
  const names = Object.keys(own);
  const found = names.length === 0 ? "nothing" : names.slice(0, MAX_NAMES).join(", ");
  return `its default export has no ${wanted.names.join(" or ")}, but ${found}; write ${wanted.example}`;
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
