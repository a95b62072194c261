import type { AnyTakers } from "./message-takers.ts";
import type { Metric } from "./metric-row.ts";

/** A part, made ready for a configuration that is not in use yet. */
export interface Prepared {
  /** Fields of the message that brings the configuration to the workers. */
  readonly fields: object;
  /** Every worker has built it: `use` comes next. */
  takeUp?(): void;
  /** It is not to be used after all. */
  drop?(): void;
}

/**
 * A part of the control thread. What a part has none of, it leaves out; `control/services.ts` lists all parts, and says in which order they are called.
 * @typeParam Config the configuration that they take up
 */
export interface ControlService<Config> {
  /**
   * Makes ready for a configuration of a reload, before any worker builds it.
   * @throws Error if it cannot be used
   */
  prepare?(config: Config): Prepared;
  /**
   * Takes up a configuration: before the workers begin, and at each reload, once every worker has it.
   * @param file the same as the files said it, without what operators have switched and upstreams have told
   * @returns a promise that the workers await at the start, if there is one
   */
  use?(config: Config, file: Config): unknown;
  /** Takes up a configuration that differs from the one in use in targets of routes and streams alone, in place of `use`. */
  useTargets?(config: Config): void;
  /** Every worker serves, for the first time. */
  begin?(): void;
  /** A worker has ended; another one is started in its place. */
  workerDied?(worker: number): unknown;
  /** The process ends. @returns when its open work is done; after `limitMs` it gives up */
  stop?(limitMs: number): unknown;
  /** The messages of workers that are for it, by their kind. */
  readonly onMessage?: AnyTakers;
  metrics?(): readonly Metric[];
  /** Fields of the first message to a worker, old or new. */
  startFields?(): object;
}
