/** Whether eight bytes are `HTTP/1.1`, as almost always; the caller has made sure that they are there. RFC 9112 §2.3. */
export function isHttp11(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at] === 0x48 &&
    bytes[at + 1] === 0x54 &&
    bytes[at + 2] === 0x54 &&
    bytes[at + 3] === 0x50 &&
    bytes[at + 4] === 0x2f &&
    bytes[at + 5] === 0x31 &&
    bytes[at + 6] === 0x2e &&
    bytes[at + 7] === 0x31
  );
}
