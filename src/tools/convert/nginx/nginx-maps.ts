import { escapedRegex, expressionOf } from "../expression.ts";
import type { Keys } from "../keys.ts";
import type { Statement } from "../statement.ts";
import { nginxTemplate } from "./nginx-values.ts";

/** An entry of `expressions` of a map. */
interface MapExpression {
  readonly regex: string;
  readonly value: string;
}

/** What `map` says as a map of the routes; null if maps cannot say it. docs/routing.md#maps */
export function valueMap({ block }: Statement, of: string): Keys | null {
  const rows = (block ?? []).filter(({ name, block: inner }) => name !== "include" && inner === null);
  const hasHostnames = rows.some(({ name, args }) => name === "hostnames" && args.length === 0);
  const values: Record<string, string> = {};
  const names: (MapExpression & { readonly rank: number })[] = [];
  const expressions: MapExpression[] = [];
  let whenNone = "";
  for (const { name, args } of rows) {
    if (args.length === 0 && (name === "hostnames" || name === "volatile")) continue;
    const [word = "", ...more] = args;
    const value = nginxTemplate(word);
    if (more.length > 0 || value === null) return null;
    if (name === "default") whenNone = value;
    else if (name === "") expressions.push({ regex: "^$", value });
    else if (name.startsWith("~")) {
      const isAnyCase = name.startsWith("~*");
      const regex = expressionOf(name.slice(isAnyCase ? 2 : 1), false);
      if (regex === null) return null;
      expressions.push({ regex: isAnyCase ? `(?i)${regex}` : regex, value });
    } else if (hasHostnames) {
      const wildcard = wildcardOf(name);
      if (wildcard !== null) names.push({ ...wildcard, value });
      for (const key of hostKeys(name)) values[key] ??= value;
    } else values[name.replace(/^\\/, "").toLowerCase()] ??= value;
  }
  const all = [...names.sort((a, b) => b.rank - a.rank).map(({ regex, value }) => ({ regex, value })), ...expressions];
  return {
    of,
    ...(Object.keys(values).some((key) => /[a-z]/.test(key)) ? { any_case: true } : {}),
    values,
    ...(all.length === 0 ? {} : { expressions: all }),
    ...(whenNone === "" ? {} : { default: whenNone }),
  };
}

/** The keys of a name without a star: with and without a final dot. */
function hostKeys(name: string): string[] {
  if (name.includes("*")) return [];
  const plain = name.replace(/^[.\\]/, "").toLowerCase();
  return [plain, `${plain}.`];
}

/** The expression of `*.example.com`, `.example.com` and `example.*`; the longer goes first, those of the first kind before the other. */
function wildcardOf(name: string): (Omit<MapExpression, "value"> & { readonly rank: number }) | null {
  const before = /^\*?(\..+)$/.exec(name)?.[1];
  if (before !== undefined) return { regex: `(?i)^.+${escapedRegex(before)}\\.?$`, rank: FIRST + before.length };
  const after = /^(.+\.)\*$/.exec(name)?.[1];
  return after === undefined ? null : { regex: `(?i)^${escapedRegex(after)}.+$`, rank: after.length };
}

/** Above the length of any name. */
const FIRST = 65_536;
