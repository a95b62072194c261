import type { WriteEvent } from "../facts/events.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** What the process ends with after a signal. */
const enum ExitCode {
  Done = 0,
  /** Something was under way for longer than `server.shutdown_timeout`. */
  Cut = 3,
}

/** How long workers may take to end what draining has left. */
const CUT_MS = 1000;

/** What the end of the process needs of the control thread. */
interface EndingPorts {
  settings(): { readonly shutdownTimeoutMs: number; readonly drainDelayMs: number };
  /** Whether new connections are still served during `server.drain_delay`. */
  isDelayed(): boolean;
  /** Whether another process takes over. */
  hasSuccessor(): boolean;
  /** Its process id; 0 without one. */
  successorPid(): number;
  readonly pool: WorkerPool;
  /** A signal has come. */
  onBegin(): void;
  /** The workers are about to be told to accept no more. */
  onDrain(): void;
  /** Open client connections. */
  connections(): number;
  readonly event: WriteEvent;
  /** Ends the process. */
  finish(code: number): void;
}

/**
 * How the process ends. docs/operations.md#ending
 *
 *   Serving ──signal──▶ Leaving ──drain_delay──▶ Draining ──all done──▶ exit 0
 *                          └──second signal──▶ exit 1  └──shutdown_timeout──▶ Cut ──CUT_MS at most──▶ exit 3
 */
export class Ending {
  /** A signal has come. */
  hasBegun = false;
  /** The workers accept no more. */
  isDraining = false;
  private wasCut = false;
  private readonly port: EndingPorts;

  constructor(port: EndingPorts) {
    this.port = port;
  }

  /** A signal: the first one drains, the second one ends at once. */
  begin(): void {
    if (this.hasBegun) process.exit(1);
    this.hasBegun = true;
    const { port } = this;
    port.onBegin();
    const { shutdownTimeoutMs, drainDelayMs } = port.settings();
    const delayMs = port.isDelayed() ? drainDelayMs : 0;
    // The signal may be an operator's, who is to know that the other process goes on.
    const successor = port.hasSuccessor() ? { successor: port.successorPid() } : {};
    port.event("draining", { delay_ms: delayMs, timeout_ms: shutdownTimeoutMs, ...successor });
    if (delayMs === 0) this.drain(shutdownTimeoutMs);
    else {
      port.pool.broadcast({ kind: "leaving" });
      setTimeout(() => this.drain(shutdownTimeoutMs), delayMs);
    }
  }

  /** Tells a worker that begins while the process ends. */
  tell(worker: number): void {
    const { pool } = this.port;
    pool.send(
      worker,
      this.isDraining ? { kind: "drain", hasSuccessor: this.port.hasSuccessor() } : { kind: "leaving" },
    );
  }

  /** No worker has anything in hand. */
  onDrained(): void {
    this.port.finish(this.wasCut ? ExitCode.Cut : ExitCode.Done);
  }

  private drain(timeoutMs: number): void {
    this.isDraining = true;
    setTimeout(() => this.cut(), timeoutMs);
    this.port.onDrain();
    this.port.pool.drain(this.port.hasSuccessor());
  }

  /** The time is over: what is left is ended, and the log says so. */
  private cut(): void {
    const { port } = this;
    this.wasCut = true;
    port.event("drain_cut", { connections: port.connections() });
    port.pool.broadcast({ kind: "cut" });
    setTimeout(() => port.finish(ExitCode.Cut), CUT_MS);
  }
}
