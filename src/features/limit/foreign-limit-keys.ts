import { type ForeignKeys, means } from "../../config/foreign-names.ts";

/** Keys of `rate_limit`. */
export const FOREIGN_LIMIT_KEYS: readonly ForeignKeys[] = [
  means("rate average limit count events", ["requests"]),
  means("per period interval", ["window"]),
  means("zone by source", ["key"]),
];
