import { ipVersion } from "../../core/ip-address.ts";

/**
 * The name of an address in the reverse tree. RFC 8738 §6, RFC 1035 §3.5, RFC 3596 §2.5.
 * @param address IPv4, or IPv6 without a zone
 */
export function reverseName(address: string): string {
  if (ipVersion(address) === 4) return `${address.split(".").reverse().join(".")}.in-addr.arpa`;
  // The URL parser writes every address in one way, without an IPv4 tail.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = new Array<string>(8 - before.length - after.length).fill("0000");
  return `${[...before, ...zeros, ...after].join("").split("").reverse().join(".")}.ip6.arpa`;
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":").map((group) => group.padStart(4, "0"));
}
