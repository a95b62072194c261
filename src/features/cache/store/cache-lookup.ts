/** How a key stands in the memory of the cache. */
export const enum LookupKind {
  Nothing = 0,
  Fresh,
  /** A response whose time is over. */
  Stale,
  /** Nothing yet: another fetches it. */
  Filling,
  /** The cache cannot be asked now. */
  Busy,
}

/** A fetch of a key that is under way. */
export interface CacheFetch {
  /** The slot that it fills. */
  readonly slot: number;
  /** Its end is told by this. */
  readonly generation: number;
  /** Whether this look-up has claimed it: its caller fetches, or gives it up. */
  readonly isOwn: boolean;
}

/**
 * What a look-up has found. Its caller gets what it names: an entry is pinned for it, and a fetch of its own is to be ended
 * by it.
 */
export type CacheLookup =
  | { readonly kind: LookupKind.Fresh; readonly entry: number }
  | StaleLookup
  | { readonly kind: LookupKind.Filling; readonly fetch: CacheFetch }
  | { readonly kind: LookupKind.Nothing; readonly fetch: CacheFetch | null }
  | { readonly kind: LookupKind.Busy };

/** A response whose time is over, and who fetches another; null if no one does. */
export interface StaleLookup {
  readonly kind: LookupKind.Stale;
  readonly entry: number;
  readonly fetch: CacheFetch | null;
}

/** The lock could not be had. */
export const BUSY: CacheLookup = { kind: LookupKind.Busy };
