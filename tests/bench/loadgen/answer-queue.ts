import { PreciseAlarm } from "../../../src/tools/loadgen/precise-alarm.ts";

/** Answers that leave at a time of their own: a heap, the earliest on top. */
export class AnswerQueue<Client> {
  private readonly times: number[] = [];
  private readonly clients: Client[] = [];
  private readonly alarm = new PreciseAlarm(() => this.release());

  constructor(private readonly answer: (client: Client) => void) {}

  /** Answers a client at `atMs` on the clock of `performance.now()`. */
  add(atMs: number, client: Client): void {
    const isEarliest = this.times.length === 0 || atMs < this.times[0]!;
    let at = this.times.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = (at - 1) >> 1;
      if (this.times[parent]! <= atMs) break;
      this.times[at] = this.times[parent]!;
      this.clients[at] = this.clients[parent]!;
    }
    this.times[at] = atMs;
    this.clients[at] = client;
    if (isEarliest) this.alarm.at(atMs);
  }

  private release(): void {
    const now = performance.now();
    while (this.times.length > 0 && this.times[0]! <= now) {
      const client = this.clients[0]!;
      this.dropEarliest();
      this.answer(client);
    }
    if (this.times.length > 0) this.alarm.at(this.times[0]!);
  }

  private dropEarliest(): void {
    const atMs = this.times.pop()!;
    const client = this.clients.pop()!;
    const { length } = this.times;
    if (length === 0) return;
    let at = 0;
    for (let child = 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && this.times[child + 1]! < this.times[child]!) child++;
      if (this.times[child]! >= atMs) break;
      this.times[at] = this.times[child]!;
      this.clients[at] = this.clients[child]!;
      at = child;
    }
    this.times[at] = atMs;
    this.clients[at] = client;
  }
}
