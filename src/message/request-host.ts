import type { RequestHead } from "./request-head.ts";

/**
 * The host that a request is for, as route hosts are written: lower case, without port and without the final dot.
 * "" where there is none, or where it is longer than a name can be (RFC 1035 §2.3.4), so that looking it up stays cheap.
 */
export function requestHost(head: RequestHead): string {
  const authority = head.authority();
  if (authority.length > MAX_AUTHORITY_CHARS) return "";
  const end = authority.startsWith("[") ? authority.indexOf("]") + 1 : authority.indexOf(":");
  const host = end > 0 ? authority.slice(0, end) : authority;
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}

/** A name of 253 characters, a dot, a colon and a port. */
const MAX_AUTHORITY_CHARS = 260;

/**
 * Whether a host is among those of a route.
 * @param hosts lower case, `*.` patterns allowed; empty means every host
 * @param host as `requestHost` gives it
 */
export function takesHost(hosts: readonly string[], host: string): boolean {
  if (hosts.length === 0) return true;
  return hosts.some((entry) => (entry.startsWith("*.") ? isBelow(host, entry.slice(1)) : entry === host));
}

function isBelow(host: string, suffix: string): boolean {
  return host.length > suffix.length && host.endsWith(suffix);
}
