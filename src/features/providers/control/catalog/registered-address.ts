import { parseCidr } from "../../../../config/cidr.ts";
import { ipVersion } from "../../../../core/ip-address.ts";
import { NetworkSet } from "../../../../core/network-set.ts";

/**
 * Why a service that tenants may register gets no requests at an address: through one of this machine, or a name that may lead there, it would
 * reach endpoints that are the gateway's alone. "" if it gets them. docs/providers.md#what-tags-may-do
 */
export function refusedAddress(address: string, { trusted }: { readonly trusted: boolean }): string {
  if (trusted) return "";
  if (ipVersion(address) === 0) return `${address.slice(0, 100)} is no IP address`;
  return OWN.has(address) ? `${address} is an address of this machine, of its link or of a group` : "";
}

const OWN = new NetworkSet(
  [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/127",
    "fe80::/10",
    "ff00::/8",
  ].map((text) => {
    const network = parseCidr(text);
    if (network === null || typeof network === "string") throw new Error(`${text} is no network`);
    return network;
  }),
);
