import { parseAddress } from "./ip-address.ts";

/** How many bits of an address are shown. */
export interface MaskBits {
  readonly v4: number;
  readonly v6: number;
}

/** Addresses as logs, traces and operators' pages show them: with the last bits as zeros, where `access_log.mask_ip` says so. */
export class ShownAddresses {
  /** Null while addresses are shown whole. */
  bits: MaskBits | null = null;
  /** Clients send many requests. */
  private readonly known: Map<string, string> = new Map();
  private readonly octets: Uint8Array = new Uint8Array(16);

  /** Takes other settings; null shows addresses whole. */
  take(bits: MaskBits | null): void {
    this.bits = bits;
    this.known.clear();
  }

  /** An address as it is shown; a text that is no address stays as it is. */
  of(address: string): string {
    const { bits } = this;
    if (bits === null) return address;
    const known = this.known.get(address);
    if (known !== undefined) return known;
    const shown = this.masked(address, bits);
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.set(address, shown);
    return shown;
  }

  /** A text with every address in it as it is shown, such as the value of X-Forwarded-For. */
  within(text: string): string {
    if (this.bits === null) return text;
    return text.replace(CANDIDATES, (found) => {
      // One colon is before a port; more are an IPv6 address.
      const port = found.indexOf(":");
      return port < 1 || found.indexOf(":", port + 1) >= 0
        ? this.of(found)
        : this.of(found.slice(0, port)) + found.slice(port);
    });
  }

  private masked(address: string, { v4, v6 }: MaskBits): string {
    const { octets } = this;
    if (!parseAddress(address, octets)) return address;
    const isV4 = !address.includes(":") || MAPPED.test(address);
    const from = isV4 ? 12 : 0;
    for (let i = from; i < 16; i++) {
      const kept = Math.min(8, Math.max(0, (isV4 ? v4 : v6) - (i - from) * 8));
      octets[i]! &= (0xff << (8 - kept)) & 0xff;
    }
    if (isV4) return octets.subarray(12).join(".");
    const groups = Array.from({ length: 8 }, (_, i) => ((octets[i * 2]! << 8) | octets[i * 2 + 1]!).toString(16));
    return shortened(groups);
  }
}

/** RFC 5952 §4.2: the longest run of zeros is left out. */
function shortened(groups: readonly string[]): string {
  let [best, length] = [0, 0];
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (groups[to] === "0") to++;
    if (to - from > length) [best, length] = [from, to - from];
  }
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, best).join(":")}::${groups.slice(best + length).join(":")}`;
}

const MAX_KNOWN = 4096;
const MAPPED = /^::ffff:\d+\.\d+\.\d+\.\d+$/i;
/** Candidates for addresses; others stay. */
const CANDIDATES = /[0-9a-fA-F.:]+/g;
