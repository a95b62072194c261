import { type Condition, EVERYTHING } from "./condition.ts";
import { joined } from "./modifiers.ts";
import { regexPlaces } from "./nginx/nginx-places.ts";
import { type PathRule, prefixOf } from "./path-rule.ts";

/**
 * Conditions without expressions for the path: as paths where these say the same.
 * @returns null if one does not
 */
export function byPaths(conditions: readonly Condition[]): Condition[] | null {
  const found = conditions.map((one) => {
    const plain = { ...one, regex: "" };
    if (one.regex === "") return [plain];
    const places = placesOf(one.regex);
    return places?.map((path) => joined(plain, { ...EVERYTHING, path })).filter((each) => each !== null) ?? null;
  });
  return found.includes(null) ? null : found.flatMap((one) => one ?? []);
}

/** The paths that an expression says; null if it says more. */
function placesOf(regex: string): PathRule[] | null {
  const isBelow = /\/(\([^()]*\)|\.[*+])?\$?$/.test(regex);
  return (
    regexPlaces(regex)?.map((path) =>
      isBelow && path.kind === "prefix" && path.value !== "/" ? prefixOf(path.value, { isBelow }) : path,
    ) ?? null
  );
}

/** All requests but some. A path that is excepted with what is below it alone is not excepted itself. */
export function allBut(excepted: readonly Condition[]): Condition[] {
  const below = excepted.filter(({ path }) => path?.reading?.isBelow === true && path.value !== "/");
  const bare = below.map(
    (one): Condition => ({
      ...EVERYTHING,
      path: { ...one.path!, kind: "exact" },
      notAny: excepted.filter((other) => other !== one),
    }),
  );
  return [...bare, { ...EVERYTHING, notAny: excepted }];
}
