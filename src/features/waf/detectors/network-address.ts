import { Byte, HEX_VALUE, isDigit, sliceText } from "../../../core/bytes.ts";
import { parseAddress } from "../../../core/ip-address.ts";
import { WordSet } from "../match/word-set.ts";

/** What kind of place a host is. */
export const enum HostKind {
  Other = 0,
  /** An address of the public Internet. */
  Address,
  Loopback,
  Internal,
  /** Where clouds keep credentials. */
  Metadata,
  /** A domain that resolves to any address that is written into it, or that tells attackers of visits. */
  Callback,
}

/** What was found out of a host. */
export class HostReading {
  kind: HostKind = HostKind.Other;
  /** Whether an address is obfuscated: one number, octal, hexadecimal, with parts left out. */
  isObfuscated = false;

  /** Reads the host, without a port, in `bytes[from, to)`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    this.kind = HostKind.Other;
    this.isObfuscated = false;
    if (bytes[from] === Byte.LeftBracket) this.readV6(bytes, from + 1, to);
    else if (isDigit(bytes[from]!)) this.readV4(bytes, from, to);
    if (this.kind === HostKind.Other) this.readName(bytes, from, to);
  }

  /** As inet_aton does: one to four numbers, decimal, octal or hexadecimal; the last takes the rest of the 32 bits. */
  private readV4(bytes: Uint8Array, from: number, to: number): void {
    let address = 0;
    let parts = 0;
    let at = from;
    let isPlain = true;
    // Some take parts modulo 256.
    let isTooLarge = false;
    for (;;) {
      const isHex = bytes[at] === Byte.Zero && bytes[at + 1] === Byte.LowerX;
      const isOctal = !isHex && bytes[at] === Byte.Zero && at + 1 < to && isDigit(bytes[at + 1]!);
      const base = isHex ? 16 : isOctal ? 8 : 10;
      if (isHex) at += 2;
      const first = at;
      let value = 0;
      while (at < to && HEX_VALUE[bytes[at]!]! < base) value = value * base + HEX_VALUE[bytes[at++]!]!;
      if (at === first || value > MAX_ADDRESS || ++parts > 4) return;
      isPlain &&= base === 10;
      const isLast = at === to || (at + 1 === to && bytes[at] === Byte.Dot);
      isTooLarge ||= value > 255 && (!isLast || parts === 4);
      address = isLast ? address * 256 ** (5 - parts) + value : address * 256 + value;
      if (isLast) break;
      if (bytes[at++] !== Byte.Dot) return;
    }
    this.isObfuscated = !isPlain || parts < 4 || isTooLarge;
    this.kind = kindOfV4(address % 2 ** 32);
  }

  /** In brackets: addresses of this machine, of one's own networks, and IPv4 addresses within IPv6. */
  private readV6(bytes: Uint8Array, from: number, to: number): void {
    let end = from;
    while (end < to && bytes[end] !== Byte.RightBracket) end++;
    if (end - from > MAX_V6 || !parseAddress(sliceText(bytes, from, end), octets)) return;
    const isMapped = octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff;
    const isCompatible = octets.subarray(0, 12).every((octet) => octet === 0) && octets[12] !== 0;
    const isTranslated = octets[0] === 0 && octets[1] === 0x64 && octets[2] === 0xff && octets[3] === 0x9b;
    if (isMapped || isCompatible || isTranslated) {
      this.isObfuscated = true;
      this.kind = kindOfV4(octets[12]! * 2 ** 24 + octets[13]! * 2 ** 16 + octets[14]! * 256 + octets[15]!);
    } else this.kind = kindOfV6();
  }

  private readName(bytes: Uint8Array, from: number, to: number): void {
    const end = bytes[to - 1] === Byte.Dot ? to - 1 : to;
    // The last one, two and three labels.
    let at = end;
    for (let labels = 0; labels < 3 && at > from; labels++) {
      at--;
      while (at > from && bytes[at - 1] !== Byte.Dot) at--;
      const kind = NAMES.valueOf(bytes, at, end);
      if (kind !== 0) this.kind = kind;
      if (at > from) at--;
    }
  }
}

function kindOfV4(address: number): HostKind {
  const first = Math.floor(address / 2 ** 24);
  const second = Math.floor(address / 2 ** 16) % 256;
  if (address === METADATA || address === ALIBABA_METADATA || address === ORACLE_METADATA) return HostKind.Metadata;
  if (first === 127 || first === 0) return HostKind.Loopback;
  const isPrivate = first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168);
  if (isPrivate || (first === 169 && second === 254) || (first === 100 && second >= 64 && second < 128))
    return HostKind.Internal;
  return HostKind.Address;
}

/** The kind of the address in `octets`. */
function kindOfV6(): HostKind {
  const isLow = octets.subarray(0, 15).every((octet) => octet === 0);
  if (isLow && octets[15]! <= 1) return HostKind.Loopback;
  // fd00:ec2::254
  if (octets[0] === 0xfd && octets[1] === 0 && octets[2] === 0x0e && octets[3] === 0xc2) return HostKind.Metadata;
  const isLinkLocal = octets[0] === 0xfe && (octets[1]! & 0xc0) === 0x80;
  return (octets[0]! & 0xfe) === 0xfc || isLinkLocal ? HostKind.Internal : HostKind.Address;
}

const NAMES: WordSet = new WordSet([
  [HostKind.Loopback, "localhost localhost.localdomain ip6-localhost loopback ip6-loopback"],
  [
    HostKind.Metadata,
    "metadata.google.internal metadata.internal instance-data.ec2.internal metadata.azure.internal metadata instance-data rancher-metadata",
  ],
  [
    HostKind.Internal,
    "internal intranet corp lan local localdomain cluster.local svc.cluster.local consul default.svc kubernetes.default kubernetes",
  ],
  [
    HostKind.Callback,
    "nip.io sslip.io xip.io localtest.me lvh.me vcap.me oastify.com burpcollaborator.net interact.sh",
  ],
  [
    HostKind.Callback,
    "oast.fun oast.pro oast.live oast.site oast.online oast.me dnslog.cn ceye.io bxss.me rbndr.us requestrepo.com",
  ],
]);
const MAX_V6 = 45;
const octets: Uint8Array = new Uint8Array(16);
const MAX_ADDRESS = 2 ** 32 - 1;
/** 169.254.169.254, 100.100.100.200 and 192.0.0.192 */
const METADATA = 0xa9fea9fe;
const ALIBABA_METADATA = 0x646464c8;
const ORACLE_METADATA = 0xc00000c0;
