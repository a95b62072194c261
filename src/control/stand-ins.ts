import { closeSync } from "node:fs";
import { duplicate } from "../net/system-socket.ts";
import { isSamePlace, type ListenerPlace, type ListeningSocket } from "../worker/listeners.ts";
import type { ToWorker } from "../worker/messages.ts";

/** What the stand-ins ask of the control thread. */
interface StandInPorts {
  tell(worker: number, message: ToWorker): void;
  /** The listening sockets of the workers that listen. */
  readonly listening: ReadonlyMap<number, readonly ListeningSocket[]>;
  /** Whether a worker moves, as far as was looked. */
  moves(worker: number): boolean;
}

/** The sockets of a worker that has ended, and where they listen. */
interface Left {
  readonly sockets: readonly ListeningSocket[];
  readonly places: readonly ListenerPlace[];
}

/**
 * Who accepts the connections that wait for a worker which does not: each worker has a listening socket of its own, and the
 * kernel goes on handing connections to that of one that is stalled or has ended. Another worker accepts on it until it moves
 * again, or until the one that is started in its place has taken the socket over. docs/operations.md#workers
 */
export class StandIns {
  private readonly sources: StandInPorts;
  private readonly left: Map<number, Left> = new Map();
  /** By the worker that is replaced. */
  private readonly helpers: Map<number, number> = new Map();

  constructor(sources: StandInPorts) {
    this.sources = sources;
  }

  /** A worker is stalled: another one accepts on its sockets too, if there is one that moves. */
  help(worker: number): void {
    const { listening, moves } = this.sources;
    const sockets = (this.left.get(worker)?.sockets ?? listening.get(worker) ?? []).filter(isOurs);
    if (sockets.length === 0 || this.helpers.has(worker)) return;
    const helper = [...listening.keys()].find((one) => one !== worker && moves(one));
    if (helper === undefined) return;
    this.helpers.set(worker, helper);
    this.sources.tell(helper, { kind: "help", worker, sockets: duplicates(sockets) });
  }

  /** A worker accepts by itself. */
  done(worker: number): void {
    const helper = this.helpers.get(worker);
    if (helper !== undefined) this.sources.tell(helper, { kind: "leave", worker });
    this.helpers.delete(worker);
    this.close(worker);
  }

  /**
   * A worker has ended and is being started again: its sockets stay for the next one.
   * @param sockets those that it listened on
   * @param places where listeners are now
   */
  workerDied(worker: number, sockets: readonly ListeningSocket[], places: readonly ListenerPlace[]): void {
    const ours = sockets.filter(isOurs);
    if (ours.length > 0) this.left.set(worker, { sockets: ours, places });
    const without = [...this.helpers].filter(([, helper]) => helper === worker).map(([helped]) => helped);
    for (const helped of without) this.helpers.delete(helped);
    for (const helped of [worker, ...without]) this.help(helped);
  }

  /**
   * Descriptors for the worker that begins in the place of one that has ended; none if there was none, or where listeners
   * have moved meanwhile.
   */
  socketsFor(worker: number, places: readonly ListenerPlace[]): readonly ListeningSocket[] {
    const left = this.left.get(worker);
    const stays = (name: string): boolean => {
      const [before, now] = [left?.places, places].map((all) => all?.find((place) => place.name === name));
      return before !== undefined && now !== undefined && isSamePlace(before, now);
    };
    return duplicates((left?.sockets ?? []).filter(({ name }) => stays(name)));
  }

  /** The gateway accepts no more. */
  end(): void {
    for (const worker of [...this.left.keys()]) this.close(worker);
  }

  private close(worker: number): void {
    for (const { fd } of this.left.get(worker)?.sockets ?? []) closeSync(fd);
    this.left.delete(worker);
  }
}

/** A descriptor that is not the runtime's outlives the worker. */
function isOurs({ isKept }: ListeningSocket): boolean {
  return isKept === true;
}

/** Duplicates, owned by the receiver. */
function duplicates(sockets: readonly ListeningSocket[]): readonly ListeningSocket[] {
  return sockets.map(({ name, fd }) => ({ name, fd: duplicate(fd) })).filter(({ fd }) => fd >= 0);
}
