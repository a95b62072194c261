import { number, text } from "../../core/event-row.ts";

/** What the cache writes to the log. docs/cache.md#on-disk */
export const CACHE_EVENTS = {
  cache_disk_open: {
    meaning: "The folder of `cache.disk` is in use, at the start or again.",
    advice: "Nothing.",
    fields: {
      path: text("the folder"),
      entries: number("responses that are there"),
      bytes: number("bytes that they take"),
    },
  },
  cache_disk_failed: {
    level: "warn",
    meaning:
      "The folder of `cache.disk` cannot be used, or is full. The cache goes on in memory. One line until it can be used again.",
    advice: "See the disk: space, permissions, errors. The cache goes on in memory.",
    fields: { path: text("the folder"), reason: text("why, such as ENOSPC") },
  },
} as const;
