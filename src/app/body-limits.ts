import type { RuntimeConfig } from "../config/runtime-config.ts";
import { DEFAULT_SPOOLED_BYTES } from "../core/limits.ts";
import { freeSpoolBytes } from "../features/ingest/spool-file.ts";
import type { BodyLimits } from "../shared/body-budget.ts";

/** The limits of held bodies. Where `max_spooled_bytes` is `auto`, half of what the disk has free, 16 GiB at most. */
export function bodyLimitsOf({ proxy }: RuntimeConfig): BodyLimits {
  const { maxBufferedBytes, maxBufferedShare, maxSpooledBytes } = proxy.transport;
  const diskBytes = maxSpooledBytes > 0 ? maxSpooledBytes : Math.min(DEFAULT_SPOOLED_BYTES, freeSpoolBytes() / 2);
  return { memoryBytes: maxBufferedBytes, share: maxBufferedShare, diskBytes };
}
