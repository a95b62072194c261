import { trimmed } from "../../core/trimming.ts";
import { type HeaderBlock, HeaderId, HeaderIdSet } from "../../message/header-block.ts";

/**
 * The names by which a response may be removed together with others: those of `Cache-Tag`, parted by commas, and those of
 * `Surrogate-Key`, parted by spaces. docs/cache.md#tags
 */
export function tagsOf(headers: HeaderBlock): ReadonlySet<string> {
  if (!headers.mayHave(TAGGING)) return NONE;
  const tags = new Set<string>();
  for (let i = 0; i < headers.count; i++) {
    const separator =
      headers.ids[i] === HeaderId.CacheTag ? COMMAS : headers.ids[i] === HeaderId.SurrogateKey ? SPACES : null;
    if (separator === null) continue;
    for (const part of headers.valueText(i).split(separator)) {
      const tag = trimmed(part, " \t");
      if (tag !== "") tags.add(tag);
    }
  }
  return tags;
}

/**
 * A signature of tags in 32 bits, 2 a tag: an entry without the bits of a tag does not have that tag. With it in each slot the
 * store needs no other index of tags, which would have to be bounded.
 */
export function signatureOf(tags: Iterable<string>): number {
  let signature = 0;
  for (const tag of tags) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < tag.length; i++) hash = Math.imul(hash ^ tag.charCodeAt(i), 0x01000193);
    hash ^= hash >>> 15;
    signature |= (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31));
  }
  return signature;
}

const TAGGING = new HeaderIdSet([HeaderId.CacheTag, HeaderId.SurrogateKey]);
const NONE: ReadonlySet<string> = new Set();
const COMMAS = ",";
const SPACES = /[ \t]+/;
