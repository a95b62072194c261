import { hostLiteral } from "../core/ip-address.ts";
import { MAX_AUTHORITY_BYTES } from "../core/limits.ts";
import type { RequestHead } from "./request-head.ts";

/**
 * The host that a request is for, as route hosts are written: lower case, without port and without the final dot; of all
 * spellings of an IPv6 address one. "" if there is none, or if it is longer than a name can be (RFC 1035 §2.3.4), so
 * that looking it up stays cheap.
 */
export function requestHost(head: RequestHead): string {
  const authority = head.authority();
  if (authority.length > MAX_AUTHORITY_BYTES) return "";
  if (authority.startsWith("[")) return hostLiteral(authority.slice(0, authority.indexOf("]") + 1));
  const end = authority.indexOf(":");
  const host = end > 0 ? authority.slice(0, end) : authority;
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}

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
