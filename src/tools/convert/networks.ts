import { ipVersion } from "../../core/ip-address.ts";

/**
 * A network with nothing set beyond its prefix, which other gateways pass over: `10.1.2.3/8` is `10.0.0.0/8`. What is no
 * network stays as it is.
 */
export function networkOf(text: string): string {
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
