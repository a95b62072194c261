import { textField } from "../../core/event-row.ts";

/** What bodies that are kept in files write to the log. docs/bodies.md */
export const INGEST_EVENTS = {
  spool_failed: {
    level: "error",
    meaning: "A large body could not be written to disk. The client got 503.",
    advice: "Make room in `folder`, or set `proxy.transport.max_spooled_bytes`.",
    perSecond: 1,
    fields: { folder: textField("the folder"), reason: textField("why, such as ENOSPC") },
  },
} as const;
