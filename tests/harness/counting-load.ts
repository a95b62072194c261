import type { Socket } from "bun";

/** What became of the requests of a load. Each that was sent is in exactly one of the others, once the load has stopped. */
export interface LoadCounts {
  sent: number;
  /** With a status below 400. */
  answered: number;
  /** With 429. */
  limited: number;
  /** With another status: 5xx above all. */
  refused: number;
  /** Sent in whole on an open connection, and never answered. */
  lost: number;
  /** Connections that could not be made: their requests were not sent. */
  unreached: number;
}

/** One way in: how many connections go there, and how many requests a second. */
export interface LoadShare {
  readonly port: number;
  readonly connections: number;
  readonly perSecond: number;
}

/**
 * A bounded load of GET requests on kept connections, one at a time on each. What is due and finds all connections waiting is left out:
 * it sends what it says, or less. Counts by what was sent, and loses sight of nothing.
 */
export class CountingLoad {
  readonly counts: LoadCounts = { sent: 0, answered: 0, limited: 0, refused: 0, lost: 0, unreached: 0 };
  /** The statuses, and how often each came. */
  readonly statuses: Map<number, number> = new Map();
  readonly startedMs: number = performance.now();
  private readonly lines: readonly Line[];
  private readonly timer: Timer;
  private isOver = false;

  constructor(path: string, shares: readonly LoadShare[]) {
    const request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: fleet.test\r\n\r\n`);
    this.lines = shares.map((share) => new Line(share, request, this));
    let lastMs = performance.now();
    this.timer = setInterval(() => {
      const nowMs = performance.now();
      for (const line of this.lines) line.tick(nowMs - lastMs);
      lastMs = nowMs;
    }, TICK_MS);
  }

  /** Sends no more, and waits for the answers that are due. */
  async stop(): Promise<LoadCounts> {
    if (!this.isOver) {
      this.isOver = true;
      clearInterval(this.timer);
      const deadline = performance.now() + ANSWER_LIMIT_MS;
      while (this.lines.some((line) => line.isWaiting) && performance.now() < deadline) await Bun.sleep(TICK_MS);
      for (const line of this.lines) line.close();
    }
    return this.counts;
  }

  note(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (status < 400) this.counts.answered++;
    else if (status === 429) this.counts.limited++;
    else this.counts.refused++;
  }

  /** For the test's output. */
  toString(): string {
    const seconds = ((performance.now() - this.startedMs) / 1000).toFixed(1);
    const counts = Object.entries(this.counts).map(([name, count]) => `${name} ${count}`);
    return `${counts.join(", ")} in ${seconds} s`;
  }
}

/** The connections of one share. */
class Line {
  private readonly share: LoadShare;
  private readonly request: Buffer;
  private readonly load: CountingLoad;
  private readonly idle: Connection[] = [];
  private readonly all: Set<Connection> = new Set();
  private opening = 0;
  private due = 0;

  constructor(share: LoadShare, request: Buffer, load: CountingLoad) {
    this.share = share;
    this.request = request;
    this.load = load;
  }

  get isWaiting(): boolean {
    return [...this.all].some((connection) => connection.isWaiting);
  }

  tick(elapsedMs: number): void {
    const { perSecond, connections } = this.share;
    this.due = Math.min(this.due + (elapsedMs * perSecond) / 1000, perSecond / 4);
    while (this.all.size + this.opening < connections) this.open();
    while (this.due >= 1 && this.idle.length > 0) {
      this.due--;
      this.load.counts.sent++;
      this.idle.shift()!.send(this.request);
    }
  }

  close(): void {
    for (const connection of [...this.all]) connection.end();
  }

  private open(): void {
    this.opening++;
    const line = this;
    Bun.connect<Connection>({
      hostname: "127.0.0.1",
      port: this.share.port,
      socket: {
        open(socket) {
          line.opening--;
          socket.data = new Connection(socket, {
            onStatus: (status) => line.load.note(status),
            onIdle: (connection) => line.idle.push(connection),
            onEnd: (connection) => line.drop(connection),
          });
          line.all.add(socket.data);
          line.idle.push(socket.data);
        },
        data: (socket, chunk) => socket.data.receive(chunk),
        close: (socket) => socket.data?.end(),
        error: (socket) => socket.data?.end(),
      },
    }).catch(() => {
      this.opening--;
      this.load.counts.unreached++;
    });
  }

  private drop(connection: Connection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (connection.isWaiting) this.load.counts.lost++;
  }
}

interface ConnectionListener {
  onStatus(status: number): void;
  onIdle(connection: Connection): void;
  onEnd(connection: Connection): void;
}

/** One connection: a request, its whole answer, the next one. */
class Connection {
  isWaiting = false;
  private readonly socket: Socket<Connection>;
  private readonly listener: ConnectionListener;
  private text = "";
  private isOver = false;

  constructor(socket: Socket<Connection>, listener: ConnectionListener) {
    this.socket = socket;
    this.listener = listener;
  }

  send(request: Buffer): void {
    this.isWaiting = true;
    this.socket.write(request);
  }

  receive(chunk: Buffer): void {
    this.text += chunk.toString("latin1");
    const end = this.text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.text.slice(0, end).toLowerCase();
    const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0);
    if (this.text.length < end + 4 + length) return;
    this.text = this.text.slice(end + 4 + length);
    this.isWaiting = false;
    this.listener.onStatus(Number(head.slice(9, 12)));
    if (/\r\nconnection: *close/.test(head)) this.end();
    else this.listener.onIdle(this);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.onEnd(this);
    this.socket.end();
  }
}

const TICK_MS = 5;
/** More than any time-out on the way. */
const ANSWER_LIMIT_MS = 30_000;
