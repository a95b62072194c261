import { numberField, textField } from "../../core/event-row.ts";

/** What the cache writes to the log. docs/cache.md#on-disk */
export const CACHE_EVENTS = {
  cache_disk_open: {
    meaning: "The folder of `cache.disk` is in use, at the start or again.",
    advice: "You do not need to do anything.",
    fields: {
      path: textField("the folder"),
      entries: numberField("responses that are there"),
      bytes: numberField("bytes that they take"),
    },
  },
  cache_disk_failed: {
    level: "warn",
    meaning:
      "The folder of `cache.disk` cannot be used, or is full. The cache goes on in memory. One line until it can be used again.",
    advice: "Check your disk: space, permissions, errors. The cache goes on in memory.",
    fields: { path: textField("the folder"), reason: textField("why, such as ENOSPC") },
  },
} as const;
