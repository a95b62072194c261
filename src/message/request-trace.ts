/** The trace that a request belongs to, with the ids of its spans. Objects are used again. docs/tracing.md */
export class RequestTrace {
  readonly traceId: Uint8Array = new Uint8Array(16);
  /** The span of the request; its parent is the caller's. */
  readonly spanId: Uint8Array = new Uint8Array(8);
  readonly parentId: Uint8Array = new Uint8Array(8);
  /** The span of the request to the origin, or of the function that responds. */
  readonly clientSpanId: Uint8Array = new Uint8Array(8);
  /** Whether the caller has told of its span. */
  hasParent = false;
  /** Those of `traceparent`. */
  flags = 0;
  /** Whether origins learn of it. */
  propagates = false;
  /** Whether its spans are recorded. */
  sampled = false;
  /** When it was handed to what responds, in milliseconds of `performance.now()`; -1 before. */
  dispatchedMs = -1;
}
