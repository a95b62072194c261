import { closeSync, openSync } from "node:fs";
import { isDescriptorShortage } from "../core/shortage.ts";

/**
 * The lowest descriptor that is free: its number says how many there are at least.
 * @returns -1 where none is left
 */
export function lowestDescriptor(): number {
  try {
    const fd = openSync("/dev/null", "r");
    closeSync(fd);
    return fd;
  } catch (error) {
    return isDescriptorShortage((error as { code?: unknown }).code) ? -1 : 0;
  }
}
