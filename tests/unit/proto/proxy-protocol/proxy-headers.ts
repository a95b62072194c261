/** Makes a version 2 header: `block` is what stands behind the fixed part. */
export function binaryHeader(command: number, family: number, block: Uint8Array): Buffer {
  const fixed = Buffer.from("\r\n\r\n\0\r\nQUIT\n????", "latin1");
  fixed[12] = command;
  fixed[13] = family;
  fixed.writeUInt16BE(block.length, 14);
  return Buffer.concat([fixed, block]);
}

/** Addresses and ports of a TCP connection over IPv4, then TLVs. */
export function v4Block(source: string, port: number, tlvs: Uint8Array = new Uint8Array(0)): Buffer {
  const octets = [...source.split("."), 192, 0, 2, 80].map(Number);
  return Buffer.concat([Uint8Array.from([...octets, port >> 8, port & 255, 1, 187]), tlvs]);
}

/** The same over IPv6; `source` is 32 hexadecimal digits. */
export function v6Block(source: string, port: number, tlvs: Uint8Array = new Uint8Array(0)): Buffer {
  const ports = Uint8Array.from([port >> 8, port & 255, 1, 187]);
  return Buffer.concat([Buffer.from(source, "hex"), Buffer.alloc(16, 0x20), ports, tlvs]);
}

/** A TLV. */
export function tlv(type: number, value: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(type, value.length >> 8, value.length & 255), value]);
}

export const LOCAL = 0x20;
export const PROXY = 0x21;
export const TCP4 = 0x11;
export const TCP6 = 0x21;
