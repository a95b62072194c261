import type { RuntimeConfig } from "../config/runtime-config.ts";
import { canSpool } from "../features/ingest/spool-file.ts";

/** What whoever reads the log should know of a start: each becomes a `start` event. */
export function startNotes(config: RuntimeConfig, usingDefaults: boolean): { readonly note: string }[] {
  const notes: { note: string }[] = [];
  if (usingDefaults) notes.push({ note: "no config.yaml found: embedded defaults, loopback only" });
  const { enabled: isSidecar } = config.sidecar;
  const normalizes = config.routes.some(
    (route) => route.type === "upstream" && route.inboundChunkedMode === "normalize",
  );
  if ((normalizes || isSidecar) && !canSpool()) {
    const bodies = isSidecar ? "request bodies" : "chunked request bodies";
    notes.push({ note: `no temporary folder (TMPDIR, /tmp) can be written: ${bodies} over 1 MiB get 503` });
  }
  return notes;
}
