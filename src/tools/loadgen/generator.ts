import { ArrivalSchedule } from "./arrival-schedule.ts";
import { attacksOn } from "./attack-catalogue.ts";
import { AttackStream } from "./attack-stream.ts";
import { BenignStream } from "./benign-stream.ts";
import type { ThreadPlan } from "./load-plan.ts";
import { PreciseAlarm } from "./precise-alarm.ts";
import { SampleBatch, type Samples } from "./sample-batch.ts";
import { StreamedRequests } from "./streamed-requests.ts";

/** Both streams of one thread, from the first connection to the last response. */
export class Generator {
  private readonly samples: SampleBatch;
  private readonly benign: BenignStream | StreamedRequests;
  private readonly attack: AttackStream;
  private readonly alarm: PreciseAlarm = new PreciseAlarm(() => this.sendDue());
  private benignDue = NOTHING_DUE;
  private attackDue = NOTHING_DUE;
  private beat: ReturnType<typeof setInterval> | null = null;
  private startMs = 0;
  private lastMs = Number.POSITIVE_INFINITY;

  /**
   * @param deliver takes what was measured, ten times a second and at the end
   * @param onEnd is called once, after everything was delivered, with the time of the last request on the run's clock
   */
  constructor(
    private readonly share: ThreadPlan,
    deliver: (samples: Samples) => void,
    private readonly onEnd: (lastSentMs: number) => void,
  ) {
    const { plan, connections, firstAttack, firstRequest } = share;
    this.samples = new SampleBatch(deliver);
    const Benign = plan.protocol === 1 ? BenignStream : StreamedRequests;
    this.benign = new Benign(plan, connections, this.samples, firstRequest);
    this.attack = new AttackStream(
      plan.target,
      attacksOn(plan.target.path, plan.target.authority),
      firstAttack,
      this.samples,
    );
  }

  /** Opens the kept connections. Resolves when each has been opened or has failed. */
  connect(): Promise<void> {
    return this.benign.open();
  }

  /** Sends from the time on at which the clock begins, in milliseconds since the epoch. */
  start(startEpochMs: number): void {
    const { plan, benignPerSecond, attacksPerSecond } = this.share;
    this.startMs = startEpochMs - performance.timeOrigin;
    this.benignDue = new ArrivalSchedule(benignPerSecond, this.startMs, plan.durationMs, Math.random);
    this.attackDue = new ArrivalSchedule(attacksPerSecond, this.startMs, plan.durationMs, Math.random);
    this.lastMs = this.startMs + plan.durationMs;
    this.beat = setInterval(() => this.tick(), BEAT_MS);
    this.setAlarm();
  }

  /** Sends nothing more, and waits a moment for the responses that are on their way. */
  stop(): void {
    this.alarm.stop();
    this.lastMs = performance.now();
    setTimeout(() => this.end(), STOP_GRACE_MS);
  }

  private sendDue(): void {
    const { benignDue, attackDue } = this;
    const now = performance.now();
    for (; benignDue.nextMs <= now; benignDue.advance()) {
      this.samples.addDelay(now - benignDue.nextMs);
      this.benign.send(benignDue.nextMs);
    }
    for (; attackDue.nextMs <= now; attackDue.advance()) this.attack.send(attackDue.nextMs);
    this.setAlarm();
  }

  private setAlarm(): void {
    const nextMs = Math.min(this.benignDue.nextMs, this.attackDue.nextMs);
    if (nextMs < Number.POSITIVE_INFINITY) this.alarm.at(nextMs);
    else this.alarm.stop();
  }

  private tick(): void {
    const now = performance.now();
    this.benign.expire(now);
    this.attack.expire(now);
    this.samples.flush();
    // On a busy machine, the time may be over before all that was due in it has been sent.
    const isAllSent = Math.min(this.benignDue.nextMs, this.attackDue.nextMs) === Number.POSITIVE_INFINITY;
    if (isAllSent && now >= this.lastMs && this.benign.unfinished + this.attack.unfinished === 0) this.end();
  }

  private end(): void {
    if (this.beat === null) return;
    clearInterval(this.beat);
    this.beat = null;
    this.samples.flush();
    this.benign.close();
    this.attack.close();
    this.onEnd(Math.max(0, this.samples.lastSentMs - this.startMs));
  }
}

const NOTHING_DUE = new ArrivalSchedule(0, 0, 0, () => 0);
const BEAT_MS = 100;
const STOP_GRACE_MS = 250;
