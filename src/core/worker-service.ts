import type { AnyTakers } from "./message-takers.ts";

/**
 * A part of a data worker that outlives configurations. What a part has none of, it leaves out; `worker/services.ts` lists all parts, and says in which order
 * they are called. All of these are called in a turn of the worker.
 * @typeParam Config the configuration that they take up
 */
export interface WorkerService<Config> {
  /** Takes its fields of the worker's first message, before anything is built. */
  begin?(start: never): void;
  /** Takes its fields of the message that brings a configuration, and of the first: `prepare` has made them in the control thread. */
  share?(fields: never): void;
  /** Takes up a configuration, the first one too: requests that begin from now on take it. */
  use?(config: Config): void;
  /** Called every TICK_MS. @param nowMs on the clock of the worker's turns */
  tick?(nowMs: number): void;
  /** The worker takes nothing new, and its open work ends. @param hasSuccessor whether another process serves already */
  stop?(hasSuccessor: boolean): void;
  /** The messages of the control thread that are for it, by their kind. */
  readonly onMessage?: AnyTakers;
}
