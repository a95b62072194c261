import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { labelled, type Metric, metricOf, single } from "../../../core/metric-row.ts";
import { TICK_MS } from "../../../core/timer-wheel.ts";
import { memoryLimit, processorLimit } from "../../../memory/process-limits.ts";
import { residentBytes } from "../../../memory/process-memory.ts";
import { DescriptorWatch, descriptorLimit } from "../../../net/descriptor-watch.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { OVERLOAD_EVENTS } from "../events.ts";
import { OVERLOAD_METRICS } from "../metrics.ts";
import { PressureLevel, UP } from "../pressure-level.ts";
import type { OverloadConfig } from "../settings.ts";
import {
  createPressureNumbers,
  type OverloadStart,
  PressureNumbers,
  SHED_LABELS,
  SHORTAGES,
  type Shortage,
} from "../shared-pressure.ts";

const LOOK_MS = 100;
/** Memory and descriptors cost more: edge looks at them less often. */
const LOOKS_BETWEEN = 5;
/** Looks without shedding after which it is over. */
const CALM_LOOKS = 10;
/** The share of the processors is that of so many looks. */
const CPU_LOOKS = 3;

/** The processors' time and the requests up to a moment. */
interface UsedSoFar {
  readonly cpuMs: number;
  readonly atMs: number;
  readonly admitted: number;
  readonly shed: number;
}

/** When a worker's event loop was seen to move, and how often it had come round then. */
interface SeenLoop {
  ticks: number;
  atMs: number;
}

/** The ports of the watch. */
interface OverloadPorts {
  readonly event: EventWriter<typeof OVERLOAD_EVENTS>;
}

/** Sees whether the gateway itself is short of something, and tells each worker how much to shed. docs/pressure.md#shedding */
export class OverloadWatch implements ControlService<RuntimeConfig> {
  private readonly ports: OverloadPorts;
  private readonly buffer: SharedArrayBuffer;
  private readonly numbers: PressureNumbers;
  private readonly processors: number = processorLimit();
  private readonly memoryBytes: number = memoryLimit();
  private readonly descriptors: DescriptorWatch = new DescriptorWatch(descriptorLimit());
  private readonly shared: Readonly<Record<Exclude<Shortage, "loop_delay">, PressureLevel>> = {
    cpu: new PressureLevel(),
    memory: new PressureLevel(),
    descriptors: new PressureLevel(),
  };
  private readonly delays: readonly PressureLevel[];
  private readonly loops: readonly SeenLoop[];
  /** The share of the processors that there would be without shedding, as a share of its threshold. */
  private unshed = 0;
  /** Values as shares of their thresholds. */
  private shares: Record<Shortage, number> = { cpu: 0, memory: 0, descriptors: 0, loop_delay: 0 };
  private readonly used: UsedSoFar[] = [];
  private config: OverloadConfig | null = null;
  private timer: ReturnType<typeof setInterval> | null = null;
  private looks = 0;
  private level = 0;
  private stage = 0;
  /** Looks in a row at which nothing was shed. */
  private calmLooks = 0;
  /** The shortage that the log has named last. */
  private told: Shortage = "cpu";
  private toldShed = 0;

  constructor(workers: number, ports: OverloadPorts) {
    this.ports = ports;
    this.buffer = createPressureNumbers(workers);
    this.numbers = new PressureNumbers(this.buffer);
    this.delays = Array.from({ length: workers }, () => new PressureLevel());
    this.loops = Array.from({ length: workers }, () => ({ ticks: 0, atMs: Number.POSITIVE_INFINITY }));
  }

  startFields(): OverloadStart {
    return { overload: this.buffer };
  }

