import { hostsOfNearest } from "../../../../loading/route-folder.ts";

/** The hosts that a name of a store may have: its own, those of the nearest folder above it, or those of all others, `*`; null for all. */
export function hostBound(
  name: string,
  hosts: readonly (readonly [string, readonly string[]])[],
): readonly string[] | null {
  if (hosts.length === 0) return null;
  const bounds = new Map(hosts);
  return hostsOfNearest(name, bounds) ?? bounds.get("*") ?? null;
}
