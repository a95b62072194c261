import { closeSync, openSync } from "node:fs";
import { isDescriptorShortage } from "../core/shortage.ts";

/**
 * The descriptor that would be given last of the next few: its number says how many there are at least.
 * @param count how many, 1 and up: a few low ones may just have become free
 * @returns -1 if there are not so many
 */
export function lowestDescriptor(count = 1): number {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync("/dev/null", "r"));
    return opened.at(-1)!;
  } catch (error) {
    return isDescriptorShortage((error as { code?: unknown }).code) ? -1 : 0;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}
