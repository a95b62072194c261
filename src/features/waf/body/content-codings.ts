import { MAX_CONTENT_CODINGS, MAX_INFLATION, MIN_INFLATED_BYTES } from "../../../core/limits.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { HeaderId } from "../../../message/header-id.ts";
import { inflate, Packing } from "./inflater.ts";

/** What is in a body with a Content-Encoding. */
export interface Content {
  /** Its first bytes; none where the codings could not be undone, or none is known. */
  readonly bytes: Uint8Array;
  /** Whether there is more, or it grew by more than MAX_INFLATION. */
  readonly isCut: boolean;
  /** Whether one of the codings could not be undone, or not by every reader alike. */
  readonly isBroken: boolean;
}

/**
 * The codings of a body that are known, in the order in which they were applied; others are passed over. RFC 9110 §8.4. Some
 * applications look for a word in the field.
 */
export function codingsOf(headers: HeaderBlock): readonly Packing[] {
  let i = headers.find(HeaderId.ContentEncoding);
  if (i < 0) return NO_CODINGS;
  const found: Packing[] = [];
  for (; i >= 0; i = headers.find(HeaderId.ContentEncoding, i + 1)) {
    for (const [word] of headers.valueText(i).toLowerCase().matchAll(WORDS)) found.push(PACKINGS.get(word)!);
  }
  return found;
}

/** Whether there are more of them than are undone. */
export function areTooMany(codings: readonly Packing[]): boolean {
  return codings.length > MAX_CONTENT_CODINGS;
}

/**
 * Undoes the codings of the first bytes of a body.
 * @param maxBytes most bytes of content
 */
export function contentOf(codings: readonly Packing[], packed: Uint8Array, maxBytes: number): Content {
  const allowed = packed.length * MAX_INFLATION;
  const limit = Math.min(maxBytes, Math.max(allowed, MIN_INFLATED_BYTES));
  let bytes = packed;
  let isCut = false;
  let isBroken = false;
  for (let i = codings.length - 1; i >= Math.max(0, codings.length - MAX_CONTENT_CODINGS); i--) {
    const content = inflate(codings[i]!, bytes, limit);
    isCut ||= content.isCut || content.bytes.length > allowed;
    isBroken ||= content.isBroken;
    // What is there of a wrong label is inspected as it stands.
    if (content.bytes.length > 0) bytes = content.bytes;
  }
  return { bytes: bytes === packed ? NO_BYTES : bytes, isCut, isBroken };
}

/**
 * Bytes to hold of a body beyond those that are inspected: a block of zstd gives nothing until it is complete. RFC 8878 §3.1.1.2.4
 */
export function extraBytes(headers: HeaderBlock): number {
  return headers.find(HeaderId.ContentEncoding) >= 0 && codingsOf(headers).includes(Packing.Zstd)
    ? ZSTD_BLOCK_BYTES
    : 0;
}

const PACKINGS: ReadonlyMap<string, Packing> = new Map([
  ["gzip", Packing.Gzip],
  ["deflate", Packing.Deflate],
  ["br", Packing.Brotli],
  ["zstd", Packing.Zstd],
]);
const WORDS = /gzip|deflate|zstd|\bbr\b/g;
const NO_CODINGS: readonly Packing[] = [];
const NO_BYTES: Uint8Array = new Uint8Array(0);
/** The largest block, with the heads of frame and block. */
const ZSTD_BLOCK_BYTES = 131_072 + 64;
