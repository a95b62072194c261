import { type KeyPlace, keyPlaces } from "../config/row.ts";
import { messageOf } from "../core/error-text.ts";
import type { FieldsOfEvent, WriteEvent } from "../facts/events.ts";
import { hasCertificate } from "../features/sidecar/settings.ts";
import type { BesideFiles } from "../loading/load-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { configFile } from "../settings/config-settings.ts";
import { type ListenerPlace, listenersOf } from "../worker/listeners.ts";
import type { NewTargets } from "../worker/live-targets.ts";
import type { NewConfiguration, ToWorker } from "../worker/messages.ts";

/** What `config_reload` says of a reload beside whether it has succeeded. */
type ReloadFields = Omit<FieldsOfEvent<"config_reload">, "ok">;

/** What a reload gives: a new configuration, or why there is none. */
export type ReloadResult =
  | {
      readonly ok: true;
      readonly config: RuntimeConfig;
      /** What `config_reload` says of it. */
      readonly fields?: ReloadFields;
      /** Called when it is in use everywhere, or why it is not. @param faults none if it is */
      readonly settled?: (faults: readonly string[]) => void;
    }
  | { readonly ok: false; readonly faults: readonly string[]; readonly fields?: ReloadFields };

/** The lists of routes beside routes.yaml. */
export interface BesidePorts {
  /** The result of their last reading. */
  files(): BesideFiles;
  /** Reads them again, and neither of both files. */
  read(): ReloadResult | Promise<ReloadResult>;
}

/** A configuration that the control thread has made ready for the workers, and has not taken up itself. */
export type NextConfiguration = NextSteps &
  (
    | { readonly isLive?: false; readonly message: Omit<NewConfiguration, "id"> }
    /** Targets alone are others: the configuration in use goes on with them. */
    | { readonly isLive: true; readonly message: Omit<NewTargets, "id"> }
  );

interface NextSteps {
  /** Every worker has built it: the control thread takes it up. */
  takeUp(): void;
  /** Some worker could not build it: what was opened for it is closed. */
  drop(): void;
  /** Every worker has taken it up. @returns the settings that only a restart takes up, and what it took away */
  settled(): ReloadFields;
}

/** What reloads ask of the control thread. */
interface ReloadPorts {
  /** Reads the files, or what is in their place. */
  read(): ReloadResult | Promise<ReloadResult>;
  /** The configuration in use, as the files said it: what operators have switched since is built in by `prepare`. */
  current(): RuntimeConfig;
  /**
   * @param isWhole whether workers build it anew even if targets alone are others
   * @throws what prevents the configuration, such as a port that is taken
   */
  prepare(config: RuntimeConfig, isWhole: boolean): NextConfiguration;
  /** Whether the process ends: no reload begins any more. */
  isEnding(): boolean;
  /** The workers that serve now. */
  workers(): Iterable<number>;
  broadcast(message: ToWorker): void;
  /** Tells the service manager of the beginning and of the end. */
  onBegin(): void;
  onEnd(): void;
  readonly event: WriteEvent;
}

/** The outcome of a reload. */
export interface ReloadOutcome {
  readonly ok: boolean;
  /** Of the configuration in use now. */
  readonly generation: number;
  /** Why nothing has changed; empty if it has. */
  readonly faults: readonly string[];
  /** What `config_reload` says beside these. */
  readonly fields: ReloadFields;
}

type Waiting = ((outcome: ReloadOutcome) => void)[];

/** A configuration in place of the files'. */
interface Other {
  readonly read: ReloadPorts["read"];
  readonly isWhole: boolean;
  readonly waiting: Waiting;
}

/** How long a worker may take to build a configuration; ten thousand routes take it less than a second. */
const RELOAD_PATIENCE_MS = 30_000;

const ENDING = "the process is ending";

/** Why a reload changes nothing. */
class ReloadFaults extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join("; "));
  }
}

