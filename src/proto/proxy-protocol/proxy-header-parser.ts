import { Byte, latin1 } from "../../core/bytes.ts";
import { formatAddress, parseAddress } from "../../core/ip-address.ts";
import { TlvReader } from "./tlv-reader.ts";
import { COMMAND_AT, FAMILY_AT, FIXED_BYTES, LENGTH_AT, LOCAL, PROXY, SIGNATURE } from "./version-2.ts";

/** What the bytes so far come to. */
export const enum ProxyHeader {
  NeedMore = 0,
  /** The header is complete; what follows it is at `consumed`. */
  Complete,
  /** This is no PROXY header: the connection must be closed. */
  Malformed,
}

/**
 * Reads the header that a load balancer puts before the bytes of a connection, so that the gateway learns the client behind
 * it: the PROXY protocol, versions 1 (a line of text) and 2 (binary), as HAProxy's proxy-protocol.txt has them.
 * Bytes may come in any pieces; 107 are kept at most.
 */
export class ProxyHeaderParser {
  /** The client's address in its one spelling; "" if the header tells none (UNKNOWN, LOCAL, UNIX, datagrams). */
  sourceAddress = "";
  sourcePort = 0;
  /** Where the next protocol's bytes begin in the piece that completed the header. */
  consumed = 0;
  private readonly held: Buffer = Buffer.alloc(MAX_LINE_BYTES);
  private length = 0;
  /** Bytes of a version 2 header that say nothing to us and are still to come, the TLVs among them. */
  private skipping = 0;
  /** Bytes of a version 2 header that are kept: its fixed part, and the addresses if it has some. */
  private wanted = FIXED_BYTES;
  /** Null if the rest of the block has no meaning: LOCAL, and addresses of no family. */
  private tlvs: TlvReader | null = null;

  /** Takes the next piece, `bytes[from, to)`. Not to be called again after anything but NeedMore. */
  push(bytes: Uint8Array, from: number, to: number): ProxyHeader {
    for (let at = from; at < to; ) {
      if (this.skipping > 0) {
        const count = Math.min(this.skipping, to - at);
        this.skip(bytes, at, at + count);
        at += count;
        if (this.skipping > 0) break;
        return this.complete(at);
      }
      this.held[this.length++] = bytes[at++]!;
      const outcome = this.held[0] === LINE_START[0] ? this.stepLine() : this.stepBinary();
      if (outcome === ProxyHeader.Complete) return this.complete(at);
      if (outcome === ProxyHeader.Malformed) return outcome;
    }
    return ProxyHeader.NeedMore;
  }

  private complete(at: number): ProxyHeader {
    this.consumed = at;
    return this.tlvs?.isInOrder === false ? ProxyHeader.Malformed : ProxyHeader.Complete;
  }

  private skip(bytes: Uint8Array, from: number, to: number): void {
    const { tlvs } = this;
    const tlvBytes = this.blockBytes() - this.addressBytes();
    for (let at = from; tlvs !== null && at < to; at++) {
      if (this.skipping - (at - from) > tlvBytes) tlvs.skip(bytes[at]!);
      else tlvs.push(bytes[at]!);
    }
    this.skipping -= to - from;
  }

  /** Version 1 (proxy-protocol.txt, 2.1): looks at the byte that came last. */
  private stepLine(): ProxyHeader {
    const { held, length } = this;
    const last = held[length - 1];
    if (length <= LINE_START.length) return last === LINE_START[length - 1] ? ProxyHeader.NeedMore : BAD;
    const isBehindCr = held[length - 2] === Byte.Cr;
    if (isBehindCr || last === Byte.Lf) return isBehindCr && last === Byte.Lf ? this.readLine() : BAD;
    return length === MAX_LINE_BYTES ? BAD : ProxyHeader.NeedMore;
  }

