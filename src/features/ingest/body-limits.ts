import type { BodyLimits } from "../../memory/body-budget.ts";
import { DEFAULT_SPOOLED_BYTES } from "../../memory/body-pool.ts";
import { freeSpoolBytes } from "./spool-file.ts";

/** A configuration, as far as held bodies go by it. */
interface TransportBounds {
  readonly proxy: {
    readonly transport: {
      readonly maxBufferedBytes: number;
      readonly maxBufferedShare: number;
      readonly maxSpooledBytes: number;
    };
  };
}

/**
 * The limits of held bodies. Where `max_spooled_bytes` is `auto`, half of what the disk has free beside such bodies, 16 GiB at
 * most. What is free changes: to be asked again now and then (`dependsOnDisk`).
 * @param spooledBytes what all such bodies take now
 */
export function bodyLimitsOf({ proxy }: TransportBounds, spooledBytes: number): BodyLimits {
  const { maxBufferedBytes, maxBufferedShare, maxSpooledBytes } = proxy.transport;
  const half = (): number => (freeSpoolBytes() + spooledBytes) / 2;
  const diskBytes = maxSpooledBytes > 0 ? maxSpooledBytes : Math.min(DEFAULT_SPOOLED_BYTES, half());
  return { memoryBytes: maxBufferedBytes, share: maxBufferedShare, diskBytes };
}

/** Whether the limits follow what the disk has free. */
export function dependsOnDisk({ proxy }: TransportBounds): boolean {
  return proxy.transport.maxSpooledBytes === 0;
}