/** The reloads of the configuration, one at a time. docs/operations.md#reload */
export class Reloads {
  /** Counts the configurations that have been in use, from 1. */
  generation = 1;
  isLastOk = true;
  /** When the configuration in use was loaded, in milliseconds since the epoch. */
  lastMs: number = Date.now();
  private readonly port: ReloadPorts;
  private readonly rollout: Rollout;
  private lastId = 0;
  private isRunning = false;
  /** Who waits for the next reload, and for the next `rebuild`; null if it is not wanted. */
  private reloads: Waiting | null = null;
  /** Configurations to take up in place of the files'. */
  private readonly others: Other[] = [];
  private rebuilds: Waiting | null = null;

  constructor(port: ReloadPorts) {
    this.port = port;
    this.rollout = new Rollout(() => port.workers(), RELOAD_PATIENCE_MS);
  }

  /**
   * Reloads, now or after the one that is running; calls that come meanwhile share one more.
   * @returns what came of it
   */
  want(): Promise<ReloadOutcome> {
    this.reloads ??= [];
    return this.outcomeFor(this.reloads);
  }

  /**
   * The same with the result of `read` in place of the files, after the calls that wait already.
   * @param isWhole whether workers build it anew even if targets alone are others
   */
  take(read: ReloadPorts["read"], isWhole = false): Promise<ReloadOutcome> {
    const waiting: Waiting = [];
    this.others.push({ read, isWhole, waiting });
    return this.outcomeFor(waiting);
  }

  /** Brings the configuration in use to the workers anew, without reading the files. No line of the log tells of it. */
  rebuild(): Promise<ReloadOutcome> {
    this.rebuilds ??= [];
    return this.outcomeFor(this.rebuilds);
  }

  private outcomeFor(waiting: Waiting): Promise<ReloadOutcome> {
    const outcome = new Promise<ReloadOutcome>((resolve) => waiting.push(resolve));
    if (!this.isRunning) {
      this.isRunning = true;
      void this.runAll();
    }
    return outcome;
  }

  /** A worker has built a configuration, or has taken it up. @param error "" if it could */
  onAnswer(worker: number, kind: "prepared" | "applied", id: number, error: string): void {
    this.rollout.onAnswer(worker, kind, id, error);
  }

  /** A worker is gone. */
  onDeath(worker: number): void {
    this.rollout.onDeath(worker);
  }

  private async runAll(): Promise<void> {
    for (;;) {
      const { reloads, rebuilds, others } = this;
      const other = reloads === null ? others.shift() : undefined;
      if (reloads !== null) this.reloads = null;
      else if (other === undefined) this.rebuilds = null;
      const waiting = reloads ?? other?.waiting ?? rebuilds;
      if (waiting === null) {
        // At once: the caller that gets an outcome may want the next one.
        this.isRunning = false;
        return;
      }
      const isRebuild = reloads === null && other === undefined;
      const { read = () => this.port.read(), isWhole = true } = other ?? {};
      const outcome = await (isRebuild ? this.rebuildNow() : this.reload(read, isWhole));
      for (const resolve of waiting) resolve(outcome);
    }
  }

  private async rebuildNow(): Promise<ReloadOutcome> {
    const { port } = this;
    return port.isEnding() ? this.failed([ENDING]) : this.attempt(() => port.current(), false);
  }

  private async reload(source: ReloadPorts["read"], isWhole: boolean): Promise<ReloadOutcome> {
    const { port } = this;
    if (port.isEnding()) return this.failed([ENDING]);
    port.onBegin();
    let result: ReloadResult | null = null;
    const judged = (read: ReloadResult): RuntimeConfig => {
      result = read;
      if (!read.ok) throw new ReloadFaults(read.faults);
      return read.config;
    };
    const outcome = await this.attempt(() => {
      const read = source();
      return read instanceof Promise ? read.then(judged) : judged(read);
    }, isWhole);
    const { ok, generation, faults, fields } = outcome;
    const { settled, fields: about = {} } = (result ?? {}) as Partial<ReloadResult & { readonly ok: true }>;
    settled?.(faults);
    this.isLastOk = ok;
    if (ok) this.lastMs = Date.now();
    port.event("config_reload", ok ? { ok, generation, ...about, ...fields } : { ok, generation, faults, ...about });
    port.onEnd();
    return outcome;
  }

