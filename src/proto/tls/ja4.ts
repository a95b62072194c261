import { createHash } from "node:crypto";
import type { ClientPeer } from "../../message/client-peer.ts";

/** Fingerprints that a thread remembers: there are few clients, and most of them put their extensions into another order each time. */
const MAX_REMEMBERED = 1024;
const NO_HASH = "000000000000";
const HASH_CHARS = 12;
const MAX_COUNT = 99;
/** Two bytes at least each, of 16 KiB; and the lengths of two lists. */
const MAX_CODES = 8194;
const MAX_REMEMBERED_CODES = 256;
const FEW = 64;

/**
 * The JA4 fingerprint of a client's handshake over TCP; "" in clear text, over HTTP/3, and for a configuration that asks for none. It is
 * made at the first question, once a connection. docs/fingerprints.md
 */
export function ja4Of(peer: ClientPeer): string {
  if (peer.hello !== null) {
    peer.ja4 = ja4(peer.hello);
    peer.hello = null;
  }
  return peer.ja4;
}

/**
 * The JA4 fingerprint of a ClientHello: `t13d1516h2_8daaf6152771_e5627efa2ab1`. GREASE (RFC 8701) is left out; of a ClientHello that
 * hides another one (ECH), the outer counts.
 * @param message with its header of four bytes, in order: `readClientHello` has taken it
 */
export function ja4(message: Uint8Array): string {
  const at = 4;
  let from = at + 34;
  from += 1 + message[from]!;
  const ciphers = putCodes(message, from + 2, from + 2 + word(message, from), 1);
  codes[0] = ciphers - 1;
  sort(1, ciphers);
  from += 2 + word(message, from);
  from += 1 + message[from]!;
  const facts: Facts = { version: word(message, at), hasName: false, alpn: "00", count: 0, signaturesAt: 0, end: 0 };
  facts.end = ciphers + 1;
  if (from + 2 <= message.length) readExtensions(message, from + 2, facts);
  const listed = facts.end;
  codes[ciphers] = listed - ciphers - 1;
  sort(ciphers + 1, listed);
  const { version, hasName, alpn, signaturesAt } = facts;
  const end = signaturesAt === 0 ? listed : putSignatures(message, signaturesAt, listed);
  return `t${VERSIONS.get(version) ?? "00"}${hasName ? "d" : "i"}${counted(ciphers - 1)}${counted(facts.count)}${alpn}_${hashed(ciphers, listed, end)}`;
}

/** The facts of the extensions. */
interface Facts {
  version: number;
  hasName: boolean;
  alpn: string;
  /** Extensions, all of them. */
  count: number;
  /** Where those of signature_algorithms are; 0 for none. */
  signaturesAt: number;
  /** Behind the types in `codes`. */
  end: number;
}

function readExtensions(bytes: Uint8Array, first: number, facts: Facts): void {
  for (let at = first; at + 4 <= bytes.length; ) {
    const type = word(bytes, at);
    const from = at + 4;
    at = from + word(bytes, at + 2);
    if (isGrease(type)) continue;
    facts.count++;
    if (type === SERVER_NAME) facts.hasName = true;
    else if (type === APPLICATION_PROTOCOLS) facts.alpn = endsOf(bytes.subarray(from + 3, from + 3 + bytes[from + 2]!));
    else codes[facts.end++] = type;
    if (type === SIGNATURES) facts.signaturesAt = from;
    else if (type === SUPPORTED_VERSIONS) facts.version = newest(bytes, from + 1, at, facts.version);
  }
}

/** The largest of the versions; `otherwise` if there are none but GREASE. */
function newest(bytes: Uint8Array, from: number, to: number, otherwise: number): number {
  let found = -1;
  for (let at = from; at + 2 <= to; at += 2) {
    const code = word(bytes, at);
    if (code > found && !isGrease(code)) found = code;
  }
  return found < 0 ? otherwise : found;
}

function putSignatures(bytes: Uint8Array, at: number, end: number): number {
  return putCodes(bytes, at + 2, at + word(bytes, at - 2), end);
}

/** First and last character of a protocol's name, or of its hexadecimal digits if one of them is no letter or digit. */
function endsOf(name: Uint8Array): string {
  const [first, last] = [name[0]!, name.at(-1)!];
  if (isAlphanumeric(first) && isAlphanumeric(last)) return String.fromCharCode(first, last);
  return (first >> 4).toString(16) + (last & 15).toString(16);
}

function isAlphanumeric(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

/** Two bytes each, without GREASE, from `codes[end]` on. @returns the place behind them */
function putCodes(bytes: Uint8Array, from: number, to: number, end: number): number {
  let place = end;
  for (let at = from; at + 2 <= to; at += 2) {
    const code = word(bytes, at);
    if (!isGrease(code)) codes[place++] = code;
  }
  return place;
}

/** Sorts `codes[from, to)`: there are mostly fewer than twenty. */
function sort(from: number, to: number): void {
  if (to - from > FEW) {
    codes.subarray(from, to).sort();
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const code = codes[i]!;
    let at = i;
    for (; at > from && codes[at - 1]! > code; at--) codes[at] = codes[at - 1]!;
    codes[at] = code;
  }
}

/** RFC 8701 §2: 0x0a0a, 0x1a1a, to 0xfafa. */
function isGrease(code: number): boolean {
  return (code & 0x0f0f) === 0x0a0a && code >> 8 === (code & 0xff);
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

function counted(count: number): string {
  const shown = Math.min(count, MAX_COUNT);
  return shown < 10 ? `0${shown}` : `${shown}`;
}

function hex(from: number, to: number): string {
  let text = "";
  for (let i = from; i < to; i++) text += `${text === "" ? "" : ","}${(codes[i]! + 0x10000).toString(16).slice(1)}`;
  return text;
}

/**
 * Both hashes of the lists in `codes`: ciphers before `ciphers`, types of extensions before `listed`, signature schemes before `end`. A
 * combination is hashed once for all its clients.
 */
function hashed(ciphers: number, listed: number, end: number): string {
  const lists = String.fromCharCode.apply(null, codes.subarray(0, end) as unknown as number[]);
  const known = remembered.get(lists);
  if (known !== undefined) return known;
  const ended = end === listed ? "" : `_${hex(listed, end)}`;
  const both = `${hash(hex(1, ciphers))}_${hash(hex(ciphers + 1, listed) + ended)}`;
  // Bounded memory: no browser has so many.
  if (end > MAX_REMEMBERED_CODES) return both;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(lists, both);
  return both;
}

function hash(list: string): string {
  if (list === "") return NO_HASH;
  return createHash("sha256").update(list).digest("hex").slice(0, HASH_CHARS);
}

/** The code points of one ClientHello, each list with its length before it; one for all, since nothing waits in between. */
const codes = new Uint16Array(MAX_CODES);
const remembered: Map<string, string> = new Map();
const SERVER_NAME = 0;
const SIGNATURES = 13;
const APPLICATION_PROTOCOLS = 16;
const SUPPORTED_VERSIONS = 43;
const VERSIONS: ReadonlyMap<number, string> = new Map([
  [0x0304, "13"],
  [0x0303, "12"],
  [0x0302, "11"],
  [0x0301, "10"],
  [0x0300, "s3"],
  [0x0002, "s2"],
]);
