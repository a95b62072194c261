import { errorBody } from "../core/status.ts";
import type { FieldsOfEvent, WriteEvent } from "../facts/events.ts";
import type { ActionCall } from "../features/admin/action-handler.ts";
import type { EndpointAnswers } from "../features/admin/built-in-endpoints.ts";
import { type ControlAnswer, jsonAnswer } from "../features/admin/control-rpc.ts";
import type { Operator } from "../features/admin/operator.ts";
import {
  MaintenanceSwitches,
  routesInMaintenance,
  type SwitchState,
} from "../features/pages/control/maintenance-switches.ts";
import { isLogLevel, LOG_LEVELS, type LogLevel } from "../features/telemetry/log-level.ts";
import type { KnownName } from "../net/name-resolver.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { NodeRegistry } from "./node-registry.ts";
import type { ReloadOutcome, Reloads } from "./reload.ts";

/** What the operators' actions ask of the control thread. */
export interface OperationPorts {
  readonly nodes: NodeRegistry;
  readonly reloads: Pick<Reloads, "want" | "rebuild">;
  /** The configuration in use, as the files said it. */
  fileConfig(): RuntimeConfig;
  /** The same with what operators have switched. */
  config(): RuntimeConfig;
  /** Every thread logs at this level from now on. */
  useLogLevel(level: LogLevel): void;
  readonly event: WriteEvent;
}

/** What the process that takes over begins with. */
interface KeptState {
  readonly logLevel: LogLevel;
  readonly drained: readonly string[];
  readonly maintenance: SwitchState;
  /** Absent where an older process has written it. */
  readonly names?: readonly KnownName[];
}

/** What operators have done that holds until the process ends, as `/internal/api/status` shows it. */
export interface OperationState {
  readonly log_level: LogLevel;
  /** Keys of origins. */
  readonly drained: readonly string[];
  /** Prefixes and paths of routes. */
  readonly maintenance: readonly string[];
}

/**
 * What operators do while the gateway runs, each with its line `audit` in the log. docs/endpoints.md#actions
 */
export class Operations {
  readonly maintenance: MaintenanceSwitches = new MaintenanceSwitches();
  private readonly port: OperationPorts;
  private logLevel: LogLevel = "info";
  /** Switches of maintenance go one after another: each is a configuration of its own. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(port: OperationPorts) {
    this.port = port;
  }

  get level(): LogLevel {
    return this.logLevel;
  }

  state(): OperationState {
    const { port } = this;
    const maintenance = routesInMaintenance(port.config());
    return { log_level: this.logLevel, drained: port.nodes.drainedOrigins(), maintenance };
  }

  /**
   * What the process that takes over begins with: what operators have done, and the addresses of names, for which the name servers
   * may not answer then. "" where there is nothing.
   */
  kept(): string {
    const { logLevel, maintenance } = this;
    const drained = this.port.nodes.drainedOrigins();
    const names = firstNames(this.port.nodes.names.known());
    const isPlain = logLevel === "info" && drained.length === 0 && maintenance.isPlain && names.length === 0;
    const kept: KeptState = { logLevel, drained, maintenance: maintenance.state, names };
    return isPlain ? "" : JSON.stringify(kept);
  }

  /**
   * Takes up what the process before this one had.
   * @param kept of its `kept`
   * @returns the configuration with what had been switched
   */
  restored(kept: string, config: RuntimeConfig): RuntimeConfig {
    if (kept === "") return config;
    const { logLevel, drained, maintenance, names = [] } = JSON.parse(kept) as KeptState;
    this.logLevel = logLevel;
    this.port.useLogLevel(logLevel);
    for (const origin of drained) this.port.nodes.drain(origin, true);
    for (const known of names) this.port.nodes.names.learn(known);
    this.maintenance.restore(maintenance);
    return this.maintenance.applied(config);
  }

  /** Who answers the actions' questions, for a ControlRpc. */
  answers(): Pick<EndpointAnswers, "drain" | "undrain" | "maintenance" | "reload" | "log-level"> {
    return {
      drain: (body) => this.drain(readCall(body), true),
      undrain: (body) => this.drain(readCall(body), false),
      maintenance: (body) => this.switchMaintenance(readCall(body)),
      reload: (body) => this.reloadCall(readCall(body)),
      "log-level": (body) => this.changeLogLevel(readCall(body)),
    };
  }