  private async attempt(
    config: () => RuntimeConfig | Promise<RuntimeConfig>,
    isWhole: boolean,
  ): Promise<ReloadOutcome> {
    try {
      const found = config();
      const fields = await this.run(found instanceof Promise ? await found : found, isWhole);
      return { ok: true, generation: this.generation, faults: [], fields };
    } catch (error) {
      return this.failed(error instanceof ReloadFaults ? error.faults : [messageOf(error)]);
    }
  }

  private failed(faults: readonly string[]): ReloadOutcome {
    return { ok: false, generation: this.generation, faults, fields: {} };
  }

  /**
   * Brings a configuration to every worker, or changes nothing anywhere.
   * @returns what the log says of it
   * @throws ReloadFaults, or whatever building the configuration has thrown
   */
  private async run(config: RuntimeConfig, isWhole: boolean): Promise<ReloadFields> {
    const { port, rollout } = this;
    const next = port.prepare(config, isWhole);
    const id = ++this.lastId;
    const tell = (step: "prepare" | "commit") => port.broadcast(wordOf(step, id, next));
    const errors = await rollout.all("prepared", id, () => tell("prepare"));
    if (errors.length > 0 || port.isEnding()) {
      port.broadcast({ kind: "abort", id });
      next.drop();
      throw new ReloadFaults(errors.length > 0 ? errors : [ENDING]);
    }
    if (next.isLive !== true) this.generation++;
    next.takeUp();
    const late = await rollout.all("applied", id, () => tell("commit"));
    return { ...next.settled(), ...(late.length > 0 ? { late } : {}) };
  }
}

/** One of both steps, for the workers. */
function wordOf(step: "prepare" | "commit", id: number, next: NextConfiguration): ToWorker {
  return next.isLive ? { kind: `${step}-targets`, id, ...next.message } : { kind: step, id, ...next.message };
}

/** What the workers have said to one question. */
interface Round {
  readonly id: number;
  readonly waitsFor: "prepared" | "applied";
  readonly left: Set<number>;
  readonly errors: string[];
  readonly timer: Timer;
  readonly resolve: (errors: readonly string[]) => void;
}

/**
 * Brings a configuration to all workers or to none: first every worker builds it, and only when all have is it taken up.
 * docs/operations.md#reload
 */
class Rollout {
  private readonly workers: () => Iterable<number>;
  private readonly patienceMs: number;
  private round: Round | null = null;

  /**
   * @param workers those that serve now
   * @param patienceMs how long one of them may take to build a configuration, and to take it up
   */
  constructor(workers: () => Iterable<number>, patienceMs: number) {
    this.workers = workers;
    this.patienceMs = patienceMs;
  }

  /**
   * Waits until every worker has answered, or is gone: its successor begins with what is in use then.
   * @param ask asks them
   * @returns why it failed, nothing if all is well
   */
  all(waitsFor: Round["waitsFor"], id: number, ask: () => void): Promise<readonly string[]> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.giveUp(), this.patienceMs);
      this.round = { id, waitsFor, left: new Set(this.workers()), errors: [], timer, resolve };
      ask();
      this.check();
    });
  }

  /** A worker has answered. @param error "" if it could */
  onAnswer(worker: number, kind: Round["waitsFor"], id: number, error: string): void {
    const { round } = this;
    if (round === null || round.id !== id || round.waitsFor !== kind) return;
    if (!round.left.delete(worker)) return;
    if (error !== "" && !round.errors.includes(error)) round.errors.push(error);
    this.check();
  }

  /** A worker is gone. */
  onDeath(worker: number): void {
    this.round?.left.delete(worker);
    this.check();
  }

  private giveUp(): void {
    const { round } = this;
    if (round === null) return;
    const late = [...round.left].join(", ");
    round.errors.push(`worker ${late} has not ${round.waitsFor} it within ${this.patienceMs / 1000} s`);
    round.left.clear();
    this.check();
  }

  private check(): void {
    const { round } = this;
    if (round === null || round.left.size > 0) return;
    this.round = null;
    clearTimeout(round.timer);
    round.resolve(round.errors);
  }
}

