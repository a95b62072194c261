import type { KeyRules } from "./key-rules.ts";

/** What a route says of its responses in the cache. */
export interface CachePolicy {
  /** For responses that do not say how long they are fresh. */
  readonly defaultTtlMs: number;
  /** Largest body that is stored. */
  readonly maxPayloadBytes: number;
  /** Whether its responses carry a request id. */
  readonly namesRequests: boolean;
  /** Whether answers to requests with Cookie, and those with Set-Cookie, are shared only if they say so. */
  readonly bypassesCookies: boolean;
  /** Whether every TLS client has shown a certificate. */
  readonly demandsCertificates: boolean;
  /** Whether a stored response is sent only while the handler would give the same: files, which can change at any time. */
  readonly isConfirmed: boolean;
  /** Names of identity fields that every client may send, in lower case: what answers them is for their client. */
  readonly passedFields: readonly string[];
  /** Whether requests may change between their look-up and the origin: see Asked. */
  readonly mayChange: boolean;
  /** What it says of its keys; null for nothing. */
  readonly key: KeyRules | null;
}
