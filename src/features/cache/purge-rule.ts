import { HeaderBlock } from "../../message/header-block.ts";
import type { PurgeOrder } from "../../message/purge-order.ts";
import { signatureOf, tagsOf } from "./tags.ts";

/** What the thread of the disk is asked to take out. */
export interface DiskPurge {
  readonly order: PurgeOrder;
  /** The time from which on entries are stale; -1 if they are removed. */
  readonly staleSinceMs: number;
}

/**
 * Which entries an order means.
 * @returns `matches` judges the first half of a key (authority, NUL, target), and, where tags matter, the head that `readHead` gives;
 *   `tags` are signatures, one of which an entry must have; null where tags do not matter
 */
export function purgeRule(order: PurgeOrder): {
  readonly tags: readonly number[] | null;
  matches(uri: Buffer, readHead: (block: HeaderBlock) => void): boolean;
} {
  if (order.kind === "all") return { tags: null, matches: () => true };
  if (order.kind === "tags") {
    const block = new HeaderBlock();
    const matches = (_uri: Buffer, readHead: (block: HeaderBlock) => void): boolean => {
      readHead(block);
      const own = tagsOf(block);
      return order.tags.some((tag) => own.has(tag));
    };
    return { tags: order.tags.map((tag) => signatureOf([tag])), matches };
  }
  const authority = Buffer.from(order.authority.toLowerCase(), "latin1");
  const target = Buffer.from(order.target, "latin1");
  const matches = (uri: Buffer): boolean => {
    const end = uri.indexOf(0);
    if (authority.length > 0 && !authority.equals(uri.subarray(0, end))) return false;
    const own = uri.subarray(end + 1);
    return order.kind === "uri" ? target.equals(own) : target.equals(own.subarray(0, target.length));
  };
  return { tags: null, matches };
}

/** Whether an entry with this signature may have one of these tags. */
export function mayHaveTag(own: number, wanted: readonly number[] | null): boolean {
  return wanted === null || (own !== 0 && wanted.some((signature) => (own & signature) === signature));
}
