import { parseDuration } from "../config/duration.ts";
import { errorBody } from "../core/status.ts";
import type { FieldsOfEvent, WriteEvent } from "../facts/events.ts";
import type { ActionCall } from "../features/admin/action-handler.ts";
import type { EndpointResponses } from "../features/admin/built-in-endpoints.ts";
import { type ControlResponse, jsonResponse, refusalResponse } from "../features/admin/control-rpc.ts";
import type { Operator } from "../features/admin/operator.ts";
import type { BanService } from "../features/bans/control/ban-service.ts";
import type { CanaryBook } from "../features/canary/control/canary-book.ts";
import type { ConfigurationState, FileConfigurations } from "../features/history/control/file-configurations.ts";
import type { StateFolder } from "../features/history/control/state-folder.ts";
import {
  MaintenanceSwitches,
  routesInMaintenance,
  type SwitchState,
} from "../features/pages/control/maintenance-switches.ts";
import { isLogLevel, LOG_LEVELS, type LogLevel } from "../features/telemetry/log-level.ts";
import { behaviourDifference } from "../loading/behaviour-difference.ts";
import type { KnownName } from "../net/name-resolver.ts";
import { pathOf } from "../routes/route-base.ts";
import { upstreamRoutes } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { NodeRegistry } from "./node-registry.ts";
import { needsRestart, type ReloadOutcome, type Reloads, type RestartSettings, removedParts } from "./reload.ts";

/** What the operators' actions ask of the control thread. */
interface OperationPorts {
  readonly nodes: NodeRegistry;
  readonly bans: Pick<BanService, "add" | "lift">;
  readonly reloads: Pick<Reloads, "want" | "take" | "rebuild" | "generation">;
  /** Configurations read from files; null with a remote source. */
  readonly files: FileConfigurations | null;
  readonly state: StateFolder;
  /** What only a restart takes up, as it has been since the start. */
  readonly running: RestartSettings;
  /** The configuration in use, as the files said it. */
  fileConfig(): RuntimeConfig;
  /** The same with what operators have switched. */
  config(): RuntimeConfig;
  /** Every thread logs at this level from now on. */
  useLogLevel(level: LogLevel): void;
  readonly event: WriteEvent;
}

/** What operators have set, in the state folder and for the process that takes over. */
interface SetState {
  readonly logLevel: LogLevel;
  readonly drained: readonly string[];
  readonly maintenance: SwitchState;
  /** When each was set; an older process leaves it out. */
  readonly since?: Readonly<Record<string, string>>;
}

/** State for the process that takes over. */
interface KeptState extends Partial<SetState> {
  /** Absent where an older process has written it. */
  readonly names?: readonly KnownName[];
}

/** Something that an operator has set, which holds until it is put back. */
interface SetByHand {
  readonly what: "drain" | "maintenance" | "log_level";
  /** The origin, the route ("" for all), or the level. */
  readonly name: string;
  /** Of maintenance: whether it is on. */
  readonly on: boolean;
  readonly since: string;
}

/** What operators have set, as `/internal/api/status` shows it. */
export interface OperationState {
  readonly log_level: LogLevel;
  /** Keys of origins. */
  readonly drained: readonly string[];
  /** Prefixes and paths of routes. */
  readonly maintenance: readonly string[];
  /** The first MAX_SET of them, with the time of each. */
  readonly set: readonly SetByHand[];
  /** Null with a remote source. */
  readonly configuration: ConfigurationState | null;
}

/**
 * What operators do while the gateway runs, each with its line `audit` in the log. docs/endpoints.md#actions
 */
