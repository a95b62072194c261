/** Ids that a configuration allows: `spiffe://mesh/ns/shop/sa/web`, or with `*` at the end all that begin so. docs/sidecar.md */
export function isAllowedId(id: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => (one.endsWith("*") ? id.startsWith(one.slice(0, -1)) : id === one));
}
