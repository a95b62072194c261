import type { Socket, TCPSocketListener } from "bun";

interface Ends {
  upstream: Socket<Ends> | null;
  client: Socket<Ends> | null;
  waiting: Buffer[];
}

/**
 * A gateway as one should not write it, to prove that the fuzzer finds fault where there is some. It strips the prefix by
 * text, believes whatever framing comes, and closes in order where the origin's answer broke off.
 */
export class NaiveGateway {
  private readonly listener: TCPSocketListener<Ends>;

  constructor(upstreamPort: number) {
    this.listener = Bun.listen<Ends>({
      hostname: "127.0.0.1",
      port: 0,
      allowHalfOpen: true,
      socket: {
        open: (client) => {
          client.data = { upstream: null, client, waiting: [] };
          void connectUpstream(upstreamPort, client.data);
        },
        data: (client, bytes) => forward(client.data, bytes),
        end: (client) => void client.data.upstream?.shutdown(),
        close: (client) => void client.data.upstream?.end(),
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  stop(): void {
    this.listener.stop(true);
  }
}

async function connectUpstream(port: number, ends: Ends): Promise<void> {
  ends.upstream = await Bun.connect<Ends>({
    hostname: "127.0.0.1",
    port,
    allowHalfOpen: true,
    data: ends,
    socket: {
      data: (_upstream, bytes) => void ends.client?.write(bytes),
      end: () => void ends.client?.end(),
      close: () => void ends.client?.end(),
    },
  });
  for (const bytes of ends.waiting) ends.upstream.write(bytes);
}

function forward(ends: Ends, bytes: Uint8Array): void {
  const text = Buffer.from(bytes)
    .toString("latin1")
    .replace(/^([A-Z]+) \/node/gm, "$1 ");
  const stripped = Buffer.from(text, "latin1");
  if (ends.upstream === null) ends.waiting.push(stripped);
  else ends.upstream.write(stripped);
}