export class Operations {
  readonly maintenance: MaintenanceSwitches = new MaintenanceSwitches();
  private readonly port: OperationPorts;
  private logLevel: LogLevel = "info";
  /** When each setting was made. */
  private since: Map<string, string> = new Map();
  private readonly startedAt: string = new Date().toISOString();
  /** Whether the state folder has the settings. */
  private isKept = false;
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
    return {
      log_level: this.logLevel,
      drained: port.nodes.drainedOrigins(),
      maintenance,
      set: this.setByHand().slice(0, MAX_SET),
      configuration: port.files?.serves() ?? null,
    };
  }

  /**
   * State for the process that takes over: the settings of operators unless the state folder has them, and the addresses of names, for
   * which the name servers may not answer then. "" for none.
   */
  kept(): string {
    const names = firstNames(this.port.nodes.names.known());
    const set = this.isKept || this.isPlain ? null : this.setState();
    return set === null && names.length === 0 ? "" : JSON.stringify({ ...set, names } satisfies KeptState);
  }

  /**
   * Takes up what operators had set in the process before this one.
   * @param kept of its `kept`; "" if no process hands over
   * @returns the configuration with what had been switched
   */
  restored(kept: string, config: RuntimeConfig): RuntimeConfig {
    const { names = [], ...handed } = kept === "" ? {} : (JSON.parse(kept) as KeptState);
    for (const known of names) this.port.nodes.names.learn(known);
    const set = isSetState(handed) ? handed : this.port.state.read<SetState>(PART);
    if (set === null || !isSetState(set)) return config;
    const { logLevel, drained, maintenance, since = {} } = set;
    this.logLevel = logLevel;
    this.port.useLogLevel(logLevel);
    for (const origin of drained) this.port.nodes.drain(origin, true);
    this.maintenance.restore(maintenance);
    this.since = new Map(Object.entries(since));
    if (isSetState(handed)) this.keep();
    else this.isKept = true;
    return this.maintenance.applied(config);
  }

  private get isPlain(): boolean {
    return this.logLevel === "info" && this.port.nodes.drainedOrigins().length === 0 && this.maintenance.isPlain;
  }

  private setState(): SetState {
    const since = Object.fromEntries(this.setByHand().map((one) => [keyOf(one), one.since]));
    return {
      logLevel: this.logLevel,
      drained: this.port.nodes.drainedOrigins(),
      maintenance: this.maintenance.state,
      since,
    };
  }

  /** Keeps the settings for the next process. */
  private keep(): void {
    const now = new Date().toISOString();
    this.since = new Map(this.setByHand(now).map((one) => [keyOf(one), one.since]));
    if (this.isPlain) {
      this.port.state.remove(PART);
      this.isKept = false;
    } else this.isKept = this.port.state.write(PART, this.setState());
  }

  /** @param unknown the time of a new setting, or of one without a time */
  private setByHand(unknown: string = this.startedAt): SetByHand[] {
    const { server, routes } = this.maintenance.state;
    const found: Omit<SetByHand, "since">[] = this.port.nodes
      .drainedOrigins()
      .map((name) => ({ what: "drain", name, on: true }));
    if (server !== null) found.push({ what: "maintenance", name: "", on: server });
    for (const [name, on] of routes) found.push({ what: "maintenance", name, on });
    if (this.logLevel !== "info") found.push({ what: "log_level", name: this.logLevel, on: true });
    return found.map((one) => ({ ...one, since: this.since.get(keyOf(one)) ?? unknown }));
  }

  /** Who answers the actions' questions, for a ControlRpc. */
  answers(): Pick<
    EndpointResponses,
    "drain" | "undrain" | "ban" | "ban-lift" | "maintenance" | "reload" | "rollback" | "log-level"
  > {
    return {
      drain: (body) => this.drain(readCall(body), true),
      undrain: (body) => this.drain(readCall(body), false),
      ban: async (body) => this.ban(readCall(body)),
      "ban-lift": async (body) => this.liftBan(readCall(body)),
      maintenance: (body) => this.switchMaintenance(readCall(body)),
      reload: (body) => this.reloadCall(readCall(body)),
      rollback: (body) => this.rollback(readCall(body)),
      "log-level": (body) => this.changeLogLevel(readCall(body)),
    };
  }

  private async reloadCall({ operator, call }: ActionCall): Promise<ControlResponse> {
    const { dry_run: isDry = false, ...others } = call;
    if (typeof isDry !== "boolean" || Object.keys(others).length > 0)
      return refusalResponse(400, 'reload takes {"dry_run": true}, {} or no body');
    return isDry ? this.dryRun(operator) : reloadResponse(await this.reload(operator));
  }

  /** Says how a reload would change the behaviour. Nothing is applied. */
  private dryRun(operator: Operator): ControlResponse {
    const { port } = this;
    if (port.files === null) return refusalResponse(409, FROM_AFAR);
    const { generation } = port.reloads;
    const result = port.files.tried();
    this.audit("reload_dry_run", operator, { ok: result.ok, ...(result.ok ? {} : { faults: result.faults }) });
    if (!result.ok) return jsonResponse(422, { ok: false, dry_run: true, generation, faults: result.faults });
    const before = port.fileConfig();
    const { config } = result;
    return jsonResponse(200, {
      ok: true,
      dry_run: true,
      generation,
      faults: [],
      changes: behaviourDifference(before, config),
      needs_restart: needsRestart(port.running, config),
      removed: removedParts(before, config),
    });
  }

  private async rollback({ operator, call }: ActionCall): Promise<ControlResponse> {
    const { steps = 1, ...others } = call;
    if (typeof steps !== "number" || !Number.isInteger(steps) || steps < 1 || Object.keys(others).length > 0)
      return refusalResponse(400, 'rollback takes {"steps": N}, {} or no body; N is at least 1');
    const { files, reloads } = this.port;
    if (files === null) return refusalResponse(409, FROM_AFAR);
    const found = files.earlier(steps);
    if (typeof found === "string") {
      this.audit("rollback", operator, { ok: false, steps, faults: [found] });
      return refusalResponse(404, found);
    }
    const outcome = await reloads.take(found.read, true);
    const { ok, generation, faults } = outcome;
    this.audit("rollback", operator, { ok, steps, to: found.takenAt, generation, ...(ok ? {} : { faults }) });
    return reloadResponse({ ...outcome, fields: { ...outcome.fields, rolled_back_to: found.takenAt } });
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

  private drain({ operator, call }: ActionCall, isDrained: boolean): ControlResponse {
    const { target, ...others } = call;
    if (typeof target !== "string" || Object.keys(others).length > 0)
      return refusalResponse(400, '{"target": "…"} is needed');
    const origins = this.port.nodes.drain(target, isDrained);
    const [origin] = origins;
    if (origin === undefined) return refusalResponse(404, "no route has this target");
    this.keep();
    const emptied = isDrained ? this.emptied(new Set(origins)) : [];
    const about = {
      ...(origins.length > 1 ? { targets: origins } : {}),
      ...(emptied.length > 0 ? { without_target: emptied } : {}),
    };
    this.audit(isDrained ? "drain" : "undrain", operator, { ok: true, target: origin, ...about });
    const drained = this.port.nodes.drainedOrigins();
    return jsonResponse(200, { target: origin, drained, ...about });
  }

  /** Routes and streams whose targets are all drained, one of these among them. */
  private emptied(origins: ReadonlySet<string>): readonly string[] {
    const { routes, streams } = this.port.config();
    const found = [...upstreamRoutes(routes), ...streams].filter(
      ({ targets }) =>
        targets.some(({ originKey }) => origins.has(originKey)) &&
        targets.every(({ originKey }) => this.port.nodes.isDrained(originKey)),
    );
    return [...new Set(found.map(pathOf))].slice(0, MAX_SET);
  }

  private ban({ operator, call }: ActionCall): ControlResponse {
    const { address, for: time = "", ...others } = call;
    const forMs = time === "" ? 0 : typeof time === "string" ? parseDuration(time) : Number.NaN;
    const isTime = forMs === 0 || (forMs >= 1000 && forMs <= MAX_BAN_MS);
    if (typeof address !== "string" || !isTime || Object.keys(others).length > 0)
      return refusalResponse(
        400,
        'expected {"address": "…"}, with "for": "1h" or another time of up to 365 days beside it',
      );
    const { status, body } = this.port.bans.add(address, forMs);
    const { until } = body as { readonly until?: string };
    this.audit("ban", operator, { ok: status === 200, address, ...(until === undefined ? {} : { until }) });
    return jsonResponse(status, body);
  }

  private liftBan({ operator, call }: ActionCall): ControlResponse {
    const { address, ...others } = call;
    if (typeof address !== "string" || Object.keys(others).length > 0)
      return refusalResponse(400, 'expected {"address": "…"}');
    const { status, body } = this.port.bans.lift(address);
    this.audit("ban_lift", operator, { ok: status === 200, address });
    return jsonResponse(status, body);
  }

  private switchMaintenance({ operator, call }: ActionCall): Promise<ControlResponse> {
    const { on, route = null, ...others } = call;
    const isRoute = route === null || typeof route === "string";
    if (typeof on !== "boolean" || !isRoute || Object.keys(others).length > 0)
      return Promise.resolve(refusalResponse(400, '{"on": true} or {"on": false} is needed, and may name a "route"'));
    const done = this.turn.then(() => this.turnMaintenance(operator, on, route));
    this.turn = done;
    return done;
  }

  private async turnMaintenance(operator: Operator, on: boolean, route: string | null): Promise<ControlResponse> {
    const { port } = this;
    const undo = this.maintenance.turn(port.fileConfig(), on, route);
    if (undo === null) return refusalResponse(404, "no route has this prefix or path");
    const { ok, generation, faults } = await port.reloads.rebuild();
    if (!ok) undo();
    else this.keep();
    this.audit("maintenance", operator, { ok, on, route, ...(ok ? {} : { faults }) });
    if (!ok) return jsonResponse(500, { ...errorBody(500, "maintenance was not switched"), faults });
    return jsonResponse(200, { on, route, generation, routes: routesInMaintenance(port.config()) });
  }

  private changeLogLevel({ operator, call }: ActionCall): ControlResponse {
    const { level, ...others } = call;
    if (!isLogLevel(level) || Object.keys(others).length > 0)
      return refusalResponse(400, `{"level": "…"} is needed, one of ${LOG_LEVELS.join(", ")}`);
    const before = this.logLevel;
    this.logLevel = level;
    this.port.useLogLevel(level);
    this.keep();
    this.audit("log_level", operator, { ok: true, level, before });
    return jsonResponse(200, { level, before });
  }
}

