import { formatAddress, parseAddress } from "../../core/ip-address.ts";
import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { namesClient } from "../../proto/h1/claimed-fields.ts";

/** Addresses that belong to proxies. */
export interface TrustedProxies {
  has(address: string): boolean;
}

/**
 * The client that X-Forwarded-For tells of: from the right, the first address that is no trusted proxy itself, since
 * every proxy appends the one it saw and only those of ours are believed. Where all are trusted it is the left-most.
 *
 * @returns "" if the head has no field about a client: then the proxy speaks for itself; UNKNOWN_CLIENT if the list is
 *   empty, unreadable up to that address, or longer than any chain of proxies in earnest, and where only other fields tell
 *   of a client: they are not read, but the client exists. docs/security.md#client-addresses
 */
export function forwardedClient(headers: HeaderBlock, trusted: TrustedProxies): string {
  let client = "";
  let hops = 0;
  for (let i = headers.count - 1; i >= 0; i--) {
    if (headers.ids[i] !== HeaderId.XForwardedFor) continue;
    const list = headers.valueText(i);
    for (let to = list.length; to >= 0; ) {
      const comma = to === 0 ? -1 : list.lastIndexOf(",", to - 1);
      client = addressOf(list.slice(comma + 1, to).trim());
      if (client === "" || ++hops > MAX_HOPS) return UNKNOWN_CLIENT;
      if (!trusted.has(client)) return client;
      to = comma;
    }
  }
  return client === "" && namesClient(headers) ? UNKNOWN_CLIENT : client;
}

/**
 * The address of one entry in its one spelling; some proxies add the port (`192.0.2.1:80`, `[2001:db8::1]:80`).
 * @returns "" for anything else
 */
export function addressOf(entry: string): string {
  if (entry.length > MAX_ENTRY_CHARS) return "";
  const spelt = spell(entry);
  if (spelt !== "") return spelt;
  const parts = ENTRY_WITH_PORT.exec(entry);
  return parts === null ? "" : spell(parts[1] ?? parts[2]!);
}

/** IPv4 has no other spelling than the one that is read. */
function spell(address: string): string {
  if (!parseAddress(address, octets)) return "";
  return address.includes(":") ? formatAddress(octets) : address;
}

/** More proxies than stand in one row anywhere. */
const MAX_HOPS = 32;
/** An IPv6 address with a zone, brackets and a port. */
const MAX_ENTRY_CHARS = 80;
/** In brackets, with or without a port; or with dots and a port. */
const ENTRY_WITH_PORT = /^\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?$|^([\d.]+):\d{1,5}$/;
const octets = new Uint8Array(16);
