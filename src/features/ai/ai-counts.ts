import type { WorkerService } from "../../core/worker-service.ts";

/** The counters of all models of routes, by the keys of these. */
export interface SharedAiCounts {
  readonly ai: readonly (readonly [key: string, counts: SharedArrayBuffer])[];
}

/** The kinds of tokens, in the order of a worker's numbers. */
export const AI_KINDS = ["prompt", "completion"] as const;

/** One model's counters in one worker; its own alone until the control thread gives it the shared ones. */
export class ModelCounter {
  private numbers: Float64Array = new Float64Array(AI_KINDS.length);
  private at = 0;

  share(buffer: SharedArrayBuffer, worker: number): void {
    this.numbers = new Float64Array(buffer);
    this.at = worker * AI_KINDS.length;
  }

  add(prompt: number, completion: number): void {
    this.numbers[this.at]! += prompt;
    this.numbers[this.at + 1]! += completion;
  }
}

/** The counters of models in one worker; they outlive configurations. docs/ai.md#what-you-see */
export class AiCounts implements WorkerService<never> {
  private readonly worker: number;
  private readonly all: Map<string, ModelCounter> = new Map();
  private buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  constructor(worker: number) {
    this.worker = worker;
  }

  share({ ai }: SharedAiCounts): void {
    this.buffers = new Map(ai);
    for (const [key, counter] of this.all) {
      const buffer = this.buffers.get(key);
      if (buffer === undefined) this.all.delete(key);
      else counter.share(buffer, this.worker);
    }
  }

  /** @param key of the model, as `modelKey` makes it */
  of(key: string): ModelCounter {
    const known = this.all.get(key);
    if (known !== undefined) return known;
    const counter = new ModelCounter();
    const buffer = this.buffers.get(key);
    if (buffer !== undefined) counter.share(buffer, this.worker);
    this.all.set(key, counter);
    return counter;
  }
}

/** Tells the model of a route from all others, across reloads. @param route its label */
export function modelKey(route: string, model: string): string {
  return JSON.stringify([route, model]);
}