/** Tells settings apart. */
function keyOf({ what, name, on }: Pick<SetByHand, "what" | "name" | "on">): string {
  return `${what} ${on} ${name}`;
}

/** Whether this process wrote it, and not another program. */
function isSetState(kept: object): kept is SetState {
  const { logLevel, drained, maintenance } = kept as Partial<SetState>;
  const isSwitch = (one: unknown) => Array.isArray(one) && typeof one[0] === "string" && typeof one[1] === "boolean";
  return (
    isLogLevel(logLevel) &&
    Array.isArray(drained) &&
    drained.every((one) => typeof one === "string") &&
    Array.isArray(maintenance?.routes) &&
    maintenance.routes.every(isSwitch) &&
    (maintenance.server === null || typeof maintenance.server === "boolean")
  );
}

/** The part of the state folder. */
const PART = "operators";
/** The longest ban of an operator. */
const MAX_BAN_MS = 365 * 86_400_000;
/** Settings that a listing shows. */
const MAX_SET = 100;
const FROM_AFAR = "the configuration comes from a URL: publish the earlier one there";

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
function reloadResponse({ ok, generation, faults, fields }: ReloadOutcome): ControlResponse {
  return jsonResponse(ok ? 200 : 422, { ok, generation, faults, ...fields });
}

/** Who answers about rollouts. docs/endpoints.md#canaries */
export function canaryResponses(
  canaries: CanaryBook,
  operations: Operations,
): Pick<EndpointResponses, "canaries" | "canary"> {
  return {
    canaries: () => jsonResponse(200, { canaries: canaries.standings() }),
    canary: (body) => {
      const { operator, call } = readCall(body);
      const { route, action, ...others } = call;
      const isKnown = action === "promote" || action === "abort";
      if (typeof route !== "string" || !isKnown || Object.keys(others).length > 0)
        return refusalResponse(400, 'canary takes {"route": PREFIX, "action": "promote" or "abort"}');
      const ended = canaries.end(route, action === "promote" ? "promoted" : "aborted");
      if (ended.length === 0) return refusalResponse(404, `no route ${route} has a canary`);
      operations.audit(`canary_${action}`, operator, { route });
      return jsonResponse(200, { canaries: ended });
    },
  };
}

/** What an ActionHandler has written. */
function readCall(body: string): ActionCall {
  return JSON.parse(body) as ActionCall;
}
