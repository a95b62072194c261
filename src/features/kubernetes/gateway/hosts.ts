/** Whether a host, or all hosts of a wildcard, belong to a pattern; "" is every host. */
function isHostWithin(host: string, pattern: string): boolean {
  if (pattern === "" || host === pattern) return true;
  return pattern.startsWith("*.") && host !== "" && host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1;
}

/** The hosts that two sets have in common; [""] for all hosts, none if they have nothing in common. */
export function commonHosts(listener: string, routes: readonly string[]): readonly string[] {
  const [own, others] = [listener.toLowerCase(), routes.map((one) => one.toLowerCase())];
  if (others.length === 0) return [own];
  return [
    ...new Set(
      others.flatMap((host) => {
        if (isHostWithin(host, own)) return [host];
        return isHostWithin(own, host) ? [own] : [];
      }),
    ),
  ];
}

/** More for a more specific host: exact names before wildcards, longer ones before shorter ones, every host last. */
export function hostWeight(host: string): number {
  if (host === "") return -1;
  return host.startsWith("*.") ? host.length : 1000 + host.length;
}
