import type { TurnTaker } from "../core/fair-turns.ts";
import { parseAddress, subscriberOf } from "../core/ip-address.ts";
import { countedAddress } from "./client-peer.ts";
import type { Exchange } from "./exchange.ts";

/** The client's address, of IPv6 its /64, with a sign after it that no address has. */
export function placeOf(ex: Exchange): string {
  return `${subscriberOf(countedAddress(ex))} `;
}

/** The network around it, which one client may have as a whole: the /24, of IPv6 the /48. */
function networkOf(ex: Exchange): string {
  const address = countedAddress(ex);
  return address.includes(":") ? siteOf(address) : address.slice(0, address.lastIndexOf(".") + 1);
}

/** Whose turn it is. */
export function takerOf(ex: Exchange): TurnTaker {
  return { network: networkOf(ex), client: placeOf(ex) };
}

function siteOf(address: string): string {
  return parseAddress(address, octets) ? octets.subarray(0, SITE_OCTETS).toHex() : address;
}

const SITE_OCTETS = 6;
const octets = new Uint8Array(16);
