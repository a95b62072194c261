import type { ListedEntry } from "./folder-listing.ts";

/** The order of a list; folders come first. */
export interface ListingOrder {
  readonly by: "name" | "size" | "time";
  readonly isDescending: boolean;
}

/** The order that a query asks for (`?sort=size&order=desc`); any other query is by name. @param target of the request */
export function orderOf(target: string): ListingOrder {
  const question = target.indexOf("?");
  const query = question < 0 ? [] : target.slice(question + 1).split("&");
  const by = (["size", "time"] as const).find((key) => query.includes(`sort=${key}`)) ?? "name";
  return { by, isDescending: query.includes("order=desc") };
}

/** Folders first, each kind in its order. */
export function sorted(entries: readonly ListedEntry[], { by, isDescending }: ListingOrder): readonly ListedEntry[] {
  const sign = isDescending ? -1 : 1;
  return entries.toSorted((a, b) => {
    if (a.isFolder !== b.isFolder) return a.isFolder ? -1 : 1;
    const difference = by === "size" ? a.size - b.size : by === "time" ? a.modifiedMs - b.modifiedMs : 0;
    return sign * (difference || compareNames(a.name, b.name));
  });
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A name of one character a byte as text; bytes that are no UTF-8 become replacement characters. */
export function utf8(name: string): string {
  return Buffer.from(name, "latin1").toString("utf8");
}
