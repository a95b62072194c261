import type { Socket } from "bun";

/** How a relay passes on what clients send: the pieces, one write each. */
export type Cutting = (bytes: Buffer) => Buffer[];

/** A loopback port that passes everything on to another, with what clients send cut into pieces. */
export class Relay {
  private readonly server: { readonly port: number; stop(closeAll?: boolean): void };

  private constructor(to: number, cut: Cutting) {
    this.server = Bun.listen<Leg>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(socket) {
          socket.data = new Leg(socket, to, cut);
        },
        data: (socket, chunk) => socket.data.receive(chunk),
        close: (socket) => socket.data.end(),
      },
    });
  }

  /** @param to the port that everything goes to */
  static to(to: number, cut: Cutting): Relay {
    return new Relay(to, cut);
  }

  get port(): number {
    return this.server.port;
  }

  stop(): void {
    this.server.stop(true);
  }
}

/** One client of the relay. */
class Leg {
  private readonly upstream: Promise<Socket<undefined>>;
  private sending: Promise<void> = Promise.resolve();

  constructor(
    client: Socket<Leg>,
    to: number,
    private readonly cut: Cutting,
  ) {
    this.upstream = Bun.connect<undefined>({
      hostname: "127.0.0.1",
      port: to,
      socket: { data: (_socket, chunk) => void client.write(chunk), close: () => void client.end() },
    });
  }

  receive(chunk: Buffer): void {
    this.sending = this.sending.then(async () => {
      const socket = await this.upstream;
      for (const piece of this.cut(chunk)) {
        socket.write(piece);
        await Bun.sleep(0);
      }
    });
  }

  end(): void {
    void this.upstream.then((socket) => socket.end());
  }
}

/** Each byte by itself. */
export function bytewise(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}
