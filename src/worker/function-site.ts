import type { GatewayLog } from "../facts/events.ts";
import { CallCounter } from "../features/functions/call-counts.ts";
import { eventOfLine } from "../features/functions/events.ts";
import type { FunctionListener, FunctionPorts } from "../features/functions/function-call.ts";
import { FunctionHandler } from "../features/functions/function-handler.ts";
import type { LinkPorts } from "../features/functions/function-link.ts";
import type { FunctionWordMessage } from "../features/functions/function-messages.ts";
import { HookPhase } from "../features/functions/hook-phase.ts";
import type { FunctionsConfig } from "../features/functions/settings.ts";
import { type FunctionNews, WorkerFunctions } from "../features/functions/worker-functions.ts";
import { CallTracer } from "../features/telemetry/call-tracer.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import type { SpanWriter } from "../memory/span-ring.ts";
import type { Handler, Phase } from "../message/exchange.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { FunctionRoutePorts, FunctionUse } from "../routes/route-type.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { WorkerServices } from "./worker-services.ts";

/** How often a worker says what it has counted. */
const COUNT_MS = 500;

/** What the functions of a data worker are made with. */
export interface FunctionSitePorts {
  readonly worker: number;
  readonly services: WorkerServices;
  readonly requestIds: FunctionPorts["requestIds"];
  readonly events: GatewayLog;
  readonly threshold: LogThreshold;
  /** Where spans go; null while nothing takes them. */
  readonly spans: () => SpanWriter | null;
  readonly post: (message: FunctionWordMessage) => void;
}

/** The functions of one data worker, whatever its configuration. Loaded where the first configuration has some. */
export class WorkerFunctionPorts implements FunctionRoutePorts {
  private readonly functions: WorkerFunctions;
  private readonly services: FunctionPorts;
  private readonly counter: CallCounter = new CallCounter();

  constructor({ worker, services, requestIds, events, threshold, spans, post }: FunctionSitePorts) {
    const listener: FunctionListener = {
      onLine: (module, line) => {
        if (threshold.takes(line.level)) events.event(...eventOfLine(module, line));
      },
      onCall: (module, outcome, ms) => this.counter.add(module, outcome, ms),
    };
    const ports: LinkPorts = {
      inTurn: (work) => services.inTurn(work),
      onException: (error) => services.upstream.onException(error),
      onBroken: (thread) => post({ kind: "functions", said: { what: "broken", thread } }),
      onOverdue: (thread, call) => post({ kind: "functions", said: { what: "overdue", thread, call } }),
      onLine: listener.onLine,
    };
    this.functions = new WorkerFunctions(worker, ports, (thread) =>
      post({ kind: "functions", said: { what: "idle", thread } }),
    );
    setInterval(() => {
      const counts = this.counter.take(this.functions.queues());
      if (counts.length > 0) post({ kind: "functions", said: { what: "counts", counts } });
    }, COUNT_MS);
    this.services = { wheel: services.wheel, turn: services.turn, requestIds, listener, spans: new CallTracer(spans) };
  }

  use(config: FunctionsConfig): void {
    this.functions.use(config);
  }

  receive(news: FunctionNews): void {
    this.functions.receive(news);
  }

  hookPhase(config: RuntimeConfig, routes: readonly (RouteConfig | null)[], budget: BodyBudget): Phase {
    this.use(config.functions);
    return new HookPhase(
      routes.map((route) => {
        const hooks = route !== null && "hooks" in route ? route.hooks : null;
        if (hooks === null) return null;
        const { module, timeoutMs, bodies, maxBodyBytes } = hooks;
        const pool = this.functions.poolOf(module);
        return { module, timeoutMs, bodies, maxBodyBytes, budget, pool, services: this.services, upstream: null };
      }),
    );
  }

  handlerOf({ module, timeoutMs, upstream }: FunctionUse): Handler {
    return new FunctionHandler({
      module,
      timeoutMs,
      upstream,
      pool: this.functions.poolOf(module),
      services: this.services,
    });
  }
}
