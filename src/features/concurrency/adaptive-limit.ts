/** The setting that leaves the limit to AdaptiveLimit. */
export const AUTO_LIMIT = 0;
/** The largest limit, set or found. */
export const MAX_LIMIT = 1_000_000;

/** Requests that have ended in a window of time. */
interface LimitWindow {
  /** Responses in time, and how long they took together. */
  readonly samples: number;
  readonly sumMs: number;
  /** Requests to which there was no response in time. */
  readonly timeouts: number;
  /** Requests under way now. */
  readonly inFlight: number;
}

/** The first limit: few enough for any server that serves several clients. */
const FIRST_LIMIT = 4;
const MIN_LIMIT = 1;
const MAX_FOUND = 10_000;
/** Samples by which a window is judged, and the time after which fewer will do. */
const MIN_SAMPLES = 10;
const LONGEST_WINDOW_MS = 1000;
/** A mean latency this much above the calm one is no sign of a queue at the server. */
const TOLERANCE = 1.15;
/** The share that one window leaves at least, and the share that a time-out leaves. */
const STEEPEST = 0.5;
const AFTER_TIMEOUT = 0.8;
/** How much of the new limit one window takes over. */
const SMOOTHING = 0.4;
/** How fast it grows while the server shows no sign of a queue: until the first. */
const FIRST_GROWTH = 1.5;
/** The calm latency is the least mean of so many parts of a minute. */
const PARTS = 6;
const PART_MS = 10_000;
/** While requests use the limit up, no window shows the calm latency: fewer come in for a moment, so often and so long. */
const PROBE_EVERY_MS = 30_000;
const PROBE_SAMPLES = 20;
const PROBE_MS = 500;

/**
 * Finds how many requests at once a server takes before they only wait there, by the gradient of its latency: the calm latency divided by
 * the latency now. While the two are alike the limit grows by about the root of itself; when requests take longer, it falls in proportion. Time-outs make it
 * fall, too. The way of Netflix's Gradient2 and Envoy's adaptive concurrency. docs/pressure.md#auto
 */
export class AdaptiveLimit {
  private limit = FIRST_LIMIT;
  private readonly calms: number[] = new Array(PARTS).fill(Number.POSITIVE_INFINITY);
  private partFromMs = Number.NEGATIVE_INFINITY;
  private windowFromMs = Number.NEGATIVE_INFINITY;
  private samples = 0;
  private sumMs = 0;
  private timeouts = 0;
  private isFirst = true;
  private smoothMs = 0;
  private calmSeenMs = Number.NEGATIVE_INFINITY;
  /** The limit before a probe, and after it; 0 without a probe. */
  private heldLimit = 0;
  private probeFromMs = 0;
  private probed = 0;

  /** The limit now, a whole number. */
  get value(): number {
    return Math.max(MIN_LIMIT, Math.round(this.limit));
  }

  /** The latency of the server when it is not busy, in milliseconds; 0 while nothing is known. */
  get calmMs(): number {
    const least = Math.min(...this.calms);
    return Number.isFinite(least) ? least : 0;
  }

  /** Takes the requests that have ended since the last call. @param nowMs of a clock that never goes back */
  note(window: LimitWindow, nowMs: number): void {
    if (this.windowFromMs === Number.NEGATIVE_INFINITY) {
      [this.windowFromMs, this.partFromMs, this.calmSeenMs] = [nowMs, nowMs, nowMs];
    }
    this.turnPart(nowMs);
    this.samples += window.samples;
    this.sumMs += window.sumMs;
    this.timeouts += window.timeouts;
    if (window.inFlight < this.limit / 2) this.calmSeenMs = nowMs;
    const isLong = nowMs - this.windowFromMs >= LONGEST_WINDOW_MS;
    if (this.samples < MIN_SAMPLES && this.timeouts === 0 && !isLong) return;
    if (this.samples + this.timeouts > 0) this.judge(window.inFlight, nowMs);
    [this.windowFromMs, this.samples, this.sumMs, this.timeouts] = [nowMs, 0, 0, 0];
  }

  private judge(inFlight: number, nowMs: number): void {
    const { samples, timeouts } = this;
    if (timeouts > 0) {
      this.endProbe();
      this.isFirst = false;
      this.set(this.limit * AFTER_TIMEOUT);
      return;
    }
    const meanMs = this.sumMs / samples;
    this.smoothMs = this.smoothMs === 0 ? meanMs : this.smoothMs + SMOOTHING * (meanMs - this.smoothMs);
    // The limit has been lower for the whole of a probe: its own mean counts, not the means before.
    this.calms[0] = Math.min(this.calms[0]!, this.heldLimit > 0 ? meanMs : this.smoothMs);
    if (this.heldLimit > 0) return this.probe(samples, nowMs);
    const gradient = Math.min(1, Math.max(STEEPEST, (TOLERANCE * this.calmMs) / this.smoothMs));
    if (gradient < 1) this.isFirst = false;
    const isUsed = inFlight >= this.limit / 2;
    if (gradient === 1 && !isUsed) return;
    if (this.isFirst) return this.set(this.limit * FIRST_GROWTH);
    const aim = this.limit * gradient + Math.max(0.5, Math.sqrt(this.limit) / 4);
    this.set(this.limit + SMOOTHING * (aim - this.limit));
    if (nowMs - this.calmSeenMs >= PROBE_EVERY_MS) this.beginProbe(nowMs);
  }

  private beginProbe(nowMs: number): void {
    if (this.limit <= FIRST_LIMIT) return;
    [this.heldLimit, this.probeFromMs, this.probed] = [this.limit, nowMs, 0];
    this.limit = Math.max(FIRST_LIMIT, this.limit / 2);
  }

  private probe(samples: number, nowMs: number): void {
    this.probed += samples;
    if (this.probed < PROBE_SAMPLES && nowMs - this.probeFromMs < PROBE_MS) return;
    this.endProbe();
    this.smoothMs = 0;
    this.calmSeenMs = nowMs;
  }

  private endProbe(): void {
    if (this.heldLimit > 0) this.limit = this.heldLimit;
    this.heldLimit = 0;
  }

  private set(limit: number): void {
    this.limit = Math.min(MAX_FOUND, Math.max(MIN_LIMIT, limit));
  }

  /** A minute is remembered, in parts: the calm latency of a server that has become slower for good is forgotten. */
  private turnPart(nowMs: number): void {
    while (nowMs - this.partFromMs >= PART_MS) {
      // After a long pause, one minute at most.
      if (nowMs - this.partFromMs > PARTS * PART_MS * 2) this.partFromMs = nowMs - PARTS * PART_MS;
      this.partFromMs += PART_MS;
      this.calms.pop();
      this.calms.unshift(Number.POSITIVE_INFINITY);
    }
  }
}
