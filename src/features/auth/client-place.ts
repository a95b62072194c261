import type { TurnTaker } from "../../core/fair-turns.ts";
import { parseAddress } from "../../core/ip-address.ts";
import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";

/** The client's address, of IPv6 its /64, with a sign after it that no address has. */
export function placeOf(ex: Exchange): string {
  const address = addressOf(ex);
  return `${address.includes(":") ? prefixOf(address, CLIENT_OCTETS) : address} `;
}

/** The network around it, which one client may have as a whole: the /24, of IPv6 the /48. */
function networkOf(ex: Exchange): string {
  const address = addressOf(ex);
  return address.includes(":") ? prefixOf(address, SITE_OCTETS) : address.slice(0, address.lastIndexOf(".") + 1);
}

/** Whose turn it is. */
export function takerOf(ex: Exchange): TurnTaker {
  return { network: networkOf(ex), client: placeOf(ex) };
}

function addressOf(ex: Exchange): string {
  return ex.clientIp === UNKNOWN_CLIENT ? ex.client.socketAddress : ex.clientIp;
}

function prefixOf(address: string, count: number): string {
  return parseAddress(address, octets) ? Buffer.from(octets.subarray(0, count)).toString("hex") : address;
}

const CLIENT_OCTETS = 8;
const SITE_OCTETS = 6;
const octets = new Uint8Array(16);
