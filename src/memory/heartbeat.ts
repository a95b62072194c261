import { ownThreadId } from "./thread-id.ts";

/** A worker's own beat. */
export class Heartbeat {
  private readonly beats: Int32Array;
  private readonly worker: number;

  /** @param buffer of the watch */
  constructor(buffer: SharedArrayBuffer, worker: number) {
    this.beats = new Int32Array(buffer);
    this.worker = worker;
    Atomics.store(this.beats, this.beats.length / 2 + worker, ownThreadId());
    this.beat();
  }

  /** The worker moves. The count never rests at 0, which means that it has not begun. */
  beat(): void {
    if (Atomics.add(this.beats, this.worker, 1) === -1) Atomics.store(this.beats, this.worker, 1);
  }
}