  private async reloadCall({ operator, call }: ActionCall): Promise<ControlAnswer> {
    if (Object.keys(call).length > 0) return refusal(400, "reload takes no parameters: send {} or no body");
    return reloadAnswer(await this.reload(operator));
  }

  /** Reads the files again, and notes who wanted that. */
  async reload(operator: Operator): Promise<ReloadOutcome> {
    const outcome = await this.port.reloads.want();
    const { ok, generation, faults } = outcome;
    this.audit("reload", operator, { ok, generation, ...(ok ? {} : { faults }) });
    return outcome;
  }

  /** Notes an action that has a line of its own for what comes of it. */
  audit(
    action: string,
    { by, from }: Operator,
    about: Omit<FieldsOfEvent<"audit">, "action" | "by" | "from"> = {},
  ): void {
    this.port.event("audit", { action, by: by === "" ? null : by, from, ...about });
  }

  private drain({ operator, call }: ActionCall, isDrained: boolean): ControlAnswer {
    const { target, ...others } = call;
    if (typeof target !== "string" || Object.keys(others).length > 0) return refusal(400, '{"target": "…"} is needed');
    const origin = this.port.nodes.drain(target, isDrained);
    if (origin === null) return refusal(404, "no route has this target");
    this.audit(isDrained ? "drain" : "undrain", operator, { ok: true, target: origin });
    return jsonAnswer(200, { target: origin, drained: this.port.nodes.drainedOrigins() });
  }

  private switchMaintenance({ operator, call }: ActionCall): Promise<ControlAnswer> {
    const { on, route = null, ...others } = call;
    const isRoute = route === null || typeof route === "string";
    if (typeof on !== "boolean" || !isRoute || Object.keys(others).length > 0)
      return Promise.resolve(refusal(400, '{"on": true} or {"on": false} is needed, and may name a "route"'));
    const done = this.turn.then(() => this.turnMaintenance(operator, on, route));
    this.turn = done;
    return done;
  }

  private async turnMaintenance(operator: Operator, on: boolean, route: string | null): Promise<ControlAnswer> {
    const { port } = this;
    const undo = this.maintenance.turn(port.fileConfig(), on, route);
    if (undo === null) return refusal(404, "no route has this prefix or path");
    const { ok, generation, faults } = await port.reloads.rebuild();
    if (!ok) undo();
    this.audit("maintenance", operator, { ok, on, route, ...(ok ? {} : { faults }) });
    if (!ok) return jsonAnswer(500, { ...errorBody(500, "maintenance was not switched"), faults });
    return jsonAnswer(200, { on, route, generation, routes: routesInMaintenance(port.config()) });
  }

  private changeLogLevel({ operator, call }: ActionCall): ControlAnswer {
    const { level, ...others } = call;
    if (!isLogLevel(level) || Object.keys(others).length > 0)
      return refusal(400, `{"level": "…"} is needed, one of ${LOG_LEVELS.join(", ")}`);
    const before = this.logLevel;
    this.logLevel = level;
    this.port.useLogLevel(level);
    this.audit("log_level", operator, { ok: true, level, before });
    return jsonAnswer(200, { level, before });
  }
}

/** As many as one variable of the environment has room for beside the rest; all others are asked for. */
function firstNames(names: readonly KnownName[]): readonly KnownName[] {
  let chars = 0;
  return names.filter((known) => {
    chars += JSON.stringify(known).length + 1;
    return chars <= MAX_KEPT_NAME_CHARS;
  });
}

/** Linux takes up to 128 KiB for a variable. */
const MAX_KEPT_NAME_CHARS = 65_536;

/** A reload that has changed nothing is the files' fault: 422, with the same fields. */
function reloadAnswer({ ok, generation, faults, fields }: ReloadOutcome): ControlAnswer {
  return jsonAnswer(ok ? 200 : 422, { ok, generation, faults, ...fields });
}

function refusal(status: number, message: string): ControlAnswer {
  return jsonAnswer(status, errorBody(status, message));
}

/** What an ActionHandler has written. */
function readCall(body: string): ActionCall {
  return JSON.parse(body) as ActionCall;
}
