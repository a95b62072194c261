import type { Socket } from "bun";

/** A loopback port whose connections go to several others in turn: a load balancer in front of gateways. */
export class TurnRelay {
  /** How many connections each has had. */
  readonly counts: number[];
  private readonly server: { readonly port: number; stop(closeAll?: boolean): void };
  private next = 0;

  /** @param ports of the targets; one that refuses is passed over @param port a free one with 0 */
  constructor(ports: readonly number[], port = 0) {
    this.counts = ports.map(() => 0);
    this.server = Bun.listen<Pair>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          socket.data = { target: this.reach(ports, socket), last: Promise.resolve() };
        },
        data: (socket, chunk) => {
          const bytes = Buffer.from(chunk);
          socket.data.last = socket.data.last.then(async () => void (await socket.data.target)?.write(bytes));
        },
        close: (socket) => void socket.data.target.then((target) => target?.end()),
      },
    });
  }

  get port(): number {
    return this.server.port;
  }

  stop(): void {
    this.server.stop(true);
  }

  private async reach(ports: readonly number[], client: Socket<Pair>): Promise<Socket<undefined> | null> {
    for (let tries = 0; tries < ports.length; tries++) {
      const index = this.next++ % ports.length;
      try {
        const target = await Bun.connect<undefined>({
          hostname: "127.0.0.1",
          port: ports[index]!,
          socket: { data: (_socket, chunk) => void client.write(chunk), close: () => void client.end() },
        });
        this.counts[index]!++;
        return target;
      } catch {
        // The next one.
      }
    }
    client.end();
    return null;
  }
}

interface Pair {
  readonly target: Promise<Socket<undefined> | null>;
  last: Promise<void>;
}
