import { isMappedV4, parseAddress } from "./ip-address.ts";

/** A network as the configuration holds it: 16 octets, an IPv4 network as `::ffff:a.b.c.d` with 96 added to `bits`. */
export interface Network {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** `bits` of the entry that stands for the clients of UNIX sockets. */
export const NO_BITS = -1;
const UNIX_CLIENT = "unix:";

/**
 * Networks that an address may lie in. IPv4 addresses, be they written as such or mapped (`::ffff:10.0.0.1`), lie in
 * IPv4 networks only, and IPv6 addresses in IPv6 networks only: `::/0` is every IPv6 address and no IPv4 address.
 */
export class NetworkSet {
  private readonly v4: readonly Network[];
  private readonly v6: readonly Network[];
  private readonly hasUnix: boolean;

  constructor(networks: readonly Network[]) {
    this.v4 = networks.filter(isV4);
    this.v6 = networks.filter((network) => network.bits !== NO_BITS && !isV4(network));
    this.hasUnix = networks.some(({ bits }) => bits === NO_BITS);
  }

  /** Whether there is no network at all. */
  isEmpty(): boolean {
    return this.v4.length === 0 && this.v6.length === 0 && !this.hasUnix;
  }

  /**
   * Whether the address lies in one of the networks.
   * @param address an IPv4 or IPv6 address without a port; a zone (`%eth0`) is passed over; false for anything else
   */
  has(address: string): boolean {
    if (this.hasUnix && address === UNIX_CLIENT) return true;
    if (this.isEmpty() || !parseAddress(address, parsed)) return false;
    const networks = isMappedV4(parsed) ? this.v4 : this.v6;
    for (let i = 0; i < networks.length; i++) {
      if (contains(networks[i]!, parsed)) return true;
    }
    return false;
  }
}

/** Values by networks: an address has that of the narrowest network around it. */
export class NetworkValues<T> {
  private readonly rows: readonly (readonly [Network, T])[];

  constructor(rows: readonly (readonly [Network, T])[]) {
    this.rows = rows.toSorted(([a], [b]) => b.bits - a.bits);
  }

  /** @param address as for `NetworkSet.has` @returns undefined if the address lies in none */
  find(address: string): T | undefined {
    if (this.rows.length === 0 || !parseAddress(address, parsed)) return undefined;
    const isMapped = isMappedV4(parsed);
    return this.rows.find(([network]) => isV4(network) === isMapped && contains(network, parsed))?.[1];
  }
}

function contains(network: Network, address: Uint8Array): boolean {
  const whole = network.bits >> 3;
  for (let i = 0; i < whole; i++) {
    if (network.bytes[i] !== address[i]) return false;
  }
  const rest = network.bits & 7;
  if (rest === 0) return true;
  const mask = (0xff << (8 - rest)) & 0xff;
  return (network.bytes[whole]! & mask) === (address[whole]! & mask);
}

function isV4(network: Network): boolean {
  return network.bits >= 96 && isMappedV4(network.bytes);
}

/** Where `has` reads an address to; one for all, since nothing waits in between. */
const parsed = new Uint8Array(16);
