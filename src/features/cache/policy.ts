/** What a route says of its answers in the cache. */
export interface CachePolicy {
  /** For answers that do not say how long they are fresh. */
  readonly defaultTtlMs: number;
  /** Largest body that is stored. */
  readonly maxPayloadBytes: number;
  /** Whether its answers carry a request id. */
  readonly namesRequests: boolean;
}
