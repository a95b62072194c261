import { formatAddress, isMappedV4, parseAddress } from "../../core/ip-address.ts";

/** Which kind of address a key is of; 0 is none. */
export const enum KeyKind {
  None = 0,
  V4 = 4,
  V6 = 6,
}

/**
 * What bans go by: an IPv4 address, or the /64 of an IPv6 address, since one subscriber has all of it. One object for each thread, which each
 * lookup writes anew.
 */
export class BanKey {
  kind: KeyKind = KeyKind.None;
  /** The address, or the upper half of the /64. */
  high = 0;
  /** The lower half of the /64; 0 of IPv4. */
  low = 0;

  /** @returns false for another text */
  read(address: string): boolean {
    if (!parseAddress(address, octets)) {
      this.kind = KeyKind.None;
      return false;
    }
    if (isMappedV4(octets)) this.set(KeyKind.V4, word(12), 0);
    else this.set(KeyKind.V6, word(0), word(4));
    return true;
  }

  set(kind: KeyKind, high: number, low: number): void {
    this.kind = kind;
    this.high = high;
    this.low = low;
  }

  /** Whether it is of loopback: 127.0.0.0/8, and the /64 of ::1. */
  get isLoopback(): boolean {
    return this.kind === KeyKind.V4 ? this.high >>> 24 === 127 : this.high === 0 && this.low === 0;
  }

  /** As it is listed: `192.0.2.7`, `2001:db8::/64`. */
  get text(): string {
    if (this.kind === KeyKind.V4) return formatAddress(put(MAPPED, this.high, 0));
    return `${formatAddress(put(EMPTY, this.high, this.low))}/64`;
  }
}

function put(base: readonly number[], high: number, low: number): Uint8Array {
  const bytes = new Uint8Array(base);
  const view = new DataView(bytes.buffer);
  view.setUint32(base === MAPPED ? 12 : 0, high);
  if (base === EMPTY) view.setUint32(4, low);
  return bytes;
}

function word(at: number): number {
  return ((octets[at]! << 24) | (octets[at + 1]! << 16) | (octets[at + 2]! << 8) | octets[at + 3]!) >>> 0;
}

const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
const EMPTY: readonly number[] = new Array<number>(16).fill(0);
/** One for all, since nothing waits in between. */
const octets = new Uint8Array(16);
