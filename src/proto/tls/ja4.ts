import { createHash } from "node:crypto";
import type { ClientPeer } from "../../message/client-peer.ts";

/** Fingerprints that a thread remembers: there are few clients, and most of them put their extensions into another order each time. */
const MAX_REMEMBERED = 1024;
const NO_HASH = "000000000000";
const HASH_CHARS = 12;
const MAX_COUNT = 99;

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
  const legacy = word(message, at);
  let from = at + 34;
  from += 1 + message[from]!;
  const ciphers = codes(message, from + 2, from + 2 + word(message, from));
  from += 2 + word(message, from);
  from += 1 + message[from]!;
  const facts: Facts = { version: legacy, hasName: false, alpn: "00", extensions: [], signatures: [] };
  if (from + 2 <= message.length) readExtensions(message, from + 2, facts);
  const { version, hasName, alpn, extensions, signatures } = facts;
  const head = `t${VERSIONS.get(version) ?? "00"}${hasName ? "d" : "i"}${count(ciphers)}${count(extensions)}${alpn}`;
  const listed = extensions.filter((type) => type !== SERVER_NAME && type !== APPLICATION_PROTOCOLS);
  const ended = signatures.length === 0 ? "" : `_${hex(signatures)}`;
  const hashes = `${hex(ciphers.toSorted(upward))} ${extensions.length === 0 ? "" : hex(listed.toSorted(upward)) + ended}`;
  return `${head}_${hashed(hashes)}`;
}

/** What is gathered of a ClientHello. */
interface Facts {
  version: number;
  hasName: boolean;
  alpn: string;
  readonly extensions: number[];
  signatures: number[];
}

function readExtensions(bytes: Uint8Array, first: number, facts: Facts): void {
  for (let at = first; at + 4 <= bytes.length; ) {
    const type = word(bytes, at);
    const from = at + 4;
    const to = from + word(bytes, at + 2);
    at = to;
    if (isGrease(type)) continue;
    facts.extensions.push(type);
    if (type === SERVER_NAME) facts.hasName = true;
    else if (type === APPLICATION_PROTOCOLS) facts.alpn = endsOf(bytes.subarray(from + 3, from + 3 + bytes[from + 2]!));
    else if (type === SIGNATURES) facts.signatures = codes(bytes, from + 2, to);
    else if (type === SUPPORTED_VERSIONS) {
      const versions = codes(bytes, from + 1, to);
      if (versions.length > 0) facts.version = Math.max(...versions);
    }
  }
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

/** Two bytes each, without GREASE. */
function codes(bytes: Uint8Array, from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = from; at + 2 <= to; at += 2) {
    const code = word(bytes, at);
    if (!isGrease(code)) found.push(code);
  }
  return found;
}

/** RFC 8701 §2: 0x0a0a, 0x1a1a, to 0xfafa. */
function isGrease(code: number): boolean {
  return (code & 0x0f0f) === 0x0a0a && code >> 8 === (code & 0xff);
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

function count({ length }: readonly number[]): string {
  return String(Math.min(length, MAX_COUNT)).padStart(2, "0");
}

function upward(a: number, b: number): number {
  return a - b;
}

function hex(list: readonly number[]): string {
  let text = "";
  for (const code of list) text += `${text === "" ? "" : ","}${(code + 0x10000).toString(16).slice(1)}`;
  return text;
}

/** Both hashes of the two lists. A list is hashed once for all its clients. */
function hashed(lists: string): string {
  const known = remembered.get(lists);
  if (known !== undefined) return known;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const both = lists.split(" ").map(hash).join("_");
  remembered.set(lists, both);
  return both;
}

function hash(list: string): string {
  if (list === "") return NO_HASH;
  return createHash("sha256").update(list).digest("hex").slice(0, HASH_CHARS);
}

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
