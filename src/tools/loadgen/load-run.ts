import { attacksOn } from "./attack-catalogue.ts";
import type { FromGenerator, ToGenerator } from "./generator-messages.ts";
import { type LoadPlan, splitPlan } from "./load-plan.ts";
import { LoadTally } from "./load-tally.ts";
import { MachineLoad } from "./machine-load.ts";

/** What one run has measured. */
export interface LoadResult {
  readonly plan: LoadPlan;
  readonly tally: LoadTally;
  readonly startedAt: Date;
  /** From the start of the clock to the end of the time or to the last request that went out, in milliseconds. */
  readonly elapsedMs: number;
  readonly threads: number;
  readonly wasInterrupted: boolean;
  /** Why a thread ended before its time; "" when none did. */
  readonly failure: string;
  /** CPU time of this process, all threads, in seconds. */
  readonly cpuSeconds: number;
  /** Of all processors of this machine, by all of its processes, while the run went on: 0 to 100. */
  readonly machineBusyPercent: number;
}

/** One run: starts the generator threads, adds up what they measure, waits for their end. */
export class LoadRun {
  readonly tally: LoadTally;
  private readonly threads: Worker[] = [];
  private startEpochMs = 0;
  private readonly cpuBefore = process.cpuUsage();
  private readonly machine = new MachineLoad();
  private readonly ended = Promise.withResolvers<void>();
  private running = 0;
  private connected = 0;
  private lastSentMs = 0;
  private interruptedAtMs = 0;
  private wasInterrupted = false;
  private failure = "";

  constructor(private readonly plan: LoadPlan) {
    this.tally = new LoadTally(attacksOn("/", "x").length, plan.durationMs);
  }

  /** Milliseconds since the clock began; 0 before. */
  get elapsedMs(): number {
    return this.startEpochMs === 0 ? 0 : Math.max(0, Date.now() - this.startEpochMs);
  }

  /** Runs to the end of the time, or until `interrupt`. */
  async run(threads: number): Promise<LoadResult> {
    for (const share of splitPlan(this.plan, threads)) this.spawn({ kind: "connect", share });
    await this.ended.promise;
    for (const thread of this.threads) thread.terminate();
    this.tally.timeline.finish();
    const cpu = process.cpuUsage(this.cpuBefore);
    return {
      plan: this.plan,
      tally: this.tally,
      startedAt: new Date(this.startEpochMs || Date.now()),
      elapsedMs: this.wasInterrupted ? this.interruptedAtMs : Math.max(this.plan.durationMs, this.lastSentMs),
      threads: this.threads.length,
      wasInterrupted: this.wasInterrupted,
      failure: this.failure,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      machineBusyPercent: this.machine.busyPercent(),
    };
  }

  /** Ends the run early; what was measured until now is its result. */
  interrupt(): void {
    if (this.wasInterrupted) return;
    this.wasInterrupted = true;
    this.interruptedAtMs = Math.max(1, this.elapsedMs);
    for (const thread of this.threads) thread.postMessage({ kind: "stop" } satisfies ToGenerator);
    setTimeout(() => this.ended.resolve(), STOP_LIMIT_MS);
  }

  private spawn(connect: ToGenerator): void {
    // The path is resolved against the entry point, in the source tree as in the compiled binary.
    const thread = new Worker("./load-worker.ts");
    this.threads.push(thread);
    this.running++;
    thread.onmessage = ({ data }: MessageEvent<FromGenerator>) => {
      if (data.kind === "ready") thread.postMessage(connect);
      else if (data.kind === "connected") this.startWhenConnected();
      else if (data.kind === "samples") this.tally.add(data.samples, this.elapsedMs);
      else this.endThread(data.lastSentMs);
    };
    thread.onerror = (event: ErrorEvent) => {
      this.failure = event.message;
      this.ended.resolve();
    };
  }

  // One clock for all: it begins when the last of them has connected.
  private startWhenConnected(): void {
    if (++this.connected < this.threads.length || this.wasInterrupted) return;
    this.startEpochMs = Date.now() + START_DELAY_MS;
    const start: ToGenerator = { kind: "start", startEpochMs: this.startEpochMs };
    for (const thread of this.threads) thread.postMessage(start);
  }

  private endThread(lastSentMs: number): void {
    this.lastSentMs = Math.max(this.lastSentMs, lastSentMs);
    if (--this.running === 0) this.ended.resolve();
  }
}

/** Enough for the message to arrive before the clock begins. */
const START_DELAY_MS = 20;
const STOP_LIMIT_MS = 1000;
