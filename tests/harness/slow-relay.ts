import type { Socket } from "bun";

/** A loopback port before a server: it passes bytes on after a delay, and can be cut. */
export class SlowRelay {
  delayMs = 0;
  private readonly server: { readonly port: number; stop(closeAll?: boolean): void };
  private readonly open: Set<{ end(): unknown }> = new Set();
  private isCut = false;

  /** @param to the port that everything goes to */
  constructor(to: number) {
    const relay = this;
    this.server = Bun.listen<Socket<undefined> | undefined>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(client) {
          if (relay.isCut) return void client.end();
          relay.open.add(client);
          client.pause();
          Bun.connect<undefined>({
            hostname: "127.0.0.1",
            port: to,
            socket: {
              data: (_server, chunk) => relay.later(() => client.write(chunk)),
              close: () => void client.end(),
            },
          }).then(
            (server) => {
              client.data = server;
              client.resume();
            },
            () => client.end(),
          );
        },
        data: (client, chunk) => relay.later(() => client.data?.write(chunk)),
        close(client) {
          relay.open.delete(client);
          client.data?.end();
        },
      },
    });
  }

  get port(): number {
    return this.server.port;
  }

  /** Ends what is open, and takes nothing more until `mend`. */
  cut(): void {
    this.isCut = true;
    for (const client of this.open) client.end();
  }

  mend(): void {
    this.isCut = false;
  }

  stop(): void {
    this.server.stop(true);
  }

  private later(work: () => void): void {
    if (this.delayMs === 0) work();
    else setTimeout(work, this.delayMs / 2);
  }
}
