import { LATENCY_BUCKETS, latencyBucket } from "../../core/latency-sketch.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { workerNumbers } from "../../memory/worker-numbers.ts";
import type { ArmTally } from "../../message/arm-tally.ts";
import type { ArmCounts } from "./canary-judge.ts";

/** The cells of all canaries, by their keys. */
export interface SharedCanaries {
  readonly canaries: readonly (readonly [key: string, cells: SharedArrayBuffer])[];
}

/*
 * The first number is the share of the new version, in percent; only the control thread writes it. A worker's row has the counts of the new
 * version, then those of the old one: requests, errors, times by bucket.
 */
const HEAD = 1;
const REQUESTS = 0;
const ERRORS = 1;
const TIMES = 2;
const ARM: number = TIMES + LATENCY_BUCKETS;
const ROW: number = 2 * ARM;

/** Makes the cells of a canary. */
export function createCanaryCells(workers: number): SharedArrayBuffer {
  return workerNumbers(1, HEAD + workers * ROW);
}

/** The cells, for the control thread. */
export class CanaryNumbers {
  private readonly numbers: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.numbers = new Float64Array(buffer);
  }

  set share(percent: number) {
    this.numbers[0] = percent;
  }

  /** What all workers have counted of the new version, or of the old one. */
  countsOf(isNew: boolean): ArmCounts {
    const all = new Float64Array(ARM);
    for (let at = HEAD + (isNew ? 0 : ARM); at < this.numbers.length; at += ROW)
      for (let i = 0; i < ARM; i++) all[i]! += this.numbers[at + i]!;
    return { requests: all[REQUESTS]!, errors: all[ERRORS]!, times: all.subarray(TIMES) };
  }
}

/** A canary in one worker. */
export class CanaryCell {
  private numbers: Float64Array = new Float64Array(HEAD + ROW);
  private at = HEAD;

  share(buffer: SharedArrayBuffer, worker: number): void {
    this.numbers = new Float64Array(buffer);
    this.at = HEAD + worker * ROW;
  }

  /** Percent of the requests that go to the new version. */
  get percent(): number {
    return this.numbers[0]!;
  }

  /** Counts for the new version, or for the old one. */
  tallyOf(isNew: boolean): ArmTally {
    const from = isNew ? 0 : ARM;
    return {
      answered: (isBad, ms) => {
        const at = this.at + from;
        this.numbers[at + REQUESTS]!++;
        if (isBad) this.numbers[at + ERRORS]!++;
        else if (ms >= 0) this.numbers[at + TIMES + latencyBucket(ms)]!++;
      },
      failed: () => {
        const at = this.at + from;
        this.numbers[at + REQUESTS]!++;
        this.numbers[at + ERRORS]!++;
      },
    };
  }
}

/** The canaries of one worker; they outlive configurations. docs/pressure.md#canaries */
export class CanaryCells implements WorkerService<never> {
  private readonly worker: number;
  private readonly keysOf: (config: never) => ReadonlySet<string>;
  private readonly all: Map<string, CanaryCell> = new Map();
  private buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  /** @param keysOf the keys of a configuration's canaries */
  constructor(worker: number, keysOf: (config: never) => ReadonlySet<string>) {
    this.worker = worker;
    this.keysOf = keysOf;
  }

  share({ canaries }: SharedCanaries): void {
    this.buffers = new Map(canaries);
    for (const [key, cell] of this.all) this.bind(key, cell);
  }

  of(key: string): CanaryCell {
    const known = this.all.get(key);
    if (known !== undefined) return known;
    const cell = new CanaryCell();
    this.bind(key, cell);
    this.all.set(key, cell);
    return cell;
  }

  use(config: never): void {
    const keys = this.keysOf(config);
    for (const key of this.all.keys()) if (!keys.has(key)) this.all.delete(key);
  }

  private bind(key: string, cell: CanaryCell): void {
    const buffer = this.buffers.get(key);
    if (buffer !== undefined) cell.share(buffer, this.worker);
  }
}