  use({ server }: RuntimeConfig): void {
    const { overload } = server;
    this.config = overload.enabled ? overload : null;
    if (this.config === null) return this.stop();
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  stop(): void {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    for (const level of [...Object.values(this.shared), ...this.delays]) level.value = 0;
    for (let worker = 0; worker < this.numbers.workers; worker++) this.numbers.set(worker, 0, 0);
    this.level = 0;
    this.stage = 0;
  }

  /** A worker that has ended is not late. */
  workerDied(worker: number): void {
    this.loops[worker]!.atMs = Number.POSITIVE_INFINITY;
  }

  metrics(): readonly Metric[] {
    return [
      metricOf(OVERLOAD_METRICS, "gateway_shed_requests_total", () => (this.config === null ? [] : this.counts())),
      single(OVERLOAD_METRICS, "gateway_overload_level", () => this.level),
      labelled(OVERLOAD_METRICS, "gateway_overload_pressure", () =>
        this.config === null ? [] : SHORTAGES.map((label) => ({ label, count: this.shares[label] })),
      ),
    ];
  }

  /** Requests that were shed, by priority and reason. */
  private counts() {
    return SHED_LABELS.flatMap((priority, rank) =>
      SHORTAGES.map((reason, number) => ({ value: this.numbers.shed(rank, number), labels: { priority, reason } })),
    );
  }

  private look(): void {
    const config = this.config!;
    const [used, unshed] = this.cpuShares();
    this.shares.cpu = used / config.cpu;
    this.unshed = unshed / config.cpu;
    if (this.looks++ % LOOKS_BETWEEN === 0) {
      this.shares.memory = residentBytes() / this.memoryBytes / config.memory;
      this.shares.descriptors = this.descriptors.isShort() ? 2 : 0;
    }
    const { cpu, memory, descriptors } = this.shared;
    cpu.note(this.shares.cpu, this.unshed);
    memory.note(this.shares.memory);
    descriptors.note(this.shares.descriptors);
    this.judge(config, performance.now());
  }

  /** Takes the delays of the workers since the last call, and tells each how much to shed. */
  judge(config: OverloadConfig, nowMs: number): void {
    const shared = SHORTAGES.slice(0, -1) as (keyof typeof this.shared)[];
    const worst = shared.reduce((most, name) => (this.shared[name].value > this.shared[most].value ? name : most));
    let [level, reason]: [number, Shortage] = [this.shared[worst].value, worst];
    let longest = 0;
    this.delays.forEach((own, worker) => {
      const delay = this.delayOf(worker, nowMs) / config.loopDelayMs;
      own.note(delay, Math.max(delay, this.unshed));
      longest = Math.max(longest, delay);
      const isOwn = own.value > this.shared[worst].value;
      this.numbers.set(
        worker,
        Math.max(own.value, this.shared[worst].value),
        SHORTAGES.indexOf(isOwn ? "loop_delay" : worst),
      );
      if (own.value > level) [level, reason] = [own.value, "loop_delay"];
    });
    this.shares.loop_delay = longest;
    this.level = level;
    this.calmLooks = level === 0 ? this.calmLooks + 1 : 0;
    // One look above a threshold is no shortage yet.
    const stage = Math.ceil(level - UP);
    if (stage > this.stage) this.tell(stage, reason, config);
    else if (this.stage > 0 && this.calmLooks >= CALM_LOOKS) this.tell(0, this.told, config);
  }

  /** The longest delay that a worker has told, or that it is in: until an event loop comes round it tells nothing. */
  private delayOf(worker: number, nowMs: number): number {
    const seen = this.loops[worker]!;
    const ticks = this.numbers.ticks(worker);
    if (ticks !== seen.ticks) Object.assign(seen, { ticks, atMs: nowMs });
    return Math.max(this.numbers.takeDelay(worker), nowMs - seen.atMs - TICK_MS);
  }

  /** A line for each rank more, and one when it is over for good: a level that swings is no news. */
  private tell(stage: number, reason: Shortage, config: OverloadConfig): void {
    this.stage = stage;
    this.told = reason;
    const [threshold, decimals] = thresholdOf(reason, config);
    const shed = this.shedSoFar();
    this.ports.event("overload", {
      reason: stage === 0 ? null : reason,
      value: rounded(this.shares[reason] * threshold, decimals),
      threshold,
      sheds: STAGES[stage]!,
      shed: shed - this.toldShed,
    });
    this.toldShed = shed;
  }

  private shedSoFar(): number {
    return this.counts().reduce((sum, { value }) => sum + value, 0);
  }

  /**
   * The process's share of its processors in the last three looks, and the share that it would have had without shedding: each request
   * that was shed at the price of one that was admitted.
   */
  private cpuShares(): readonly [number, number] {
    const { user, system } = process.cpuUsage();
    const now: UsedSoFar = {
      cpuMs: (user + system) / 1000,
      atMs: performance.now(),
      admitted: this.numbers.admitted(),
      shed: this.shedSoFar(),
    };
    this.used.push(now);
    const before = this.used.length > CPU_LOOKS ? this.used.shift()! : this.used[0]!;
    const passedMs = now.atMs - before.atMs;
    if (passedMs < LOOK_MS / 2) return [0, 0];
    const share = (now.cpuMs - before.cpuMs) / passedMs / this.processors;
    return [share, share * (1 + (now.shed - before.shed) / Math.max(1, now.admitted - before.admitted))];
  }
}

/** By the number of ranks that go. */
const STAGES = ["none", "low", "normal", "signed_in"] as const;

function thresholdOf(reason: Shortage, config: OverloadConfig): readonly [number, number] {
  if (reason === "loop_delay") return [config.loopDelayMs, 0];
  return [reason === "descriptors" ? 1 : config[reason], 4];
}

function rounded(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}
