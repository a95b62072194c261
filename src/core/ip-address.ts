/** IP addresses as 16 octets, an IPv4 address as `::ffff:a.b.c.d`, and their texts. */

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

/** 4 or 6 for the text of an address of that version, 0 for any other text. An IPv6 address may have a zone: `fe80::1%eth0`. */
export function ipVersion(text: string): 0 | 4 | 6 {
  // Each connection to an origin asks; nothing but digits and dots is an IPv4 address.
  if (text.indexOf(":") < 0) return parseV4(text, 0, text.length, SCRATCH, 0) ? 4 : 0;
  const zone = text.indexOf("%");
  if (zone >= 0 && !/^[0-9A-Za-z.:-]+$/.test(text.slice(zone + 1))) return 0;
  return parseAddress(text, SCRATCH) ? 6 : 0;
}

const SCRATCH = new Uint8Array(16);

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

/** End of the hexadecimal digits from `from` on. */
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

/**
 * The one text of an address: IPv4, mapped addresses among them, in dotted decimals, IPv6 as RFC 5952 §4 has it.
 * @param bytes holds 16 octets from `from` on
 */
export function formatAddress(bytes: ArrayLike<number>, from = 0): string {
  if (isMappedV4(bytes, from)) {
    return `${bytes[from + 12]}.${bytes[from + 13]}.${bytes[from + 14]}.${bytes[from + 15]}`;
  }
  const gap = longestGap(bytes, from);
  let text = "";
  for (let group = 0; group < 8; group++) {
    if (group === gap.at) {
      text += "::";
      group += gap.length - 1;
      continue;
    }
    if (text !== "" && !text.endsWith(":")) text += ":";
    text += groupAt(bytes, from, group).toString(16);
  }
  return text;
}

/**
 * The one text of an IPv6 address in brackets, as it is in a Host field: `[0:0::1]` is `[::1]`. RFC 3986 §3.2.2.
 * @returns "" for any other text
 */
export function hostLiteral(text: string): string {
  const octets = new Uint8Array(16);
  const inner = text.slice(1, -1);
  if (!text.startsWith("[") || !text.endsWith("]") || !inner.includes(":") || inner.includes("%")) return "";
  if (!parseAddress(inner, octets)) return "";
  if (!isMappedV4(octets)) return `[${formatAddress(octets)}]`;
  return `[::ffff:${groupAt(octets, 0, 6).toString(16)}:${groupAt(octets, 0, 7).toString(16)}]`;
}

/** A host as it is before a port: IPv6 addresses in brackets, anything else as it is. RFC 3986 §3.2.2. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** `127.0.0.1:80`, `[::1]:80`. */
export function hostAndPort(host: string, port: number): string {
  return `${bracketed(host)}:${port}`;
}

/** Whether a socket at an address is one for every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Whether a host, with or without brackets, can only be this machine: `localhost`, 127.0.0.0/8 and ::1. */
export function isThisMachine(host: string): boolean {
  return (
    host === "localhost" || host === "::1" || host === "[::1]" || (host.startsWith("127.") && ipVersion(host) === 4)
  );
}

/** Whom an address belongs to: of IPv6 its /64, since one subscriber has all of it; else the address itself. */
export function subscriberOf(address: string): string {
  if (!address.includes(":") || !parseAddress(address, SCRATCH)) return address;
  return isMappedV4(SCRATCH) ? SCRATCH.subarray(12).join(".") : SCRATCH.subarray(0, 8).toHex();
}

/** The network that a signed cookie is bound to: the /24 of an IPv4 address, the /64 of an IPv6 one; else the text itself. */
export function networkAddress(address: string): string {
  const subscriber = subscriberOf(address);
  return subscriber.includes(".") ? subscriber.slice(0, subscriber.lastIndexOf(".")) : subscriber;
}

/**
 * The name of an address in the reverse tree. RFC 1035 §3.5, RFC 3596 §2.5, RFC 8738 §6.
 * @returns "" for a text that is no address
 */
export function reverseName(address: string): string {
  const octets = new Uint8Array(16);
  if (!parseAddress(address, octets)) return "";
  if (isMappedV4(octets)) return `${octets[15]}.${octets[14]}.${octets[13]}.${octets[12]}.in-addr.arpa`;
  return `${[...Buffer.from(octets).toString("hex")].reverse().join(".")}.ip6.arpa`;
}

/** Whether the 16 octets from `from` on are an IPv4 address: they begin like `::ffff:0:0/96`. */
export function isMappedV4(bytes: ArrayLike<number>, from = 0): boolean {
  for (let i = 0; i < 10; i++) {
    if (bytes[from + i] !== 0) return false;
  }
  return bytes[from + 10] === 0xff && bytes[from + 11] === 0xff;
}

/** The longest run of two or more groups of 0, the first of equals; at -1 if there is none. */
function longestGap(bytes: ArrayLike<number>, from: number): { at: number; length: number } {
  const best = { at: -1, length: 1 };
  let run = 0;
  for (let group = 0; group < 8; group++) {
    run = groupAt(bytes, from, group) === 0 ? run + 1 : 0;
    if (run <= best.length) continue;
    best.length = run;
    best.at = group - run + 1;
  }
  return best;
}

function groupAt(bytes: ArrayLike<number>, from: number, group: number): number {
  return (bytes[from + group * 2]! << 8) | bytes[from + group * 2 + 1]!;
}

const ZERO = 0x30;
const NINE = 0x39;
const DOT = 0x2e;
const COLON = 0x3a;
const LOWER_A = 0x61;
const LOWER_F = 0x66;
