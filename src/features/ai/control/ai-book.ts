import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { workerNumbers } from "../../../memory/worker-numbers.ts";
import { labelOf } from "../../../routes/route-base.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { AI_KINDS, modelKey, type SharedAiCounts } from "../ai-counts.ts";
import { AI_METRICS } from "../metrics.ts";

/** A model of a route, whose counters go on over reloads. */
interface KeptModel {
  readonly route: string;
  readonly model: string;
  readonly buffer: SharedArrayBuffer;
}

/** The counters of all models. docs/ai.md#what-you-see */
export class AiBook implements ControlService<RuntimeConfig> {
  private readonly workers: number;
  private models: ReadonlyMap<string, KeptModel> = new Map();

  constructor(config: RuntimeConfig, workers: number) {
    this.workers = workers;
    this.models = this.made(config);
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedAiCounts } {
    const models = this.made(config);
    const takeUp = (): void => {
      this.models = models;
    };
    return { fields: shared(models), takeUp };
  }

  startFields(): SharedAiCounts {
    return shared(this.models);
  }

  metrics(): readonly Metric[] {
    const tokens = () =>
      [...this.models.values()].flatMap(({ route, model, buffer }) =>
        AI_KINDS.map((kind, i) => ({ value: total(buffer, i), labels: { route, model, kind } })),
      );
    return [metricOf(AI_METRICS, "gateway_ai_tokens_total", tokens)];
  }

  /** The models of a configuration: those of the one before go on with their counters. */
  private made({ routes }: RuntimeConfig): ReadonlyMap<string, KeptModel> {
    const made = new Map<string, KeptModel>();
    for (const one of routes) {
      if (!("ai" in one) || one.ai === null) continue;
      const route = labelOf(one);
      for (const { name: model } of one.ai.models) {
        const key = modelKey(route, model);
        const buffer = this.models.get(key)?.buffer ?? workerNumbers(this.workers, AI_KINDS.length);
        if (!made.has(key)) made.set(key, { route, model, buffer });
      }
    }
    return made;
  }
}

/** The count of all workers. */
function total(buffer: SharedArrayBuffer, kind: number): number {
  return new Float64Array(buffer).reduce((sum, count, at) => (at % AI_KINDS.length === kind ? sum + count : sum), 0);
}

function shared(models: ReadonlyMap<string, KeptModel>): SharedAiCounts {
  return { ai: [...models].map(([key, { buffer }]) => [key, buffer] as const) };
}
