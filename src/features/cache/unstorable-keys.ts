import type { CacheKey } from "./store/cache-key.ts";

/**
 * Remembers the keys of responses that were not to be stored: to let their requests wait for each other would make them
 * slower and nothing faster. One worker's memory of the last few thousand, by hash: a mistake costs a fetch.
 */
export class UnstorableKeys {
  private readonly hashes: Int32Array = new Int32Array(PLACES);
  private readonly untilS: Int32Array = new Int32Array(PLACES);

  has(key: CacheKey, nowMs: number): boolean {
    const hash = mix(key.uriHash, key.variantHash);
    const place = hash & (PLACES - 1);
    return this.hashes[place] === hash && this.untilS[place]! > nowMs / 1000;
  }

  add(key: CacheKey, nowMs: number): void {
    const hash = mix(key.uriHash, key.variantHash);
    const place = hash & (PLACES - 1);
    this.hashes[place] = hash;
    this.untilS[place] = nowMs / 1000 + REMEMBERED_S;
  }

  remove(key: CacheKey): void {
    const hash = mix(key.uriHash, key.variantHash);
    const place = hash & (PLACES - 1);
    if (this.hashes[place] === hash) this.untilS[place] = 0;
  }
}

function mix(one: number, other: number): number {
  return (one ^ Math.imul(other, 0x9e3779b1)) | 0;
}

const PLACES = 4096;
const REMEMBERED_S = 30;
