/**
 * Finds by a host what has been written for it, or for the names above it: an exact name before patterns, and of these the longest.
 * `*.example.com` is every name below example.com, whatever the number of its labels.
 */
export class HostTable<T> {
  private readonly exact: Map<string, T> = new Map();
  /** By what is after the `*.`. */
  private readonly below: Map<string, T> = new Map();

  /** @param host lower-case; what was set for it before stays */
  add(host: string, value: T): void {
    const isPattern = host.startsWith("*.");
    const map = isPattern ? this.below : this.exact;
    const key = isPattern ? host.slice(2) : host;
    if (!map.has(key)) map.set(key, value);
  }

  /** @param host lower-case, without port and final dot @returns undefined if there is nothing */
  get(host: string): T | undefined {
    const found = this.exact.get(host);
    if (found !== undefined || this.below.size === 0) return found;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const value = dot > 0 ? this.below.get(host.slice(dot + 1)) : undefined;
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
