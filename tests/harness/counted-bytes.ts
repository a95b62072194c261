/** How often bytes have been read. */
export interface ReadCount {
  reads: number;
}

/** Bytes that count each read by an index, as inspection reads them; native searches of them are not counted. */
export function countedBytes(bytes: Uint8Array, count: ReadCount): Uint8Array {
  return new Proxy(bytes, {
    get(target, key) {
      if (typeof key === "string" && key.charCodeAt(0) < 0x3a) {
        count.reads++;
        return target[Number(key)];
      }
      const member = Reflect.get(target, key);
      return typeof member === "function" ? member.bind(target) : member;
    },
    set(target, key, byte) {
      target[Number(key)] = byte;
      return true;
    },
  });
}
