// Load at a chosen rate, whatever the server does: what is late counts from the time at which it was due, so that a
// server that stalls cannot hide it by holding the generator up (coordinated omission).
import { SeededRandom } from "../harness/seeded-random.ts";

/** What a paced stream has measured. */
export interface BenignLoad {
  sent: number;
  good: number;
  /** From the due time to the end of the answer, in milliseconds. */
  readonly latenciesMs: number[];
  /** From the write to the end of the answer. */
  readonly serviceMs: number[];
  /** From the due time to the write: the share of the generator, and of waiting for a free connection. */
  readonly latenessMs: number[];
}

/** Calls `send` with each due time, at Poisson-distributed intervals, until the time is over. */
export async function pace(perSecond: number, seconds: number, seed: number, send: (dueMs: number) => void) {
  const random = new SeededRandom(seed);
  const end = performance.now() + seconds * 1000;
  let dueMs = performance.now();
  while (dueMs < end) {
    const now = performance.now();
    for (; dueMs <= now && dueMs < end; dueMs += (-Math.log(1 - random.next()) * 1000) / perSecond) send(dueMs);
    await Bun.sleep(1);
  }
}

/** GET requests over kept connections. */
export class BenignStream {
  readonly load: BenignLoad = { sent: 0, good: 0, latenciesMs: [], serviceMs: [], latenessMs: [] };
  private readonly idle: Kept[] = [];
  private readonly due: number[] = [];
  private readonly request: Buffer;

  constructor(
    private readonly port: number,
    path: string,
  ) {
    this.request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`);
  }

  /** Opens the connections. */
  async open(connections: number): Promise<void> {
    for (let i = 0; i < connections; i++) await this.addConnection();
  }

  /** Sends one request on the first connection that is free. */
  send(dueMs: number): void {
    this.load.sent++;
    this.due.push(dueMs);
    this.next();
  }

  /** Waits for what is under way and closes. */
  async close(): Promise<BenignLoad> {
    const end = performance.now() + LAST_ANSWER_MS;
    while (this.load.latenciesMs.length < this.load.sent && performance.now() < end) await Bun.sleep(5);
    for (const kept of this.idle) kept.socket?.end();
    return this.load;
  }

  private next(): void {
    const kept = this.due.length > 0 ? this.idle.pop() : undefined;
    if (kept === undefined) return;
    kept.dueMs = this.due.shift()!;
    kept.sentMs = performance.now();
    kept.received = "";
    this.load.latenessMs.push(kept.sentMs - kept.dueMs);
    kept.socket!.write(this.request);
  }

  private take(kept: Kept, bytes: Buffer): void {
    kept.received += bytes.latin1Slice(0, bytes.length);
    const answer = readAnswer(kept.received);
    if (answer === null || kept.dueMs < 0) return;
    const now = performance.now();
    this.load.latenciesMs.push(now - kept.dueMs);
    this.load.serviceMs.push(now - kept.sentMs);
    if (answer === 200) this.load.good++;
    kept.dueMs = -1;
    this.idle.push(kept);
    this.next();
  }

  // A connection that is lost is opened again; the request on it has failed.
  private lose(kept: Kept): void {
    const at = this.idle.indexOf(kept);
    if (at >= 0) this.idle.splice(at, 1);
    if (kept.dueMs >= 0) void this.addConnection();
  }

  private async addConnection(): Promise<void> {
    const kept: Kept = { socket: null, dueMs: -1, sentMs: -1, received: "" };
    kept.socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: this.port,
      socket: { data: (_, bytes) => this.take(kept, bytes), close: () => this.lose(kept), error: () => {} },
    });
    this.idle.push(kept);
    this.next();
  }
}

/** Hostile requests, each on a connection of its own. */
export class AttackStream {
  /** How many ended in what: a status, `closed` or `reset` without an answer, `silent`. */
  readonly outcomes = new Map<string, number>();
  sent = 0;
  private readonly open = new Set<Attacker>();

  constructor(
    private readonly port: number,
    private readonly attacks: readonly Buffer[],
  ) {}

  /** Sends the next attack of the catalogue. */
  send(): void {
    const bytes = this.attacks[this.sent++ % this.attacks.length]!;
    const attacker: Attacker = { socket: null, outcome: "", endMs: performance.now() + GIVE_UP_MS };
    this.open.add(attacker);
    const socket: Bun.SocketHandler = {
      open: (s) => void s.write(bytes),
      data: (_, answer) => {
        attacker.outcome ||= /^HTTP\/1\.[01] (\d{3})/.exec(answer.latin1Slice(0, 12))?.[1] ?? "not HTTP";
      },
      close: (_, error) => this.finish(attacker, error ? "reset" : "closed"),
      error: () => this.finish(attacker, "reset"),
    };
    Bun.connect({ hostname: "127.0.0.1", port: this.port, socket }).then(
      (s) => {
        attacker.socket = s;
      },
      () => this.finish(attacker, "reset"),
    );
    this.giveUp();
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    const end = performance.now() + GIVE_UP_MS;
    while (this.open.size > 0 && performance.now() < end) await Bun.sleep(5);
    this.giveUp(true);
  }

  private finish(attacker: Attacker, without: string): void {
    if (!this.open.delete(attacker)) return;
    const outcome = attacker.outcome || without;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  // The oldest come first. A server that neither answers nor closes must not make the attacker hold everything.
  private giveUp(all = false): void {
    const now = performance.now();
    for (const attacker of this.open) {
      if (!all && attacker.endMs > now) return;
      this.finish(attacker, "silent");
      attacker.socket?.terminate();
    }
  }
}

interface Kept {
  socket: Bun.Socket | null;
  dueMs: number;
  sentMs: number;
  received: string;
}

interface Attacker {
  socket: { terminate(): void } | null;
  outcome: string;
  readonly endMs: number;
}

const GIVE_UP_MS = 1000;
const LAST_ANSWER_MS = 2000;

// The status of a complete answer with Content-Length; null while bytes are missing.
function readAnswer(text: string): number | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
  return text.length < end + 4 + length ? null : Number(text.slice(9, 12));
}
