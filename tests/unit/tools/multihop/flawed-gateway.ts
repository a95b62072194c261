import type { Socket, TCPSocketListener } from "bun";
import type { BackendName } from "../../../../src/tools/multihop/backend.ts";
import type { Flaw } from "./flaw.ts";
import { FlawedH1 } from "./flawed-h1.ts";
import { FlawedH2 } from "./flawed-h2.ts";
import { FlawedPool } from "./flawed-pool.ts";

/** One protocol on one client's connection. */
export interface FlawedProtocol {
  /** Takes all bytes so far and gives how many it is done with. */
  read(bytes: Buffer): Promise<number>;
}

interface FlawedClient {
  bytes: Buffer;
  protocol: FlawedProtocol | null;
  isReading: boolean;
}

/**
 * A small gateway that does what the ten vectors require, but for one flaw: the harness must find just that. It knows
 * only what the harness sends.
 */
export class FlawedGateway {
  /** Requests that were refused over HTTP/1.1. */
  refusals = 0;
  private readonly listener: TCPSocketListener<FlawedClient>;
  private readonly pools: Map<string, FlawedPool>;
  private readonly turns: Map<string, Promise<Buffer | null>[]> = new Map();

  constructor(
    ports: ReadonlyMap<BackendName, number>,
    readonly flaw: Flaw,
  ) {
    const keeps = flaw === "passes a wrong length from HTTP/2";
    this.pools = new Map([...ports].map(([name, port]) => [`/${name}`, new FlawedPool(port, keeps)]));
    this.listener = Bun.listen<FlawedClient>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => {
          socket.data = { bytes: Buffer.alloc(0), protocol: null, isReading: false };
        },
        data: (socket, chunk) => {
          socket.data.bytes = Buffer.concat([socket.data.bytes, chunk]);
          void this.read(socket);
        },
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  stop(): void {
    this.listener.stop(true);
  }

  /** Forwards a request. `head` is without the prefix already. */
  async forward(prefix: string, head: string, body: Buffer): Promise<Buffer | null> {
    const pool = this.pools.get(prefix)!;
    const request = Buffer.concat([Buffer.from(head, "latin1"), body]);
    if (this.flaw !== "answers by turns") return pool.exchange(request);
    // Soon whoever asks gets the answer of whoever asked before.
    const turns = this.turns.get(prefix) ?? [];
    this.turns.set(prefix, [...turns, pool.exchange(request)]);
    return turns.at(-1) ?? this.turns.get(prefix)!.at(-1)!;
  }

  /** Sends bytes to an origin without waiting for an answer. */
  async push(prefix: string, bytes: Buffer): Promise<void> {
    await this.pools.get(prefix)!.push(bytes);
  }

  private async read(socket: Socket<FlawedClient>): Promise<void> {
    const client = socket.data;
    if (client.isReading) return;
    client.isReading = true;
    const isH2 = client.bytes.toString("latin1", 0, 3) === "PRI" && this.flaw !== "has no HTTP/2";
    client.protocol ??= isH2 ? new FlawedH2(this, socket) : new FlawedH1(this, socket);
    for (let done = 1; done > 0 && client.bytes.length > 0; ) {
      done = await client.protocol.read(client.bytes);
      client.bytes = client.bytes.subarray(done);
    }
    client.isReading = false;
  }
}
