/** Span over which requests and retries are compared. */
const WINDOW_MS = 10_000;
/** Retries a request, on average over the window. */
const RETRY_SHARE = 0.2;
/** Retries a second that are allowed however few requests there are. */
const FLOOR_PER_SECOND = 10;

/**
 * Keeps retries from multiplying the load when everything fails: over the last seconds a worker retries at most a fifth
 * of a route's requests, and a few a second besides. One failing target of three stays far below; an outage adds a fifth
 * to the load instead of doubling it. Counts are of this window and the one before, the latter fading out.
 */
export class RetryBudget {
  private windowFromMs = 0;
  private requests = 0;
  private retries = 0;
  private olderRequests = 0;
  private olderRetries = 0;

  /** Notes a request, at its first attempt. */
  noteRequest(nowMs: number): void {
    if (nowMs - this.windowFromMs >= WINDOW_MS) this.turn(nowMs);
    this.requests++;
  }

  /** Whether a retry may be made now; whoever makes it calls `noteRetry`. */
  allows(nowMs: number): boolean {
    if (nowMs - this.windowFromMs >= WINDOW_MS) this.turn(nowMs);
    const fading = 1 - (nowMs - this.windowFromMs) / WINDOW_MS;
    const requests = this.requests + this.olderRequests * fading;
    const retries = this.retries + this.olderRetries * fading;
    return retries < requests * RETRY_SHARE + (FLOOR_PER_SECOND * WINDOW_MS) / 1000;
  }

  noteRetry(): void {
    this.retries++;
  }

  private turn(nowMs: number): void {
    const isNext = nowMs - this.windowFromMs < 2 * WINDOW_MS;
    this.olderRequests = isNext ? this.requests : 0;
    this.olderRetries = isNext ? this.retries : 0;
    this.requests = 0;
    this.retries = 0;
    this.windowFromMs = isNext ? this.windowFromMs + WINDOW_MS : nowMs;
  }
}
