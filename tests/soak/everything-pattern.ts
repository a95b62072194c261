import { createHash } from "node:crypto";

/** Bytes that follow from a seed, so that both ends know what a body must be without telling each other. */
export function patternOf(seed: string, size: number): Buffer {
  return Buffer.alloc(size, `${seed};`);
}

/** What a head says of its body. */
export function digestOf(bytes: Uint8Array): string {
  return createHash("sha1").update(bytes).digest("hex");
}
