import { isIP } from "node:net";
import type { Cidr } from "./runtime-config.ts";

/**
 * Reads a network such as `10.0.0.0/8`, `2001:db8::/32`, or a single address. Gives the network, or a fault text that
 * says what is wrong, with the cure. Address bits beyond the prefix are refused: `10.1.2.3/8` is most often a slip.
 */
export function parseCidr(text: string): Cidr | string {
  const slash = text.indexOf("/");
  const address = slash < 0 ? text : text.slice(0, slash);
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 0) return `expected an IP address or a network such as 10.0.0.0/8, found "${text}"`;
  const width = family === 4 ? 32 : 128;
  const prefix = slash < 0 ? String(width) : text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > width) {
    return `expected a prefix length from 0 to ${width} after the slash, found "${text}"`;
  }
  const bytes = addressBytes(address);
  const bits = Number(prefix) + (128 - width);
  const network = bytes.map((byte, i) => byte & maskByte(bits, i));
  if (network.some((byte, i) => byte !== bytes[i])) {
    const meant = `${formatAddress(network, family)}/${Number(prefix)}`;
    return `the address has bits set beyond /${prefix}: expected a network address (did you mean "${meant}"?)`;
  }
  return { text: slash < 0 ? address : `${address}/${Number(prefix)}`, bytes: network, bits };
}

/** The 16 octets of a valid address; IPv4 as `::ffff:a.b.c.d`. */
function addressBytes(address: string): number[] {
  if (!address.includes(":")) return [...new Array<number>(10).fill(0), 0xff, 0xff, ...address.split(".").map(Number)];
  const [head = "", tail] = address.split("::");
  const left = groupBytes(head);
  const right = tail === undefined ? [] : groupBytes(tail);
  return [...left, ...new Array<number>(16 - left.length - right.length).fill(0), ...right];
}

function groupBytes(groups: string): number[] {
  if (groups === "") return [];
  return groups.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function maskByte(bits: number, index: number): number {
  const kept = Math.min(8, Math.max(0, bits - index * 8));
  return (0xff << (8 - kept)) & 0xff;
}

function formatAddress(bytes: readonly number[], family: number): string {
  if (family === 4) return bytes.slice(12).join(".");
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i]! << 8) | bytes[i + 1]!).toString(16));
  return groups.join(":").replace(/(^|:)0(:0)+(:|$)/, "::");
}
