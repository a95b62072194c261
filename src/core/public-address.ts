import { isMappedV4, parseAddress } from "./ip-address.ts";

/**
 * Networks that are not the Internet: of this machine, private, link-local with the metadata of clouds, shared, for documentation and tests, multicast.
 * RFC 6890 and its registries
 */
const NOT_PUBLIC_V4: readonly (readonly [network: number, bits: number])[] = [
  [0x0000_0000, 8],
  [0x0a00_0000, 8],
  [0x6440_0000, 10],
  [0x7f00_0000, 8],
  [0xa9fe_0000, 16],
  [0xac10_0000, 12],
  [0xc000_0000, 24],
  [0xc000_0200, 24],
  [0xc058_6300, 24],
  [0xc0a8_0000, 16],
  [0xc612_0000, 15],
  [0xc633_6400, 24],
  [0xcb00_7100, 24],
  [0xe000_0000, 3],
];

/** Whether an address belongs to a machine of the Internet; false for a text that is none. IPv6 holds IPv4 in several forms: those are none. */
export function isPublicAddress(address: string): boolean {
  if (!parseAddress(address, octets)) return false;
  if (isMappedV4(octets)) return isPublicV4(view.getUint32(12));
  // 2000::/3 alone is given out.
  if (octets[0]! >> 5 !== 1) return false;
  const first = view.getUint32(0);
  // 2001::/23 with Teredo, documentation, 6to4, and documentation again.
  const isSpecial = first >>> 9 === 0x2001_0000 >>> 9 || first === 0x2001_0db8 || first >>> 16 === 0x2002;
  return !isSpecial && first >>> 12 !== 0x3fff_0;
}

function isPublicV4(address: number): boolean {
  return NOT_PUBLIC_V4.every(([network, bits]) => address >>> (32 - bits) !== network >>> (32 - bits));
}

const octets = new Uint8Array(16);
const view = new DataView(octets.buffer);
