import { ipVersion, parseAddress } from "../../core/ip-address.ts";
import { EFFORT } from "./effort.ts";

/**
 * A network with nothing set beyond its prefix, which other gateways pass over: `10.1.2.3/8` is `10.0.0.0/8`. What is no
 * network stays as it is.
 */
export function networkFrom(text: string): string {
  const parts = /^([\d.]+|[\da-fA-F:.]+)\/(\d{1,3})$/.exec(text);
  if (parts === null) return text;
  const [, address = "", length = ""] = parts;
  const version = ipVersion(address);
  const bits = version === 4 ? 32 : 128;
  const kept = Number(length);
  if (version === 0 || kept > bits) return text;
  return version === 4 ? `${masked4(address, kept)}/${kept}` : masked6(address, kept, text);
}

function masked4(address: string, kept: number): string {
  const value = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - kept);
  const network = Math.floor(value / size) * size;
  return [24, 16, 8, 0].map((shift) => Math.floor(network / 2 ** shift) % 256).join(".");
}

function masked6(address: string, kept: number, text: string): string {
  if (address.includes(".")) return text;
  const [head = "", tail] = address.split("::");
  const groups = (part: string | undefined): string[] => (part === undefined || part === "" ? [] : part.split(":"));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all =
    tail === undefined ? groups(head) : [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)];
  const plain = all.map((group, i) => {
    const own = Math.max(0, Math.min(16, kept - i * 16));
    const size = 2 ** (16 - own);
    return Math.floor(Number.parseInt(group, 16) / size) * size;
  });
  const isSame = plain.every((value, i) => value === Number.parseInt(all[i]!, 16));
  return isSame ? text : `${plain.map((value) => value.toString(16)).join(":")}/${kept}`;
}

/** The networks and addresses that two lists have in common, each as one of the lists writes it. */
export function commonNetworks(a: readonly string[], b: readonly string[]): string[] {
  const common = a.flatMap((one) =>
    b.flatMap((other) => (holdsNetwork(other, one) ? [one] : holdsNetwork(one, other) ? [other] : [])),
  );
  return [...new Set(common)];
}

/** Whether every address of the narrow network is in the wide one. What is no network is in itself alone. */
export function holdsNetwork(wide: string, narrow: string): boolean {
  EFFORT.take(1);
  if (wide === narrow) return true;
  const outer = knownBits(wide);
  const inner = knownBits(narrow);
  if (outer === null || inner === null) return false;
  return inner.startsWith(outer);
}

/** Read once: lists of networks are compared with each other. */
function knownBits(text: string): string | null {
  const known = BITS.get(text);
  if (known !== undefined) return known;
  const bits = bitsOf(text);
  if (BITS.size > MAX_KNOWN) BITS.clear();
  BITS.set(text, bits);
  return bits;
}

const BITS = new Map<string, string | null>();
const MAX_KNOWN = 10_000;

/** The bits of a network's prefix behind a mark of its version; null for what is no network. */
function bitsOf(text: string): string | null {
  const [, address = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = ipVersion(address);
  if (version === 0) return null;
  const bytes = new Uint8Array(16);
  if (!parseAddress(address, bytes)) return null;
  const kept = Number(length ?? (version === 4 ? 32 : 128));
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return version === 4 ? `4${bits.slice(96, 96 + kept)}` : `6${bits.slice(0, kept)}`;
}