/** The settings that only a restart takes up, as they are since the start: by their paths in config.yaml. */
export type RestartSettings = ReadonlyMap<string, unknown>;

/**
 * What of a configuration stays until a restart: the rows with `restart`. What is marked with (HTTP/3) is applied for
 * everything else: the runtime's QUIC is opened once, by the thread that owns it, and keeps what it was opened with.
 */
export function restartSettings(config: RuntimeConfig): RestartSettings {
  const { server, sidecar } = config;
  const settings = new Map<string, unknown>();
  for (const { path, row, valueIn } of PLACES) {
    const value = valueIn(config);
    if (value === null) continue;
    if (row.restart === "everywhere") settings.set(path, value);
    else if (row.restart === "HTTP/3" && server.http3.enabled) settings.set(`${path} (HTTP/3)`, value);
  }
  // No value of one row: cleartext and TLS are two kinds of listener.
  return settings.set("sidecar.cert_file", hasCertificate(sidecar));
}

/** Settings in which a configuration differs from what has been running since the start. */
export function needsRestart(running: RestartSettings, now: RuntimeConfig): readonly string[] {
  // Where one of the two has no HTTP/3, its settings are not looked at: the switch is named.
  return [...restartSettings(now)].flatMap(([key, value]) => {
    const before = running.get(key);
    return before === undefined || before === value ? [] : [key];
  });
}

/**
 * What a reload takes away of what guards the gateway or listens, as `config_reload` names it: listeners, TLS, demands for
 * client certificates, the firewall. docs/operations.md#reload
 */
export function removedParts(before: RuntimeConfig, now: RuntimeConfig): readonly string[] {
  const removed = listenersGone(before, now).map(
    ({ name, host, port, isUnix }) => `listener ${name} ${host}${isUnix ? "" : `:${port}`}`,
  );
  for (const { name, isIn } of GUARDS) if (isIn(before) && !isIn(now)) removed.push(name);
  return removed;
}

/** A listener that only moves is not gone. */
function listenersGone(before: RuntimeConfig, now: RuntimeConfig): readonly ListenerPlace[] {
  const left = listenersOf(now);
  return listenersOf(before).filter(({ name }) => !left.some((place) => place.name === name));
}

/** Something that guards, as `config_reload` names it. */
interface Guard {
  readonly name: string;
  isIn(config: RuntimeConfig): boolean;
}

/** A key with several values that guard has a guard for each: that value or a stronger one is there. */
function guardsOf({ path, row: { guard }, valueIn }: KeyPlace): readonly Guard[] {
  if (guard === undefined) return [];
  if (guard === true) return [{ name: path, isIn: (config) => isOn(valueIn(config)) }];
  return guard.map((value, i) => {
    const enough = guard.slice(i);
    const isIn = (config: RuntimeConfig): boolean => enough.includes(valueIn(config) as string);
    return { name: enough.length > 1 ? path : `${path}: ${value}`, isIn };
  });
}

function isOn(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value !== "object" || value === null) return value === true || (typeof value === "string" && value !== "");
  return (value as { readonly enabled?: boolean }).enabled === true;
}

const PLACES = keyPlaces(configFile.rows);
const GUARDS: readonly Guard[] = PLACES.flatMap(guardsOf);
