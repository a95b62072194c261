import { NetworkSet } from "../../core/network-set.ts";
import type { ClientPlaces } from "../../message/ports.ts";
import { RememberedNetworks } from "./remembered-networks.ts";
import type { IpRules } from "./settings.ts";

/** Which clients are admitted. */
export interface AddressRules {
  /**
   * Whether requests from this address are served.
   * @param address "" if the peer was gone before it could be asked for: it cannot be matched;
   *   UNKNOWN_CLIENT, which is in no list
   */
  admit(address: string): boolean;
}

/** By networks: `deny` is checked first; where `allow` is not empty, all others are refused. */
class NetworkRules implements AddressRules {
  private readonly allow: RememberedNetworks;
  private readonly deny: RememberedNetworks;

  constructor(rules: IpRules) {
    this.allow = new RememberedNetworks(new NetworkSet(rules.allow));
    this.deny = new RememberedNetworks(new NetworkSet(rules.deny));
  }

  admit(address: string): boolean {
    if (address === "") return false;
    if (!this.deny.isEmpty() && this.deny.has(address)) return false;
    return this.allow.isEmpty() || this.allow.has(address);
  }
}

/**
 * The same where countries and autonomous systems are named too: what is in one of the lists that deny is refused; if there is a
 * list that allows, of networks or of countries, all that is in neither is. docs/guards.md#countries-and-networks
 */
class PlaceRules implements AddressRules {
  private readonly allow: RememberedNetworks;
  private readonly deny: RememberedNetworks;
  private readonly places: ClientPlaces;
  private readonly allowCountries: ReadonlySet<string>;
  private readonly denyCountries: ReadonlySet<string>;
  private readonly denyAsns: ReadonlySet<number>;

  constructor(rules: IpRules, places: ClientPlaces) {
    this.allow = new RememberedNetworks(new NetworkSet(rules.allow));
    this.deny = new RememberedNetworks(new NetworkSet(rules.deny));
    this.places = places;
    this.allowCountries = new Set(rules.allowCountries);
    this.denyCountries = new Set(rules.denyCountries);
    this.denyAsns = new Set(rules.denyAsns);
  }

  admit(address: string): boolean {
    if (address === "" || this.deny.has(address)) return false;
    const country = this.places.countryOf(address);
    if (this.denyCountries.has(country) || this.denyAsns.has(this.places.asnOf(address))) return false;
    if (this.allow.isEmpty() && this.allowCountries.size === 0) return true;
    return this.allowCountries.has(country) || this.allow.has(address);
  }
}

/** The rules of a server or a route, or null if there are none. */
export function addressRules(rules: IpRules, places: ClientPlaces): AddressRules | null {
  const { allow, deny, allowCountries, denyCountries, denyAsns } = rules;
  if (allowCountries.length + denyCountries.length + denyAsns.length > 0) return new PlaceRules(rules, places);
  return allow.length + deny.length === 0 ? null : new NetworkRules(rules);
}
