// A load of evenly spaced requests on kept connections: one request wakes a server at a time, so that two phases are alike.
import { connect, type Socket } from "node:net";

/** What is sent where. */
export interface EvenPlan {
  readonly port: number;
  /** Paths that are asked for in turn. */
  readonly paths: readonly string[];
  readonly connections: number;
  readonly perSecond: number;
}

/** Sends GET requests at an even pace until it is stopped. */
export class EvenLoad {
  /** Requests whose response has come. */
  answered = 0;
  /** Responses that are no 200, and connections that have ended. */
  failed = 0;
  private readonly plan: EvenPlan;
  private readonly free: Socket[] = [];
  private readonly sockets: Socket[] = [];
  private sent = 0;
  private timer: Timer | null = null;

  private constructor(plan: EvenPlan) {
    this.plan = plan;
  }

  /** Opens the connections and begins to send. */
  static async start(plan: EvenPlan): Promise<EvenLoad> {
    const load = new EvenLoad(plan);
    await Promise.all(Array.from({ length: plan.connections }, () => load.open()));
    const startedMs = performance.now();
    load.timer = setInterval(() => load.sendDue(((performance.now() - startedMs) * plan.perSecond) / 1000), 1);
    return load;
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    for (const socket of this.sockets) socket.destroy();
  }

  /** A response is taken to come in one piece: those that are asked for are small. */
  private open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({ port: this.plan.port, host: "127.0.0.1", noDelay: true }, resolve);
    socket.on("error", reject);
    socket.on("data", (bytes) => {
      this.answered++;
      if (bytes.toString("latin1", 9, 12) !== "200") this.failed++;
      this.free.push(socket);
    });
    socket.on("close", () => {
      if (this.timer !== null) this.failed++;
    });
    this.sockets.push(socket);
    this.free.unshift(socket);
    return promise;
  }

  /** What finds no free connection is sent when there is one. */
  private sendDue(due: number): void {
    const { paths } = this.plan;
    while (this.sent < due) {
      const socket = this.free.shift();
      if (socket === undefined) return;
      socket.write(
        `GET ${paths[this.sent++ % paths.length]} HTTP/1.1\r\nHost: bench.test\r\nUser-Agent: bench\r\n\r\n`,
      );
    }
  }
}
