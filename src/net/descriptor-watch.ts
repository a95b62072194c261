import { readFileSync } from "node:fs";
import { lowestDescriptor } from "./descriptors.ts";

/** The least number of client connections that `max_connections: auto` comes to. */
const MIN_AUTO_CONNECTIONS = 16;
/** Descriptors that `max_connections: auto` leaves for origins, files and logs: a quarter of them, and so many at most. */
const MAX_RESERVED_DESCRIPTORS = 4096;

/** The limit of open descriptors of this process, RLIMIT_NOFILE; infinite where the system does not tell. proc(5). */
export function descriptorLimit(): number {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return found === null ? Number.POSITIVE_INFINITY : Number(found[1]);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Client connections that there may be at a time.
 * @param wanted `max_connections`; 0 for `auto`, which is what the limit of descriptors leaves room for
 */
export function connectionLimit(wanted: number, descriptors: number = descriptorLimit()): number {
  if (wanted > 0) return wanted;
  const reserved = Math.min(Math.ceil(descriptors / 4), MAX_RESERVED_DESCRIPTORS);
  return Math.max(MIN_AUTO_CONNECTIONS, descriptors - reserved);
}

/** Whether descriptors run short: then nothing more is to be accepted, since accept(2) would fail again and again. */
export class DescriptorWatch {
  private readonly highest: number;

  /** @param limit of the process */
  constructor(limit: number) {
    this.highest = limit - Math.min(MAX_LEFT, Math.max(MIN_LEFT, Math.ceil(limit / 16)));
  }

  /**
   * A new descriptor is the lowest that is free, so that its number says how many there are at least. Listeners that are paused have
   * given back low ones, which they take again: some more must be free.
   */
  isShort(): boolean {
    if (this.highest === Number.POSITIVE_INFINITY) return false;
    const lowest = lowestDescriptor(PROBED);
    return lowest < 0 || lowest >= this.highest;
  }
}

const PROBED = 4;
/** Descriptors that are left when nothing more is accepted. */
const MIN_LEFT = 8;
const MAX_LEFT = 256;
