// What the runtime itself takes to forward connections: no settings, limits, counters, timers or log. `bun bare-proxy.ts PORT TARGET_PORT`
import type { Socket } from "bun";

interface End {
  other: Socket<End> | null;
  /** What the other one has not taken, or what came before it was there. */
  waiting: Uint8Array[];
  hasEnded: boolean;
}

const [port, target] = process.argv.slice(2).map(Number);

/** Sends what waits, then the end. */
function pump(socket: Socket<End>): void {
  const { data } = socket;
  const { other } = data;
  if (other === null) return;
  while (data.waiting.length > 0) {
    const chunk = data.waiting[0]!;
    const sent = other.write(chunk);
    if (sent < chunk.length) {
      data.waiting[0] = chunk.subarray(Math.max(0, sent));
      socket.pause();
      return;
    }
    data.waiting.shift();
    if (chunk.length > 65_536 && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
  }
  if (data.hasEnded) other.shutdown();
}

const events = {
  data(socket: Socket<End>, chunk: Uint8Array): void {
    socket.data.waiting.push(chunk);
    pump(socket);
  },
  drain(socket: Socket<End>): void {
    const { other } = socket.data;
    other?.resume();
    if (other !== null) pump(other);
  },
  end(socket: Socket<End>): void {
    socket.data.hasEnded = true;
    pump(socket);
  },
  close(socket: Socket<End>): void {
    socket.data.other?.end();
  },
  error(): void {},
};

const toTarget = {
  ...events,
  open(socket: Socket<End>): void {
    const client = socket.data.other!;
    client.data.other = socket;
    pump(client);
  },
};

Bun.listen<End>({
  hostname: "127.0.0.1",
  port: port!,
  allowHalfOpen: true,
  socket: {
    ...events,
    open(client) {
      client.data = { other: null, waiting: [], hasEnded: false };
      const data: End = { other: client, waiting: [], hasEnded: false };
      Bun.connect<End>({ hostname: "127.0.0.1", port: target!, allowHalfOpen: true, data, socket: toTarget }).catch(
        () => client.terminate(),
      );
    },
  },
});
