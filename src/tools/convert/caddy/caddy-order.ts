import { EFFORT } from "../effort.ts";
import type { Statement } from "../statement.ts";
import { endsRequest } from "./caddy-ends.ts";
import type { Matchers } from "./caddy-matchers.ts";

/** Facts that decide the order of directives. */
interface OrderFacts {
  readonly matchers: Matchers;
  /** Directives that end a request, in the order in which they are asked. */
  readonly order: readonly string[];
}

/**
 * The directives of a block that end requests, in the order in which Caddy asks them: by name, then the longer of two single paths, then
 * those with a matcher in front of those without. A matcher of several paths, or of none, keeps its place in the file beside one of a path.
 */
export function inCaddyOrder(statements: readonly Statement[], { matchers, order }: OrderFacts): Statement[] {
  const list = statements
    .filter((one) => endsRequest(one, { order }))
    .map((one) => ({
      one,
      rank: order.indexOf(one.name === "handle_path" ? "handle" : one.name),
      length: matchers.of(one.args[0])?.pathLength ?? -1,
    }));
  const isBefore = (a: (typeof list)[number], b: (typeof list)[number]): boolean => {
    if (a.rank !== b.rank) return a.rank < b.rank;
    return a.length > 0 && b.length > 0 ? a.length > b.length : a.length >= 0 && b.length < 0;
  };
  return sortedInBlocks(list, isBefore).map(({ one }) => one);
}

/** As many directives are sorted by insertion; their order is no order of pairs, so the way in which they are compared counts. */
const BLOCK = 20;

/** A stable sort by insertion in blocks, which are merged. */
function sortedInBlocks<T>(list: readonly T[], isBefore: (a: T, b: T) => boolean): T[] {
  let blocks: T[][] = [];
  for (let from = 0; from < list.length; from += BLOCK) {
    const block = list.slice(from, from + BLOCK);
    EFFORT.take(block.length * block.length);
    for (let i = 1; i < block.length; i++)
      for (let j = i; j > 0 && isBefore(block[j]!, block[j - 1]!); j--)
        [block[j - 1], block[j]] = [block[j]!, block[j - 1]!];
    blocks.push(block);
  }
  while (blocks.length > 1) {
    EFFORT.take(list.length);
    const pairs: T[][] = [];
    for (let i = 0; i < blocks.length; i += 2) pairs.push(merged(blocks[i]!, blocks[i + 1] ?? [], isBefore));
    blocks = pairs;
  }
  return blocks[0] ?? [];
}

function merged<T>(a: readonly T[], b: readonly T[], isBefore: (a: T, b: T) => boolean): T[] {
  const all: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) all.push(isBefore(b[j]!, a[i]!) ? b[j++]! : a[i++]!);
  return [...all, ...a.slice(i), ...b.slice(j)];
}
