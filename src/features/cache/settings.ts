import { TEN_YEARS_MS } from "../../config/duration.ts";
import { type ForeignKeys, foreignAdvice, says } from "../../config/foreign-names.ts";
import { list } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { cidr, duration, flag, integer, size, word, workFolder } from "../../config/scalars.ts";

/** Keys of `server.cache`. */
export const FOREIGN_CACHE_KEYS: readonly ForeignKeys[] = [
  says(
    "stale_while_revalidate stale_if_error",
    "the upstream says so in Cache-Control, such as stale-while-revalidate=30",
  ),
];

/** `cache.disk`. docs/cache.md#on-disk */
const cacheDisk = block(
  {
    path: {
      type: workFolder(),
      required: "a folder for stored responses, such as /var/cache/edge",
      example: "/var/cache/edge",
      doc: "the folder of this gateway alone; edge makes it if its parent exists",
    },
    max_bytes: { type: size(1_048_576, 214_748_364_800), default: "1GiB", doc: "most bytes of all files together" },
  },
  {},
);

/** Off unless `enabled` is true. docs/cache.md */
export const cache = block(
  {
    enabled: { type: flag(), default: false, doc: "true: edge stores responses" },
    default_ttl: {
      type: duration(0, TEN_YEARS_MS),
      default: "60s",
      doc: "how long edge keeps a response that does not say; 0s: not at all",
    },
    max_entries: {
      type: integer(1, 100_000_000),
      default: 1000,
      doc: "most stored responses; beyond it edge evicts the least recently used",
    },
    max_payload_size: {
      type: size(1, 1_073_741_824),
      default: "1MiB",
      field: "maxPayloadBytes",
      doc: "largest response that edge stores",
    },
    max_bytes: { type: size(1, 4_293_918_720), default: "256MiB", doc: "memory of all stored responses together" },
    eviction: {
      type: word("lru", "s3fifo"),
      default: "lru",
      doc: "which entries go first: lru, the least recently used, or s3fifo, the rarely used",
    },
    cookies: {
      type: word("share", "bypass"),
      default: "share",
      doc: "bypass: responses that involve cookies are stored only with public or s-maxage",
    },
    purge_from: {
      type: list(cidr(), "networks"),
      example: ["192.0.2.10"],
      doc: "clients whose PURGE you accept; none by default",
    },
    disk: {
      type: cacheDisk,
      absent: null,
      restart: "everywhere",
      doc: "a folder, so that stored responses survive a restart; none by default",
    },
    status_key: {
      type: flag(),
      default: false,
      doc: "true: Cache-Status shows the key of each response, for development",
    },
  },
  {
    misplaced: new Map(foreignAdvice(FOREIGN_CACHE_KEYS)),
    notes: ["Stale responses: as the upstream's Cache-Control says, stale-while-revalidate=30 and stale-if-error=60."],
    check(values, { log, path }) {
      const { disk } = values;
      if (values.enabled && disk !== null && values.max_payload_size > disk.max_bytes / 4)
        log.warn(
          [...path, "max_payload_size"],
          "is above a quarter of disk.max_bytes: such responses are not kept on disk",
        );
      if (values.enabled && values.max_payload_size > values.max_bytes)
        log.warn([...path, "max_payload_size"], "is above max_bytes: responses of that size are never stored");
    },
  },
);

export type CacheConfig = ConfigOf<typeof cache>;
