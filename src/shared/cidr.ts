/** A network as the configuration holds it: 16 octets, an IPv4 network as `::ffff:a.b.c.d` with 96 added to `bits`. */
export interface Network {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/**
 * Networks that an address may lie in. IPv4 addresses, be they written as such or mapped (`::ffff:10.0.0.1`), lie in
 * IPv4 networks only, and IPv6 addresses in IPv6 networks only: `::/0` is every IPv6 address and no IPv4 address.
 */
export class NetworkSet {
  private readonly v4: readonly Network[];
  private readonly v6: readonly Network[];

  constructor(networks: readonly Network[]) {
    this.v4 = networks.filter(isV4);
    this.v6 = networks.filter((network) => !isV4(network));
  }

  /** Whether there is no network at all. */
  isEmpty(): boolean {
    return this.v4.length === 0 && this.v6.length === 0;
  }

  /**
   * Whether the address lies in one of the networks.
   * @param address an IPv4 or IPv6 address without a port; a zone (`%eth0`) is passed over; false for anything else
   */
  has(address: string): boolean {
    if (this.isEmpty() || !parseAddress(address, parsed)) return false;
    const networks = startsMapped(parsed) ? this.v4 : this.v6;
    for (let i = 0; i < networks.length; i++) {
      if (contains(networks[i]!, parsed)) return true;
    }
    return false;
  }
}

/**
 * Reads an address into 16 octets, IPv4 as `::ffff:a.b.c.d`. RFC 4291 §2.2; IPv4 octets as RFC 3986 §3.2.2 has them,
 * so that `010.0.0.1`, octal to some, is no address.
 * @returns false when the text is no address; `into` holds anything then
 */
export function parseAddress(text: string, into: Uint8Array): boolean {
  const zone = text.indexOf("%");
  const to = zone < 0 ? text.length : zone;
  into.fill(0);
  if (text.indexOf(":") >= 0) return parseV6(text, to, into);
  into[10] = 0xff;
  into[11] = 0xff;
  return zone < 0 && parseV4(text, 0, to, into, 12);
}

function parseV4(text: string, from: number, to: number, into: Uint8Array, at: number): boolean {
  let octets = 0;
  let digits = 0;
  let value = 0;
  for (let i = from; i <= to; i++) {
    const c = i < to ? text.charCodeAt(i) : DOT;
    if (c >= ZERO && c <= NINE) {
      if (digits > 0 && value === 0) return false;
      value = value * 10 + c - ZERO;
      digits++;
      if (value > 255) return false;
    } else if (c === DOT && digits > 0 && octets < 4) {
      into[at + octets++] = value;
      digits = 0;
      value = 0;
    } else {
      return false;
    }
  }
  return octets === 4;
}

function parseV6(text: string, to: number, into: Uint8Array): boolean {
  let at = 0;
  let gap = -1;
  let i = 0;
  if (text.startsWith("::")) {
    gap = 0;
    i = 2;
  }
  while (i < to) {
    const end = groupEnd(text, i, to);
    if (end < to && text.charCodeAt(end) === DOT) {
      if (at > 12 || !parseV4(text, i, to, into, at)) return false;
      at += 4;
      i = to;
      break;
    }
    if (end === i || end - i > 4 || at > 14) return false;
    const value = Number.parseInt(text.slice(i, end), 16);
    into[at++] = value >> 8;
    into[at++] = value & 0xff;
    if (end === to) break;
    if (text.charCodeAt(end) !== COLON || end + 1 === to) return false;
    i = end + 1;
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return false;
      gap = at;
      i++;
    }
  }
  if (gap < 0) return at === 16;
  if (at > 14) return false;
  into.copyWithin(16 - (at - gap), gap, at);
  into.fill(0, gap, 16 - (at - gap));
  return true;
}

/** Where the hexadecimal digits from `from` on end. */
function groupEnd(text: string, from: number, to: number): number {
  let i = from;
  while (i < to) {
    const c = text.charCodeAt(i);
    const lower = c | 0x20;
    if (!((c >= ZERO && c <= NINE) || (lower >= LOWER_A && lower <= LOWER_F))) break;
    i++;
  }
  return i;
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
  return network.bits >= 96 && startsMapped(network.bytes);
}

/** Whether the octets begin like `::ffff:0:0/96`. */
function startsMapped(bytes: ArrayLike<number>): boolean {
  for (let i = 0; i < 10; i++) {
    if (bytes[i] !== 0) return false;
  }
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

const ZERO = 0x30;
const NINE = 0x39;
const DOT = 0x2e;
const COLON = 0x3a;
const LOWER_A = 0x61;
const LOWER_F = 0x66;
/** Where `has` reads an address to; one for all, since nothing waits in between. */
const parsed = new Uint8Array(16);
