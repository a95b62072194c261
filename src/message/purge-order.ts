/** What is to be removed from caches; softly, it is stale from now on. It survives structured clone and JSON. docs/cache.md#purge */
export type PurgeOrder = { readonly isSoft: boolean } & PurgeScope;

/** Which stored responses a purge means. */
export type PurgeScope =
  | { readonly kind: "all" }
  /** All responses of one resource, or of all whose target begins so; "" as authority means any. */
  | { readonly kind: "uri" | "prefix"; readonly authority: string; readonly target: string }
  /** All that have one of these tags. */
  | { readonly kind: "tags"; readonly tags: readonly string[] };
