/**
 * The slot of a key in a Redis cluster: CRC-16/XMODEM of it, or of what is between its first braces, modulo 16384. Redis Cluster
 * Specification, "Key distribution model".
 */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed, "utf8")) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ ((crc & 0x8000) === 0 ? 0 : 0x1021)) & 0xffff;
  }
  return crc % SLOTS;
}

const SLOTS = 16_384;
