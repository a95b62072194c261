import { formatAddress, isMappedV4, parseAddress } from "../core/ip-address.ts";
import { NO_BITS } from "../core/network-set.ts";

/**
 * Reads a network such as `10.0.0.0/8`, `2001:db8::/32`, or a single address. Gives the network, or a fault text that
 * names the fault, with the cure. Address bits beyond the prefix are refused: `10.1.2.3/8` is most often a slip.
 *
 * The octets are read as the data plane reads them. ipaddr.js 2.5.0 was tried: it takes `010.0.0.0/8` for `8.0.0.0/8`, and
 * `0x7f.1`, `10/8` and `10.0.0.0/08` for networks, and says nothing of address bits beyond the prefix, so each check below
 * would stay, beside 38 KB of library.
 */
export function parseCidr(text: string): Cidr | string {
  const slash = text.indexOf("/");
  const address = slash < 0 ? text : text.slice(0, slash);
  const octets = new Uint8Array(16);
  if (address.includes("%") || !parseAddress(address, octets))
    return `expected an IP address or a network such as 10.0.0.0/8, found "${text}"`;
  const isV6 = address.includes(":");
  const width = isV6 ? 128 : 32;
  const prefix = slash < 0 ? String(width) : text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > width) {
    return `expected a prefix length from 0 to ${width} after the slash, found "${text}"`;
  }
  const bits = Number(prefix) + (128 - width);
  const network = Array.from(octets, (byte, i) => byte & maskByte(bits, i));
  if (network.some((byte, i) => byte !== octets[i])) {
    const meant = `${isV6 && isMappedV4(network) ? "::ffff:" : ""}${formatAddress(network)}/${Number(prefix)}`;
    return `the address has bits set beyond /${prefix}: expected a network address (did you mean "${meant}"?)`;
  }
  return { text: slash < 0 ? address : `${address}/${Number(prefix)}`, bytes: network, bits };
}

/** Whether every address of a network is one of the other, or is the other. */
export function isNetworkWithin(inner: Cidr, outer: Cidr): boolean {
  if (isV4(inner) !== isV4(outer) || inner.bits < outer.bits) return false;
  return outer.bytes.every((byte, i) => byte === (inner.bytes[i]! & maskByte(outer.bits, i)));
}

/** Whether two networks have an address in common. */
export function overlap(a: Cidr, b: Cidr): boolean {
  return isNetworkWithin(a, b) || isNetworkWithin(b, a);
}

function isV4({ bits, bytes }: Cidr): boolean {
  return bits >= 96 && isMappedV4(bytes);
}

function maskByte(bits: number, index: number): number {
  const kept = Math.min(8, Math.max(0, bits - index * 8));
  return (0xff << (8 - kept)) & 0xff;
}

/** A network, read for matching: `bytes` holds 16 octets, an IPv4 network as `::ffff:a.b.c.d` with 96 added to `bits`. */
export interface Cidr {
  /** As an operator would write it, such as `10.0.0.0/8`. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** Stands for the clients of UNIX sockets, which have no address: no address is in it. */
export const UNIX_PEERS: Cidr = { text: "unix:", bytes: [], bits: NO_BITS };
