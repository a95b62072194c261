import type { IpRules } from "../../config/runtime-config.ts";
import { NetworkSet } from "../../shared/cidr.ts";
import { RememberedNetworks } from "./remembered-networks.ts";

/** Which clients are admitted. `deny` is checked first; where `allow` is not empty, all others are refused. */
export class AddressRules {
  private readonly allow: RememberedNetworks;
  private readonly deny: RememberedNetworks;

  constructor(rules: IpRules) {
    this.allow = new RememberedNetworks(new NetworkSet(rules.allow));
    this.deny = new RememberedNetworks(new NetworkSet(rules.deny));
  }

  /**
   * Whether requests from this address are served.
   * @param address "" where the peer was gone before it could be asked for: it cannot be matched;
   *   UNKNOWN_CLIENT, which is in no list
   */
  admit(address: string): boolean {
    if (address === "") return false;
    if (!this.deny.isEmpty() && this.deny.has(address)) return false;
    return this.allow.isEmpty() || this.allow.has(address);
  }
}

/** The rules of a server or a route, or null where there are none. */
export function addressRules(rules: IpRules): AddressRules | null {
  return rules.allow.length + rules.deny.length === 0 ? null : new AddressRules(rules);
}
