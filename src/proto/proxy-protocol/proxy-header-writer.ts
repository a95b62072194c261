import { isMappedV4, parseAddress } from "../../core/ip-address.ts";
import { COMMAND_AT, FAMILY_AT, FIXED_BYTES, LENGTH_AT, LOCAL, PROXY, SIGNATURE } from "./version-2.ts";

/** One end of a connection; an address of "" is not known. */
interface ProxyEnd {
  readonly address: string;
  readonly port: number;
}

/**
 * Makes the header by which a server learns the client of a connection that is forwarded to it: the PROXY protocol, versions 1 and 2, as
 * HAProxy's proxy-protocol.txt has them (2.1, 2.2). If an address is not known it says so: UNKNOWN, or LOCAL.
 * @param destination where the client connected to
 * @param isDatagram whether datagrams are forwarded; version 2 alone can say that
 */
export function proxyHeader(
  version: "v1" | "v2",
  source: ProxyEnd,
  destination: ProxyEnd,
  isDatagram = false,
): Uint8Array {
  const isKnown = parseAddress(source.address, from) && parseAddress(destination.address, to);
  // Both are of one family: where one is of IPv6, the other is written as such.
  const isV4 = isKnown && isMappedV4(from) && isMappedV4(to);
  return version === "v1"
    ? lineHeader(isKnown, isV4, source.port, destination.port)
    : binaryHeader(isKnown, isV4, source.port, destination.port, isDatagram);
}

function lineHeader(isKnown: boolean, isV4: boolean, sourcePort: number, destinationPort: number): Uint8Array {
  if (!isKnown) return Buffer.from("PROXY UNKNOWN\r\n", "latin1");
  const text = isV4 ? dotted : colons;
  const line = `PROXY TCP${isV4 ? 4 : 6} ${text(from)} ${text(to)} ${sourcePort} ${destinationPort}\r\n`;
  return Buffer.from(line, "latin1");
}

function binaryHeader(
  isKnown: boolean,
  isV4: boolean,
  sourcePort: number,
  destinationPort: number,
  isDatagram: boolean,
): Uint8Array {
  const size = isV4 ? 4 : 16;
  const block = isKnown ? 2 * size + 4 : 0;
  const header = Buffer.alloc(FIXED_BYTES + block);
  header.set(SIGNATURE);
  header[COMMAND_AT] = isKnown ? PROXY : LOCAL;
  header.writeUInt16BE(block, LENGTH_AT);
  if (!isKnown) return header;
  header[FAMILY_AT] = ((isV4 ? 1 : 2) << 4) | (isDatagram ? 2 : 1);
  header.set(from.subarray(16 - size), FIXED_BYTES);
  header.set(to.subarray(16 - size), FIXED_BYTES + size);
  header.writeUInt16BE(sourcePort, FIXED_BYTES + 2 * size);
  header.writeUInt16BE(destinationPort, FIXED_BYTES + 2 * size + 2);
  return header;
}

function dotted(octets: Uint8Array): string {
  return octets.subarray(12).join(".");
}

/** All eight groups, which every reader takes. */
function colons(octets: Uint8Array): string {
  return Array.from({ length: 8 }, (_, i) => ((octets[2 * i]! << 8) | octets[2 * i + 1]!).toString(16)).join(":");
}

const from = new Uint8Array(16);
const to = new Uint8Array(16);
