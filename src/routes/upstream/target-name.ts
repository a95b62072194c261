import type { TargetConfig } from "../../config/origin.ts";
import type { Kind, Spot } from "../../config/piece.ts";
import type { Row } from "../../config/row.ts";
import { textLike } from "../../config/scalars.ts";

/** What operators call a target: never an address. docs/upstreams.md#names-of-targets */
function targetName(): Kind<string> {
  return textLike(/^[a-z0-9_][a-z0-9_.-]{0,62}$/i, "a name of letters, digits, - _ and .");
}

/** The row of a target's name, of routes and of streams. */
export const TARGET_NAME = {
  type: targetName(),
  absent: "",
  example: "web-1",
  doc: "the name in `edge drain` and listings",
} as const satisfies Row;

/** Two targets of a route have no name in common. @param spot of the list */
export function checkTargetNames(targets: readonly TargetConfig[], { log, path }: Spot): void {
  const first = new Map<string, number>();
  targets.forEach(({ name = "" }, i) => {
    if (name === "") return;
    const other = first.get(name);
    if (other !== undefined) log.fault([...path, i, "name"], `${name} is the name of target ${other + 1} too`, true);
    else first.set(name, i);
  });
}

/** Targets with a name each, "" for none. */
export function withNames<T extends TargetConfig>(targets: readonly T[]): (T & { readonly name: string })[] {
  return targets.map((target) => ({ ...target, name: target.name ?? "" }));
}