  private readLine(): ProxyHeader {
    const line = this.held.latin1Slice(LINE_START.length, this.length - 2);
    // The proxy does not know the client: the rest of the line is to be ignored.
    if (line === "UNKNOWN" || line.startsWith("UNKNOWN ")) return ProxyHeader.Complete;
    const [, family, source, destination, port, destinationPort] = LINE.exec(line) ?? [];
    if (family === undefined || !isPort(port!) || !isPort(destinationPort!)) return BAD;
    if (!isAddress(family, destination!) || !isAddress(family, source!)) return BAD;
    this.sourceAddress = formatAddress(octets);
    this.sourcePort = Number(port);
    return ProxyHeader.Complete;
  }

  /** Version 2 (proxy-protocol.txt, 2.2): looks at the byte that came last, and at what is complete with it. */
  private stepBinary(): ProxyHeader {
    const { held, length } = this;
    const last = held[length - 1]!;
    if (length <= SIGNATURE.length) return last === SIGNATURE[length - 1] ? ProxyHeader.NeedMore : BAD;
    if (length === COMMAND_AT + 1) return last === LOCAL || last === PROXY ? ProxyHeader.NeedMore : BAD;
    if (length === FAMILY_AT + 1 && held[COMMAND_AT] === PROXY) {
      return FAMILIES.includes(last) ? ProxyHeader.NeedMore : BAD;
    }
    if (length === FIXED_BYTES) {
      if (this.addressBytes() > this.blockBytes()) return BAD;
      this.wanted += this.tellsClient() ? this.addressBytes() : 0;
    }
    if (length < this.wanted) return ProxyHeader.NeedMore;
    if (length > FIXED_BYTES) this.readAddress();
    if (this.addressBytes() > 0) this.tlvs = new TlvReader();
    for (let at = 0; at < length; at++) this.tlvs?.skip(held[at]!);
    this.skipping = this.blockBytes() - (length - FIXED_BYTES);
    return this.skipping === 0 ? ProxyHeader.Complete : ProxyHeader.NeedMore;
  }

  /** Bytes after the fixed part: the addresses and the TLVs. */
  private blockBytes(): number {
    return this.held.readUInt16BE(LENGTH_AT);
  }

  /** Bytes of the addresses; 0 if there are none, or if they have no meaning. */
  private addressBytes(): number {
    return this.held[COMMAND_AT] === PROXY ? ADDRESS_BYTES[this.held[FAMILY_AT]! >> 4]! : 0;
  }

  /** Whether the addresses are those of a TCP connection: LOCAL, UNIX sockets and datagrams tell no client. */
  private tellsClient(): boolean {
    const family = this.held[FAMILY_AT];
    return this.held[COMMAND_AT] === PROXY && (family === TCP_OVER_V4 || family === TCP_OVER_V6);
  }

  private readAddress(): void {
    const { held } = this;
    const isV4 = held[FAMILY_AT] === TCP_OVER_V4;
    const size = isV4 ? 4 : 16;
    octets.fill(0);
    if (isV4) octets.fill(0xff, 10, 12);
    octets.set(held.subarray(FIXED_BYTES, FIXED_BYTES + size), 16 - size);
    this.sourceAddress = formatAddress(octets);
    this.sourcePort = held.readUInt16BE(FIXED_BYTES + size * 2);
  }
}

/** Whether the text is an address of the family; `octets` holds it then. */
function isAddress(family: string, text: string): boolean {
  return text.includes(":") === (family === "6") && parseAddress(text, octets);
}

function isPort(text: string): boolean {
  return Number(text) <= 65535 && (text === "0" || text[0] !== "0");
}

const BAD = ProxyHeader.Malformed;
const LINE_START: Uint8Array = latin1("PROXY ");
/** The longest line of version 1, CRLF included. */
const MAX_LINE_BYTES = 107;
const LINE = /^TCP([46]) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) (\d{1,5}) (\d{1,5})$/;

const TCP_OVER_V4 = 0x11;
const TCP_OVER_V6 = 0x21;
/** No family, and streams and datagrams over IPv4, IPv6 and UNIX sockets: whatever else stands there is to be refused. */
const FAMILIES: readonly number[] = [0x00, TCP_OVER_V4, 0x12, TCP_OVER_V6, 0x22, 0x31, 0x32];
/** Bytes of two addresses and their ports, by family. */
const ADDRESS_BYTES: readonly number[] = [0, 12, 36, 216];
const octets = new Uint8Array(16);
